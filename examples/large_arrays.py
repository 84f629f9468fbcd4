"""Arrays that do not fit into memory: a lazy Dask array, and a Zarr store.  Needs the extra `dask`.

Writes x.zarr and y.zarr into the working folder.
"""

from __future__ import annotations

import dask.array as da
import zarr

import onereshape as orx
from onereshape.cli import main

# --8<-- [start:dask]
flat = da.arange(6_000_000, chunks=1_000_000, dtype="float32")
x = flat.reshape(3_000, 2_000)
y = orx.reshape(x, [-1, 4_000], "onnx")  # lazy; x.reshape(1_500, 4_000) raises
print(y.shape, y.chunksize)
print("the same elements:", bool((y.ravel() == x.ravel()).all().compute()))
# --8<-- [end:dask]

# --8<-- [start:store]
da.to_zarr(x, "x.zarr")
main(["run", "x.zarr", "--target=-1,4000", "-o", "y.zarr", "--memory=512MB"])
print(zarr.open("y.zarr", mode="r").shape)
# --8<-- [end:store]
