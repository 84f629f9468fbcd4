# On a machine with Python 3.11 or newer and make, `make demo` and `make test` set up all they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest

.PHONY: demo test test-lowest hostile lint bench sanitize docs clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto

# Hostile graphs for as long as it is told: `make hostile SECONDS=600` or `COUNT=30000`, `START=0 JOBS=2`.
hostile: $(VENV)/.installed-test
	$(BIN)/python -m tests.hostile $(if $(COUNT),--count $(COUNT),--seconds $(or $(SECONDS),600)) \
	    --start $(or $(START),0) --jobs $(or $(JOBS),2)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-bench
	$(BIN)/python bench/overhead.py
	$(BIN)/python bench/inference.py
	$(BIN)/python bench/formats.py
	$(BIN)/python bench/corpus.py
	$(BIN)/python bench/models.py
	$(BIN)/python bench/copies.py
	$(BIN)/python bench/dask.py

# The copy kernels with AddressSanitizer and UBSan, on random shapes, strides and offsets.
sanitize: $(VENV)/.installed-sanitize
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DONERESHAPE_SANITIZE=ON -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	    -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -Dpybind11_DIR=$$($(BIN)/python -m pybind11 --cmakedir)
	$(BIN)/cmake --build build/sanitize
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	    $(BIN)/python tests/fuzz_copy.py $$(ls build/sanitize/_copy*.so)

docs: $(VENV)/.installed
	$(BIN)/python docs/write_dialects.py

# The oldest versions that pyproject.toml allows, each pinned to its lower bound.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n auto -p no:cacheprovider

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'onereshape needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group $*
	touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test
$(VENV)/.installed-bench: $(VENV)/.installed-test

$(LOWEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(PYTHON) tests/lowest.py pyproject.toml > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable . --group test
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
