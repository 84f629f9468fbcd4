# On a machine with Python 3.11 or newer and make, `make demo` and `make test` set up all they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# The releases that this tree was tested with: what others release tomorrow cannot fail a test of today.  `make pins`
# writes the list anew; `make test PINNED=/dev/null` takes the newest of everything.
PINNED ?= tests/pinned/newest.txt
PIP = -m pip install --quiet --constraint $(PINNED) --build-constraint $(PINNED)
# What the extension is built from, at installation.
KERNELS := CMakeLists.txt $(wildcard src/kernels/*)

.PHONY: help demo test quick test-lowest worlds hostile fuzz lint bench sanitize sanitize-memory sanitize-threads docs \
    dist wheel programs pins clean

help:
	@echo "make demo         a repair from beginning to end"
	@echo "make quick        a part of the tests that asks every room, in about a minute"
	@echo "make test         all tests, and which of them are slow"
	@echo "make test-lowest  tests with the oldest versions that pyproject.toml allows"
	@echo "make lint         ruff and mypy"
	@echo "make docs         the documents, in build/site"
	@echo "make dist         the source package in dist/, looked through"
	@echo "make wheel        a wheel made from it, repaired, and tried in an environment of its own"
	@echo "make bench        every figure of the documents"
	@echo "make sanitize     the C++ kernels with sanitizers (BUDGET=small for a part)"
	@echo "make worlds       the laws that make test asks in part, asked whole"
	@echo "make hostile      hostile graphs for SECONDS=600"
	@echo "make fuzz         damaged files for SECONDS=600"
	@echo "make pins         the releases that the other targets install, written anew: the newest, and the lowest"
	@echo "make clean        removes all that these made"

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# Hundreds of tests start processes, and both workers read all tests: bytecode that is kept is compiled once.
test quick test-lowest worlds: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.installed-test programs
	$(BIN)/python -m pytest -n auto --dist worksteal --durations=15

# Every room by its fastest tests.
quick: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -q $$(cat tests/quick.txt)

# What the tests of the report look at its pages with, and the shells that completion is tried in.  Debian's packages;
# elsewhere their names are told.
programs:
	@missing=; \
	[ -x /usr/bin/chromium ] && [ -x /usr/bin/chromedriver ] || missing="chromium chromium-driver"; \
	for shell in zsh fish; do command -v $$shell > /dev/null || missing="$$missing $$shell"; done; \
	[ -n "$$missing" ] || exit 0; \
	as_root=; [ "$$(id -u)" = 0 ] || as_root="sudo -n"; \
	{ command -v apt-get && $$as_root true && $$as_root apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -qq -y --no-install-recommends $$missing; \
	} > /dev/null 2>&1 || echo "make: the tests need these, please install them:" $$missing

# The laws whose worlds `make test` asks in part, asked whole.
worlds: $(VENV)/.installed-test
	WORLDS=whole $(BIN)/python -m pytest -n auto --dist worksteal tests/engines tests/laws tests/formats/layers \
	    $$(grep -rl --include="test_*.py" "import.*budget\|tests.budget" tests --exclude-dir=engines --exclude-dir=laws --exclude-dir=layers)

# Hostile graphs for as long as it is told: `make hostile SECONDS=600` or `COUNT=30000`, `START=0 JOBS=2`.
hostile: $(VENV)/.installed-test
	$(BIN)/python -m tests.hostile $(if $(COUNT),--count $(COUNT),--seconds $(or $(SECONDS),600)) \
	    --start $(or $(START),0) --jobs $(or $(JOBS),2)

# Damaged files of every format for as long as it is told: `make fuzz COUNT=100000` or `SECONDS=600`, `START=0 JOBS=2`.
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m tests.fuzz $(if $(COUNT),--count $(COUNT),--seconds $(or $(SECONDS),600)) \
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
	$(BIN)/python bench/heuristics.py
	$(BIN)/python bench/models.py
	$(BIN)/python bench/certificates.py
	$(BIN)/python bench/pairs.py
	$(BIN)/python bench/copies.py
	$(BIN)/python bench/dask.py

# The law of the copies with AddressSanitizer and UBSan, then with ThreadSanitizer: the whole world and many random copies
# (a few minutes), or a part of them with BUDGET=small; and the hashes of terms beside NumPy's.
BUDGET ?= large
COPIES_large := --world 1 --random 20000
COPIES_small := --world 23 --random 1000
TERMS_large := --random 20000
TERMS_small := --random 1000
# ThreadSanitizer may find its addresses taken where the kernel puts things anywhere.
IN_PLACE := $(shell setarch -R true 2>/dev/null && echo setarch -R)
SANITIZED = $(IN_PLACE) env LD_PRELOAD="$(foreach name,$(LIBRARIES),$$($(CXX) -print-file-name=lib$(name).so))" \
    ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1 PYTHONMALLOC=malloc

sanitize: sanitize-memory sanitize-threads
sanitize-memory: SANITIZERS := address,undefined
sanitize-memory: LIBRARIES := asan ubsan
sanitize-threads: SANITIZERS := thread
sanitize-threads: LIBRARIES := tsan
sanitize-memory sanitize-threads: $(VENV)/.installed-sanitize
	$(BIN)/cmake -S . -B build/$@ -G Ninja -DONERESHAPE_SANITIZE=$(SANITIZERS) \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	    -Dpybind11_DIR=$$($(BIN)/python -m pybind11 --cmakedir)
	$(BIN)/cmake --build build/$@
	$(SANITIZED) $(BIN)/python tests/arrays/fuzz_copy.py $$(ls build/$@/_copy*.so) $(COPIES_$(BUDGET))
	$(SANITIZED) $(BIN)/python tests/terms/fuzz_terms.py $$(ls build/$@/_terms*.so) $(TERMS_$(BUDGET))

# The pages that are written from the code, then the site in build/site. A warning of MkDocs is an error.
docs: $(VENV)/.installed-docs
	$(BIN)/python docs/write_dialects.py
	$(BIN)/python docs/write_commands.py
	$(BIN)/python docs/picture.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The oldest versions that pyproject.toml allows, each pinned to its lower bound.  What the tests in the list hold does
# not depend on a release; the others record what one release of an engine answers, or ask for the newest operators.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n auto --dist worksteal -p no:cacheprovider $$(cat tests/lowest.txt)

dist: $(VENV)/.installed-dist
	rm -rf dist
	$(BIN)/python -m build --sdist --outdir dist
	$(BIN)/python tests/packed.py dist/*.tar.gz

# As a user has it: made from the source package, installed where there is nothing else, away from this folder.
wheel: dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist dist/*.tar.gz
	$(BIN)/python tests/packed.py dist/*.whl
	if [ "$$(uname)" = Linux ]; then \
	    PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist/repaired dist/*.whl; \
	else mkdir -p dist/repaired && cp dist/*.whl dist/repaired; fi
	$(PYTHON) -m venv --clear build/tried
	build/tried/bin/python -m pip install --quiet "$$(ls dist/repaired/*.whl)[onnxruntime]" pytest
	cd build/tried && cp $(CURDIR)/tests/test_installed.py . && bin/python -m pytest -q -p no:cacheprovider test_installed.py

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'onereshape needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint $(PINNED) pip

# An editable install knows the modules that were there: it is made again where some came or went.
$(VENV)/.modules: $(VENV)/bin/python FORCE
	@find src -name '*.py' | LC_ALL=C sort > $@.now
	@cmp -s $@.now $@ && rm $@.now || mv $@.now $@

FORCE:

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml $(PINNED) $(KERNELS) $(VENV)/.modules
	$(BIN)/python $(PIP) --editable '.[onnxruntime]'
	touch $@

$(VENV)/.installed-%: $(VENV)/.installed pyproject.toml
	$(BIN)/python $(PIP) --group $*
	touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test
$(VENV)/.installed-bench: $(VENV)/.installed-test

$(VENV)/.installed-dist: $(VENV)/bin/python pyproject.toml $(PINNED)
	$(BIN)/python $(PIP) --group dist
	touch $@

$(LOWEST)/.installed: PINNED := tests/pinned/lowest.txt
$(LOWEST)/.installed: pyproject.toml tests/pinned/lowest.txt $(KERNELS)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade --constraint $(PINNED) pip
	$(PYTHON) tests/lowest.py pyproject.toml > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(PIP) --constraint $(LOWEST)/constraints.txt --editable . --group test
	touch $@

# Two environments without pins, one of them at the lower bounds of pyproject.toml, and all that pip put there, with what
# builds the kernels.  Torch is pinned in pyproject.toml: the name of its release differs from one index to another.
define pin
$(PYTHON) -m venv --clear build/pins
build/pins/bin/python -m pip install --quiet --upgrade pip
build/pins/bin/python -m pip install --quiet --constraint $(2) --editable . scikit-build-core $(addprefix --group ,$(3))
build/pins/bin/python -m pip freeze --all --exclude-editable | grep -v "^torch==" > tests/pinned/$(1).txt
endef

pins:
	$(call pin,newest,/dev/null,test lint dist bench sanitize docs)
	$(PYTHON) tests/lowest.py pyproject.toml > build/lowest.txt
	$(call pin,lowest,build/lowest.txt,test sanitize)

clean:
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
