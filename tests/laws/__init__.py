"""Laws: what must hold of every case of a small world, and planted bugs that show that the law would notice.

- A rule of Reshape: its definition in `definition.py`, which is never written from the code.
- An operator: `shape` and `elements` have cases in `shape_*.py`, judged by onnxruntime; `folds` in `folding_*.py`;
  `batch` twelve or more in `batching_*.py` (every place of the batch, every opset, one sample and several), with what
  is easily got wrong in `batching_traps.py` and `batching_growth.py`, and a planted bug in `batching_mutants.py`.
- The term run: whatever changes in onnxruntime must change in its words (`terms_law.py`, over the world of shapes).
- What `check` says of sizes is compared with onnxruntime at many sizes, on the models of `conditions_world.py`.
- A model as an IR: a maker in `tests/openvino_models.py`, which makes the IR for any count of samples as a converter
  would bake it in.  `python bench/corpus.py --openvino` converts a corpus and judges `fix` by runs of OpenVINO.
- A model of a released package: the name of the package in `bench/released.txt`; `python bench/released.py CACHE
  --fetch` judges what is new by runs alone, and `released_pinned.py CACHE` what onnxsim pinned to one sample.
- Names, as hostile as files can have them: `texts_world.py`.
"""
