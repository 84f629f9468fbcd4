"""Arrays in stores that outgrow memory, reshaped a block at a time: Zarr, and .npy files by slices.

Begin with `reshape_store`, which opens a store and chooses; then `passes`, integers only, and `stream`, which runs.
"""
