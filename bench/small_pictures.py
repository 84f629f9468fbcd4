"""Small modules on pictures whose export holds numbers that come from H and W: grids, anchors, windows, orders.

Each is a function of the layers and of x, which is [1, 3, H, W]; PICTURES has them by name, and
`bench/small_modules.py` exports them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 8
Layer = Callable[[Tensor], Tensor]


class Picture(nn.Module):
    """Convolutions, a projection and a learned table, and what a function makes of them."""

    def __init__(self, function: Callable[[Picture, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.whole: Layer = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.coarse: Layer = nn.Conv2d(3, WIDTH, 3, stride=2, padding=1)
        self.coarser: Layer = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.linear: Layer = nn.Linear(WIDTH, WIDTH)
        self.table = nn.Parameter(torch.randn(1, WIDTH, 7, 7))
        self.with_places: Layer = nn.Conv2d(5, WIDTH, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)

    def quarter(self, x: Tensor) -> Tensor:
        return self.coarser(self.coarse(x))

    def levels(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """At a half and at a quarter of the size."""
        half = self.coarse(x)
        return half, self.coarser(half)


def grid(height: int, width: int) -> tuple[Tensor, Tensor]:
    """The row and the column of each place."""
    rows, columns = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
    return rows, columns


def tokens(features: Tensor) -> Tensor:
    return features.flatten(2).transpose(1, 2)


def coordconv(layers: Picture, x: Tensor) -> Tensor:
    """Two channels more: ramps from -1 to 1 along W and along H."""
    height, width = x.shape[2:]
    rows, columns = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
    places = torch.stack([columns, rows])[None].expand(x.shape[0], -1, -1, -1)
    return layers.with_places(torch.cat([x, places], 1))


def psp(layers: Picture, x: Tensor) -> Tensor:
    """Means over one, four and sixteen parts, interpolated back to the size."""
    features = layers.whole(x)
    height, width = features.shape[2:]
    return features + sum(
        functional.interpolate(
            functional.adaptive_avg_pool2d(features, bins), size=(height, width), mode="bilinear", align_corners=False
        )
        for bins in (1, 2, 4)
    )


def fpn(layers: Picture, x: Tensor) -> Tensor:
    """A quarter of the size, interpolated to a half and added."""
    half, quarter = layers.levels(x)
    return half + functional.interpolate(quarter, size=half.shape[2:], mode="nearest")


def stn(layers: Picture, x: Tensor) -> Tensor:
    """A spatial transformer: the picture sampled by an affine grid that it gives itself."""
    affine = layers.linear(layers.whole(x).mean((2, 3)))[:, :6].reshape(-1, 2, 3)
    return functional.grid_sample(
        x, functional.affine_grid(affine, list(x.shape), align_corners=False), align_corners=False
    )


def rtdetr_anchors(layers: Picture, x: Tensor) -> Tensor:
    """Anchors of RT-DETR at two levels: logits of centers and of sides."""
    boxes = []
    anchors = []
    for level, features in enumerate(layers.levels(x)):
        height, width = features.shape[2:]
        rows, columns = grid(height, width)
        centers = (torch.stack([columns, rows], -1) + 0.5) / torch.tensor([width, height]).float()
        sides = torch.ones_like(centers) * 0.05 * 2.0**level
        anchor = torch.cat([centers, sides], -1).reshape(1, height * width, 4)
        anchors.append(torch.log(anchor / (1 - anchor)))
        boxes.append(layers.linear(tokens(features)))
    return torch.cat(boxes, 1)[..., :4] + torch.cat(anchors, 1)


def ssd_priors(layers: Picture, x: Tensor) -> Tensor:
    """Prior boxes of SSD at two levels, of two ratios each."""
    levels = layers.levels(x)
    height, width = x.shape[2:]
    priors = []
    for features, step in zip(levels, (2, 4), strict=True):
        high, wide = features.shape[2:]
        rows, columns = grid(high, wide)
        for ratio in (1.0, 2.0):
            centers = [(columns + 0.5) / wide, (rows + 0.5) / high]
            sides = [torch.full_like(columns, step * ratio / width), torch.full_like(columns, step / ratio / height)]
            priors.append(torch.stack([*centers, *sides], -1).reshape(-1, 4))
    prior = torch.cat(priors)
    moves = torch.cat([layers.linear(tokens(features)).repeat(1, 2, 1) for features in levels], 1)
    return prior[None, :, :2] + moves[..., :2] * prior[None, :, 2:]


def waves(rows: Tensor, columns: Tensor) -> Tensor:
    """Sinusoids of DETR, of two frequencies for each axis."""
    periods = 10000 ** (torch.arange(2).float() / 2)
    down = rows[..., None] / periods
    across = columns[..., None] / periods
    return torch.cat([down.sin(), down.cos(), across.sin(), across.cos()], -1).permute(2, 0, 1)[None]


def detr_sine(layers: Picture, x: Tensor) -> Tensor:
    """Sinusoids of DETR, whose places are shares of the size."""
    features = layers.quarter(x)
    height, width = features.shape[2:]
    rows, columns = grid(height, width)
    rows = (rows + 1) / (height + 1e-6) * 2 * math.pi
    columns = (columns + 1) / (width + 1e-6) * 2 * math.pi
    return tokens(features + waves(rows, columns))


def detr_sine_int(layers: Picture, x: Tensor) -> Tensor:
    """Sinusoids of DETR, whose places are counted from one."""
    features = layers.quarter(x)
    rows, columns = grid(*features.shape[2:])
    return tokens(features + waves(rows + 1, columns + 1))


def pos_interp(layers: Picture, x: Tensor) -> Tensor:
    """A learned table, interpolated to the size by cubics."""
    features = layers.quarter(x)
    return features + functional.interpolate(layers.table, size=features.shape[2:], mode="bicubic", align_corners=False)


def pos_interp_scale(layers: Picture, x: Tensor) -> Tensor:
    """A learned table, interpolated to the size with its corners in place."""
    features = layers.quarter(x)
    return features + functional.interpolate(layers.table, size=features.shape[2:], mode="bilinear", align_corners=True)


def checker(layers: Picture, x: Tensor) -> Tensor:
    """A chessboard."""
    features = layers.whole(x)
    rows, columns = grid(*features.shape[2:])
    return features * ((rows + columns) % 2)


def radial(layers: Picture, x: Tensor) -> Tensor:
    """A bell around the middle, whose distances are shares of the size."""
    features = layers.whole(x)
    height, width = features.shape[2:]
    rows, columns = grid(height, width)
    down = ((rows - (height - 1) / 2) / height) ** 2
    across = ((columns - (width - 1) / 2) / width) ** 2
    return features * torch.exp(-(down + across))


def radius(layers: Picture, x: Tensor) -> Tensor:
    """The distance from the middle."""
    features = layers.whole(x)
    height, width = features.shape[2:]
    rows, columns = grid(height, width)
    return features * torch.sqrt((rows - (height - 1) / 2) ** 2 + (columns - (width - 1) / 2) ** 2)


def windows8(layers: Picture, x: Tensor) -> Tensor:
    """Attention within windows of 8 by 8."""
    features = layers.whole(x)
    batch, channels, height, width = features.shape
    cut = features.reshape(batch, channels, height // 8, 8, width // 8, 8).permute(0, 2, 4, 3, 5, 1)
    windows = cut.reshape(-1, 64, channels)
    windows = torch.softmax(windows @ windows.transpose(1, 2), -1) @ layers.linear(windows)
    joined = windows.reshape(batch, height // 8, width // 8, 8, 8, channels).permute(0, 5, 1, 3, 2, 4)
    return joined.reshape(batch, channels, height, width)


def swin_mask(height: int, width: int, side: int) -> Tensor:
    """What the shifted windows of Swin hide: places that were not beside each other before the shift."""
    parts = (slice(0, -side), slice(-side, -2), slice(-2, None))
    regions = torch.zeros(height, width)
    for count, (rows, columns) in enumerate((rows, columns) for rows in parts for columns in parts):
        regions[rows, columns] = count
    cut = regions.reshape(height // side, side, width // side, side).permute(0, 2, 1, 3).reshape(-1, side * side)
    return (cut[:, None] - cut[:, :, None] != 0).float() * -100


def swin_shift(layers: Picture, x: Tensor) -> Tensor:
    """Attention within windows of 4 by 4 that are shifted by two, with the mask of Swin."""
    side = 4
    features = layers.coarse(x)
    batch, channels, height, width = features.shape
    mask = swin_mask(height, width, side)
    shifted = torch.roll(features, (-2, -2), (2, 3))
    cut = shifted.reshape(batch, channels, height // side, side, width // side, side).permute(0, 2, 4, 3, 5, 1)
    windows = cut.reshape(batch, -1, side * side, channels)
    windows = torch.softmax(windows @ windows.transpose(2, 3) + mask[None], -1) @ layers.linear(windows)
    joined = windows.reshape(batch, height // side, width // side, side, side, channels).permute(0, 5, 1, 3, 2, 4)
    return torch.roll(joined.reshape(batch, channels, height, width), (2, 2), (2, 3))


def rel_bias_2d(layers: Picture, x: Tensor) -> Tensor:
    """A bias by the distance in rows and in columns."""
    features = functional.avg_pool2d(layers.quarter(x), 4)
    rows, columns = (each.flatten() for each in grid(*features.shape[2:]))
    distance = (rows[:, None] - rows[None]).abs() + (columns[:, None] - columns[None]).abs()
    each = tokens(features)
    return torch.softmax(each @ each.transpose(1, 2) - 0.3 * distance, -1) @ layers.linear(each)


def ref_points(layers: Picture, x: Tensor) -> Tensor:
    """Reference points of Deformable DETR at two levels: middles of the places, as shares of the size."""
    levels = layers.levels(x)
    points = []
    for features in levels:
        height, width = features.shape[2:]
        rows, columns = torch.meshgrid(
            torch.linspace(0.5, height - 0.5, height) / height,
            torch.linspace(0.5, width - 0.5, width) / width,
            indexing="ij",
        )
        points.append(torch.stack([columns.flatten(), rows.flatten()], -1))
    point = torch.cat(points)
    return layers.linear(torch.cat([tokens(features) for features in levels], 1))[..., :2] + point[None]


def level_start(layers: Picture, x: Tensor) -> Tensor:
    """Two levels in one row of tokens, taken apart again where the second begins."""
    half, quarter = layers.levels(x)
    joined = torch.cat([tokens(half), tokens(quarter)], 1)
    start = half.shape[2] * half.shape[3]
    return layers.linear(joined[:, :start]).mean(1) + joined[:, start:].sum(1) / joined.shape[1]


def axial_rope(layers: Picture, x: Tensor) -> Tensor:
    """Rotations by the row and by the column."""
    features = layers.quarter(x)
    rows, columns = grid(*features.shape[2:])
    frequencies = torch.tensor([1.0, 0.1])
    angle = torch.cat([rows.flatten()[:, None] * frequencies, columns.flatten()[:, None] * frequencies], -1)
    each = tokens(features)
    one, other = each[..., :4], each[..., 4:]
    return torch.cat([one * angle.cos() - other * angle.sin(), other * angle.cos() + one * angle.sin()], -1)


def scanline(layers: Picture, x: Tensor) -> Tensor:
    """All places in rows, every second row backwards."""
    features = layers.coarse(x)
    height, width = features.shape[2:]
    order = torch.arange(height * width).reshape(height, width)
    order[1::2] = order[1::2].flip(1)
    return features.flatten(2)[:, :, order.flatten()]


def transpose_scan(layers: Picture, x: Tensor) -> Tensor:
    """All places in columns, by an index."""
    features = layers.coarse(x)
    height, width = features.shape[2:]
    order = torch.arange(height * width).reshape(height, width).t().flatten()
    return features.flatten(2)[:, :, order]


def global_norm(layers: Picture, x: Tensor) -> Tensor:
    """Division by the root of the mean square of everything."""
    features = layers.whole(x)
    count = features.shape[1] * features.shape[2] * features.shape[3]
    return features / torch.sqrt((features**2).sum((1, 2, 3), keepdim=True) / count + 1e-5)


def nonlocal_n(layers: Picture, x: Tensor) -> Tensor:
    """A non-local block, divided by the count of places."""
    flat = layers.quarter(x).flatten(2)
    count = flat.shape[2]
    return (flat.transpose(1, 2) @ flat / count) @ flat.transpose(1, 2)


def patch_tokens(layers: Picture, x: Tensor) -> Tensor:
    """Patches of 16 by 16 as tokens."""
    batch, channels, height, width = x.shape
    cut = x.reshape(batch, channels, height // 16, 16, width // 16, 16).permute(0, 2, 4, 3, 5, 1)
    return layers.linear(cut.reshape(batch, (height // 16) * (width // 16), 768)[..., :WIDTH])


def quarter_crop(layers: Picture, x: Tensor) -> Tensor:
    """The middle half, cut out by quarters."""
    features = layers.whole(x)
    height, width = features.shape[2:]
    return features[:, :, height // 4 : height - height // 4, width // 4 : 3 * width // 4]


def centerness(layers: Picture, x: Tensor) -> Tensor:
    """Eight by eight places around the middle."""
    features = layers.whole(x)
    height, width = features.shape[2:]
    return features[:, :, height // 2 - 4 : height // 2 + 4, width // 2 - 4 : width // 2 + 4]


PICTURES = {
    each.__name__: each
    for each in (
        *(coordconv, psp, fpn, stn),
        *(rtdetr_anchors, ssd_priors, detr_sine, detr_sine_int, pos_interp, pos_interp_scale),
        *(checker, radial, radius),
        *(windows8, swin_shift, rel_bias_2d, ref_points, level_start, axial_rope),
        *(scanline, transpose_scan, global_norm, nonlocal_n, patch_tokens, quarter_crop, centerness),
    )
}
