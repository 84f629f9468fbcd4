"""Tables of waves: cosines and sines of frequencies times positions, or ramps, and the nodes that compute them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Fit, Limit, dims_at
from onereshape.repair.fitting.families.frequencies import Turning
from onereshape.repair.fitting.families.positions import Position, Ramp
from onereshape.repair.fitting.families.writing import cast, key_of, spread, total
from onereshape.rule.sizes import Size

_SIDES = 2
"""How far a ramp goes, at most: from -1 to 1."""

Angle = Position | Ramp


class Waves(NamedTuple):
    """A table: cosines and sines of the sum of frequencies times positions."""

    turns: tuple[tuple[Angle, Array], ...]
    """Positions and their frequencies; the arrays have the axes of the constant, of size 1 if they grow."""
    cosines: Array
    sines: Array
    kind: np.dtype[np.generic]
    dims: tuple[Size, ...]

    @property
    def rounded(self) -> float:
        """How many times as far as it is rounded a table may be off: parts of a size are rounded, and turn far."""
        turned = [float(np.abs(turn).max()) for place, turn in self.turns if isinstance(place, Ramp)]
        return max([1.0, *(_SIDES * each for each in turned)])

    def at(self, binding: Binding) -> Array:
        """The table at given sizes."""
        rank, kind = self.cosines.ndim, self.cosines.dtype
        angle = sum(position.at(binding, rank).astype(kind) * turn for position, turn in self.turns)
        parts = [np.cos(angle) * self.cosines] if np.any(self.cosines) else []
        parts += [np.sin(angle) * self.sines] if np.any(self.sines) else []
        whole = np.empty(dims_at(self.dims, binding), self.kind)
        whole[...] = parts[0] + parts[1] if len(parts) == 2 else parts[0]
        return whole

    def make(self, writer: Rewriter) -> ir.Value:
        """Writes the nodes that compute the table: Cos and Sin of the angles, times amplitudes."""

        def write() -> ir.Value:
            rank, kind = self.cosines.ndim, self.cosines.dtype
            angles = []
            for position, turn in self.turns:
                numbers = cast(writer, position.make(writer, rank), kind)
                angles.append(writer.front("Mul", [numbers, writer.constant(turn)]))
            angle = total(writer, angles)
            waves = []
            for op, size in (("Cos", self.cosines), ("Sin", self.sines)):
                if np.any(size):
                    wave = writer.front(op, [angle])
                    waves.append(wave if np.all(size == 1) else writer.front("Mul", [wave, writer.constant(size)]))
            grown = {position.axis for position, _ in self.turns}
            shape = [self.dims[axis] if axis in grown else size for axis, size in enumerate(self.cosines.shape)]
            return cast(writer, spread(writer, total(writer, waves), shape, self.dims), self.kind)

        turns = tuple((position, *key_of(turn)) for position, turn in self.turns)
        return writer.once(("waves", turns, *key_of(self.cosines, self.sines), self.kind.str, self.dims), write)

    def fit(self, limits: tuple[Limit, ...], others: tuple[Fit, ...] = ()) -> Fit:
        """The fit of the table, `is sines and cosines along axis 0`, with limits of its sizes and other readings."""
        starts = [position.words for position, _ in self.turns]
        axes = [f"axis {position.axis}{start}" for (position, _), start in zip(self.turns, starts, strict=True)]
        odd = sum(position.odd for position, _ in self.turns if isinstance(position, Ramp))
        words = "is sines and cosines along " + " and ".join(axes)
        return Fit(words, self.at, self.make, limits, others=others, odd=odd)


class Line(NamedTuple):
    """The columns of a table that turn along one axis."""

    position: Angle
    places: Array
    """The positions that the exports have, in order; of ramps, those of the longest."""
    columns: Array
    """A column for each entry of the axes that do not grow."""
    turning: Turning
