"""The term run: a model is run on expressions instead of numbers, each of them a hash of 64 bits.

It knows nothing of how models are repaired: its rules are written from ONNX's specification alone, and of the other
rooms it imports `text`.  What follows from a proof is left to `prove`.  Begin with `prove`, then `tensor` and a file of
`records`.

Door: batches, limits, proof, prove.
"""
