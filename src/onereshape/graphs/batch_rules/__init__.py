"""What the batch rules of operators are written in: the mark of N on a tensor, and a node as a rule sees it.

Begin with `marks` and `view`; the rules themselves are in `operators`, the search that asks them in `repair/batch`.

Door: aligning, answers, bodies, counting, indices, marks, masks, own_scales, spreading, turned, view.
"""
