"""The term run: a model is run on expressions instead of numbers, each of them a hash of 64 bits.

It knows nothing of how models are repaired: its rules are written from ONNX's specification alone.

Door: batches, limits, proof, prove.
"""
