"""Array: an array of NumPy, of whatever dims and type."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
