"""The term run: a model is run on expressions instead of numbers, each of them a hash of 64 bits.

Two models whose outputs have the same terms calculate the same, whatever they are fed.  `equivalence` reads them once
more, with floats as real numbers (`reals`, the `real_` files of `records`), for what optimisers make.  How models are
repaired is not known here: the rules are written from ONNX's specification alone, and of the other rooms only
`ground.text` and `ground.bodies` are imported: the functions that operators are composed of.  What follows from a
proof is left to the room `prove`.  Begin with the module `prove`, then `tensor` and a file of `records`.

Door: batches, equivalence, limits, proof, prove.
"""
