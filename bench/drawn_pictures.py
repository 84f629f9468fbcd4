"""Modules of pictures that are drawn at random from parts: crops, pads to a number, windows, steps, masks, places.

`bench/small_modules.py --drawn` exports them.  What a part makes of a size is a constant in an export, and all such
constants are made before the picture is read, as models that keep their masks write them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn
from torch.nn import functional

CHANNELS = 4
SIZES = (
    ((12, 20), (23, 9), (16, 27)),
    ((13, 22), (20, 33), (30, 17)),
    ((16, 16), (27, 34), (21, 47)),
    ((12, 17), (25, 34), (33, 26)),
    ((24, 33), (37, 46), (41, 19)),
    ((11, 14), (26, 33), (19, 40)),
    ((14, 18), (29, 27), (18, 45)),
)
"""At which modules are shown; one of these is drawn for each."""
JUDGED = ((16, 24), (17, 25), (32, 16), (28, 19), (18, 18))
"""At which they are judged too."""
SHARES: tuple[Callable[[int], int], ...] = (
    lambda size: size // 2,
    lambda size: (size + 1) // 2,
    lambda size: size // 3,
    lambda size: size - 3,
    lambda size: size - 1,
    lambda size: size // 4 + 1,
    lambda size: 3 * size // 4,
)
"""How much of an axis is taken."""

Dims = tuple[int, int]
Tensors = list[torch.Tensor]


class Part(nn.Module):
    """A part: what it makes of a size, the constants that it has at a size, and what it does with a picture."""

    def dims(self, dims: Dims) -> Dims:
        return dims

    def made(self, dims: Dims) -> Tensors:  # noqa: ARG002
        return []

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        raise NotImplementedError


def dims_of(x: torch.Tensor) -> Dims:
    return int(x.shape[2]), int(x.shape[3])


def up(size: int, many: int) -> int:
    """The next multiple."""
    return -(-size // many) * many


class Convolution(Part):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        window, stride = draw.choice([1, 2, 3, 5]), draw.choice([1, 2, 3, 4])
        self.around, self.stride, self.reach = draw.choice([0, window // 2]), stride, window
        self.layer = nn.Conv2d(CHANNELS, CHANNELS, window, stride, self.around)

    def dims(self, dims: Dims) -> Dims:
        high, wide = ((size + 2 * self.around - self.reach) // self.stride + 1 for size in dims)
        return high, wide

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:  # noqa: ARG002
        found: torch.Tensor = self.layer(x)
        return found


class Crop(Part):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.shares = draw.choice(SHARES), draw.choice(SHARES)

    def dims(self, dims: Dims) -> Dims:
        return self.shares[0](dims[0]), self.shares[1](dims[1])

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:  # noqa: ARG002
        high, wide = self.dims(dims_of(x))
        return x[:, :, :high, :wide]


class Padded(Part):
    """To multiples of a number, with a mask of what was there; perhaps cropped again."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.many, self.cropped = draw.choice([4, 5, 8]), draw.random() < 0.5

    def dims(self, dims: Dims) -> Dims:
        return dims if self.cropped else (up(dims[0], self.many), up(dims[1], self.many))

    def made(self, dims: Dims) -> Tensors:
        mask = torch.zeros(up(dims[0], self.many), up(dims[1], self.many))
        mask[: dims[0], : dims[1]] = 1
        return [mask]

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        high, wide = dims_of(x)
        whole = functional.pad(x, (0, -wide % self.many, 0, -high % self.many)) + made[0] / 2
        return whole[:, :, :high, :wide] if self.cropped else whole


class Windows(Part):
    """Attention in windows, shifted by a few entries: those that come from elsewhere do not see each other."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.many, self.shift = draw.choice([3, 4]), draw.choice([1, 2])

    def _parts(self, x: torch.Tensor, dims: Dims) -> torch.Tensor:
        many, channels = self.many, x.shape[-1]
        parts = x.view(1, dims[0] // many, many, dims[1] // many, many, channels).permute(0, 1, 3, 2, 4, 5)
        return parts.reshape(-1, many * many, channels)

    def made(self, dims: Dims) -> Tensors:
        many, whole = self.many, (up(dims[0], self.many), up(dims[1], self.many))
        kinds, number = torch.zeros(1, *whole, 1), 0
        cuts = slice(0, -many), slice(-many, -self.shift), slice(-self.shift, None)
        for rows in cuts:
            for columns in cuts:
                kinds[:, rows, columns] = number
                number += 1
        found = self._parts(kinds, whole).squeeze(-1)
        apart = found.unsqueeze(1) - found.unsqueeze(2)
        return [torch.where(apart != 0, -10.0, 0.0)]

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        (high, wide), many, shift = dims_of(x), self.many, self.shift
        whole = up(high, many), up(wide, many)
        x = functional.pad(x, (0, whole[1] - wide, 0, whole[0] - high)).permute(0, 2, 3, 1)
        x = torch.roll(x, (-shift, -shift), (1, 2))
        tokens = self._parts(x, whole)
        tokens = (tokens @ tokens.transpose(1, 2) / 5 + made[0]).softmax(-1) @ tokens
        x = tokens.view(1, whole[0] // many, whole[1] // many, many, many, CHANNELS).permute(0, 1, 3, 2, 4, 5)
        x = torch.roll(x.reshape(1, *whole, CHANNELS), (shift, shift), (1, 2))
        return x[:, :high, :wide].permute(0, 3, 1, 2)


class Mask(Part):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.shares = draw.choice(SHARES), draw.choice(SHARES)

    def made(self, dims: Dims) -> Tensors:
        mask = torch.zeros(dims)
        mask[: self.shares[0](dims[0]), self.shares[1](dims[1]) :] = 1
        return [mask]

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        return x * (1 + made[0])


class Grid(Part):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.kind = draw.randrange(3)

    def made(self, dims: Dims) -> Tensors:
        high, wide = dims
        rows, columns = torch.arange(high).float()[:, None], torch.arange(wide).float()
        if self.kind == 0:
            return [(rows * wide + columns) / (high * wide)]
        if self.kind == 1:
            return [torch.linspace(-1, 1, high)[:, None] * torch.linspace(-1, 1, wide)]
        return [(rows - high // 2).abs() + (columns - wide / 2).abs()]

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        return x + made[0]


class Places(Part):
    """Rows by their places: backwards, each second one, or each but for the first two."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.kind = draw.randrange(3)

    def dims(self, dims: Dims) -> Dims:
        return ((dims[0] + 1) // 2 if self.kind == 1 else dims[0]), dims[1]

    def made(self, dims: Dims) -> Tensors:
        high = dims[0]
        backwards, seconds = torch.arange(high - 1, -1, -1), torch.arange(0, high, 2)
        return [[backwards, seconds, (torch.arange(high) - 2).clamp(min=0)][self.kind]]

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:
        return x[:, :, made[0]]


class Resized(Part):
    """Pooled, and made as large again."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.many = draw.choice([2, 3])

    def forward(self, x: torch.Tensor, made: Tensors) -> torch.Tensor:  # noqa: ARG002
        small = functional.max_pool2d(x, self.many, self.many, ceil_mode=True)
        return x + functional.interpolate(small, size=dims_of(x), mode="bilinear")


PARTS: Sequence[Callable[[random.Random], Part]] = (
    Convolution,
    Convolution,
    Crop,
    Padded,
    Windows,
    Mask,
    Grid,
    Places,
    Resized,
)


class Drawn(nn.Module):
    """A module of one to four parts in a row, drawn at random."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        draw = random.Random(seed)  # noqa: S311 - not for secrets
        torch.manual_seed(seed)
        self.drawn = [draw.choice(PARTS)(draw) for _ in range(draw.choice([1, 2, 2, 3, 3, 4]))]
        self.parts = nn.ModuleList(self.drawn)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dims, made = dims_of(x), []
        for part in self.drawn:
            made.append(part.made(dims))
            dims = part.dims(dims)
        for part, constants in zip(self.drawn, made, strict=True):
            x = part(x, constants)
        return x


def drawn(seed: int) -> tuple[Callable[[], nn.Module], dict[str, dict[str, int]]]:
    """A module, and the sizes at which it is exported: A and C are shown, the others are judged as well."""
    shown = random.Random(-seed).choice(SIZES)  # noqa: S311
    sizes = [shown[0], shown[2], shown[1], *JUDGED]
    return partial(Drawn, seed), {
        letter: {"H": high, "W": wide} for letter, (high, wide) in zip("ABCDEFGH", sizes, strict=True)
    }
