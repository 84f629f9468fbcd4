"""Arrays in stores that outgrow memory, reshaped a block at a time: Zarr, and .npy files as memory maps."""
