"""What the batch rules of operators are written in: the mark of N on a tensor, and a node as a rule sees it.

A tensor with `Mark(0, 1, 16)` has N times 16 entries on axis 0; a tensor without a mark is shared by all samples.  A
rule reads the marks of the inputs from a `BatchView`, and yields `BatchAnswer`s: the marks of the outputs, and the
edits that make them so.  Where samples would mix, it raises `Refused` with the reason.

Begin with `marks` and `view`; the rules themselves are in `operators`, the search that asks them in `repair/batch`.

Door: aligning, answers, bodies, composed, counting, indices, marks, masks, own_scales, spreading, turned, view.
"""
