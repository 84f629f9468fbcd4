"""Small modules on sequences whose export holds numbers that come from the length: masks, biases, windows, indices.

Each is a function of the layers and of x, which is [1, length, WIDTH]; SEQUENCES has them by name, and
`bench/small_modules.py` exports them.  Some have a law that no two exports can tell (`primes_mask`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 8
Layer = Callable[[Tensor], Tensor]


class Sequence(nn.Module):
    """Three projections, and what a function makes of them."""

    def __init__(self, function: Callable[[Sequence, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.query: Layer = nn.Linear(WIDTH, WIDTH)
        self.key: Layer = nn.Linear(WIDTH, WIDTH)
        self.value: Layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)

    def scores(self, x: Tensor) -> Tensor:
        return self.query(x) @ self.key(x).transpose(1, 2)

    def attention(self, x: Tensor, bias: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """Attention with a bias that is added to the scores, and places that are hidden."""
        scores = self.scores(x) / math.sqrt(WIDTH)
        if bias is not None:
            scores = scores + bias
        if hidden is not None:
            scores = scores.masked_fill(hidden, -1e4)
        return torch.softmax(scores, -1) @ self.value(x)


def differences(places: Tensor) -> Tensor:
    """Of each two places."""
    return places[:, None] - places[None]


def angles(places: Tensor) -> Tensor:
    """Of sinusoids: each place times each frequency."""
    frequencies = torch.exp(-torch.arange(0, WIDTH, 2).float() * math.log(1e4) / WIDTH)
    return places[:, None] * frequencies


def retnet_decay(layers: Sequence, x: Tensor) -> Tensor:
    """Decays of a retention, by powers of the distance."""
    distance = differences(torch.arange(x.shape[1]).float())
    decay = torch.where(distance >= 0, 0.9**distance, torch.zeros(()))
    return (layers.scores(x) * decay) @ layers.value(x)


def gaussian_bias(layers: Sequence, x: Tensor) -> Tensor:
    """A bias that falls with the square of the distance."""
    distance = differences(torch.arange(x.shape[1]).float())
    return layers.attention(x, bias=-(distance**2) / 18)


def gaussian_rel(layers: Sequence, x: Tensor) -> Tensor:
    """The same, where the distance is a share of the length."""
    length = x.shape[1]
    distance = differences(torch.arange(length).float() / length)
    return layers.attention(x, bias=-(distance**2) * 9)


def local_mask(layers: Sequence, x: Tensor) -> Tensor:
    """Attention to places that are at most three away."""
    distance = differences(torch.arange(x.shape[1])).abs()
    return layers.attention(x, hidden=distance > 3)


def dilated_mask(layers: Sequence, x: Tensor) -> Tensor:
    """Attention to every second place before."""
    distance = differences(torch.arange(x.shape[1]))
    return layers.attention(x, hidden=(distance < 0) | (distance % 2 != 0))


def block_mask(layers: Sequence, x: Tensor) -> Tensor:
    """Attention within blocks of four."""
    blocks = torch.arange(x.shape[1]) // 4
    return layers.attention(x, hidden=blocks[:, None] != blocks[None])


def prefix_lm(layers: Sequence, x: Tensor) -> Tensor:
    """A causal mask behind a prefix of three, which all see."""
    places = torch.arange(x.shape[1])
    return layers.attention(x, hidden=(places[None] > places[:, None]) & (places[None] >= 3))


def half_prefix(layers: Sequence, x: Tensor) -> Tensor:
    """A causal mask behind the first half, which all see."""
    length = x.shape[1]
    places = torch.arange(length)
    return layers.attention(x, hidden=(places[None] > places[:, None]) & (places[None] >= length // 2))


def sink_window(layers: Sequence, x: Tensor) -> Tensor:
    """Attention to the last four places and to the first two."""
    places = torch.arange(x.shape[1])
    distance = differences(places)
    return layers.attention(x, hidden=~((distance >= 0) & ((distance < 4) | (places[None] < 2))))


def hamming(layers: Sequence, x: Tensor) -> Tensor:
    """A Hamming window over the length."""
    length = x.shape[1]
    places = torch.arange(length).float()
    window = 0.54 - 0.46 * torch.cos(2 * math.pi * places / (length - 1))
    return layers.value(x) * window[None, :, None]


def hann_periodic(layers: Sequence, x: Tensor) -> Tensor:
    """torch's own Hann window."""
    length = x.shape[1]
    return layers.value(x) * torch.hann_window(length)[None, :, None]


def dct(layers: Sequence, x: Tensor) -> Tensor:
    """A cosine transform along the length, by its matrix."""
    length = x.shape[1]
    places = torch.arange(length).float()
    matrix = torch.cos(math.pi * (2 * places[None] + 1) * places[:, None] / (2 * length))
    return matrix @ layers.value(x)


def dft_mag(layers: Sequence, x: Tensor) -> Tensor:
    """Squared magnitudes of a Fourier transform along the length, by its matrices."""
    length = x.shape[1]
    places = torch.arange(length).float()
    angle = 2 * math.pi * places[None] * places[:, None] / length
    value = layers.value(x)
    return (torch.cos(angle) @ value) ** 2 + (torch.sin(angle) @ value) ** 2


def fourier_feat(layers: Sequence, x: Tensor) -> Tensor:
    """Waves of four frequencies on a ramp from -1 to 1."""
    ramp = torch.linspace(-1, 1, x.shape[1])
    frequencies = torch.tensor([1.0, 2.0, 4.0, 8.0])
    angle = ramp[:, None] * frequencies[None] * math.pi
    return layers.value(x) + torch.cat([torch.sin(angle), torch.cos(angle)], -1)[None]


def sinus(layers: Sequence, x: Tensor) -> Tensor:
    """Sinusoids of the places, sine and cosine in turn."""
    angle = angles(torch.arange(x.shape[1]).float())
    return layers.attention(x + torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[None])


def sinus_rev(layers: Sequence, x: Tensor) -> Tensor:
    """Sinusoids of the places counted from the end, the cosines behind the sines."""
    angle = angles(torch.arange(x.shape[1] - 1, -1, -1).float())
    return layers.attention(x + torch.cat([angle.sin(), angle.cos()], -1)[None])


def xl_rel(layers: Sequence, x: Tensor) -> Tensor:
    """Sinusoids of all distances, put in their rows by the shift of Transformer-XL."""
    length = x.shape[1]
    angle = angles(torch.arange(length - 1, -length, -1).float())
    relative = torch.cat([angle.sin(), angle.cos()], -1)
    bias = layers.query(x) @ relative.t()
    batch = x.shape[0]
    shifted = functional.pad(bias, (1, 0)).reshape(batch, 2 * length, length)[:, 1:]
    return layers.attention(x, bias=shifted.reshape(batch, length, 2 * length - 1)[:, :, :length])


def nystrom(layers: Sequence, x: Tensor) -> Tensor:
    """Attention to the means of four segments."""
    batch, length, _ = x.shape
    means = layers.key(x[:, : length // 4 * 4]).reshape(batch, 4, length // 4, WIDTH).mean(2)
    return torch.softmax(layers.query(x) @ means.transpose(1, 2), -1) @ means


def chunks_of_four(layers: Sequence, x: Tensor) -> Tensor:
    """Attention within chunks of four, the last of which is padded."""
    batch, length, _ = x.shape
    more = (4 - length % 4) % 4
    chunks = functional.pad(x, (0, 0, 0, more)).reshape(batch, (length + more) // 4, 4, WIDTH)
    weights = torch.softmax(layers.query(chunks) @ layers.key(chunks).transpose(2, 3), -1)
    return (weights @ layers.value(chunks)).reshape(batch, length + more, WIDTH)[:, :length]


def entmax_temp(layers: Sequence, x: Tensor) -> Tensor:
    """Attention whose temperature is the logarithm of the length."""
    length = x.shape[1]
    return torch.softmax(layers.scores(x) * math.log(length) / math.sqrt(WIDTH), -1) @ layers.value(x)


def var_unbiased(layers: Sequence, x: Tensor) -> Tensor:
    """A variance along the length, divided by one less than that."""
    length = x.shape[1]
    mean = x.sum(1, keepdim=True) / length
    return layers.value(x) * ((x - mean) ** 2).sum(1, keepdim=True) / (length - 1)


def even_odd(layers: Sequence, x: Tensor) -> Tensor:
    """The even places, then the odd ones."""
    return torch.cat([layers.query(x[:, ::2]), layers.key(x[:, 1::2])], 1)


def rotate_half_seq(layers: Sequence, x: Tensor) -> Tensor:
    """The second half of the sequence before the first."""
    length = x.shape[1]
    return torch.cat([x[:, length // 2 :], x[:, : length // 2]], 1) * layers.value(x)


def roll_one(layers: Sequence, x: Tensor) -> Tensor:
    """All places moved by one."""
    return layers.attention(torch.roll(x, 1, 1))


def flip_idx(layers: Sequence, x: Tensor) -> Tensor:
    """The sequence backwards, by an index."""
    return layers.value(x[:, torch.arange(x.shape[1] - 1, -1, -1)])


def bucketed(layers: Sequence, x: Tensor) -> Tensor:
    """A learned bias for each bucket of distances, which are wider the further away."""
    distance = differences(torch.arange(x.shape[1])).abs()
    near = distance < 4
    far = 4 + (torch.log(distance.clamp(min=4).float() / 4) / math.log(4) * 4).long()
    buckets = torch.where(near, distance, far).clamp(max=7)
    return layers.attention(x, bias=cast("nn.Linear", layers.query).bias[buckets])


def lastpool(layers: Sequence, x: Tensor) -> Tensor:
    """The last place, the first and the middle one."""
    length = x.shape[1]
    return layers.query(x[:, length - 1]) + layers.key(x[:, 0]) + layers.value(x[:, length // 2])


def cumnorm(layers: Sequence, x: Tensor) -> Tensor:
    """Means of all that came so far, by a running sum."""
    length = x.shape[1]
    return torch.cumsum(layers.value(x), 1) / torch.arange(1, length + 1).float()[None, :, None]


def cumnorm_tri(layers: Sequence, x: Tensor) -> Tensor:
    """Means of all that came so far, by a triangle whose rows are divided by their sums."""
    length = x.shape[1]
    triangle = torch.tril(torch.ones(length, length))
    triangle = triangle / triangle.sum(1, keepdim=True)
    return triangle @ layers.value(x)


def exp_decay_end(layers: Sequence, x: Tensor) -> Tensor:
    """A mean whose weights are powers of the distance from the end."""
    weights = 0.8 ** torch.arange(x.shape[1] - 1, -1, -1).float()
    return (layers.value(x) * weights[None, :, None]).sum(1) / weights.sum()


def log_pos(layers: Sequence, x: Tensor) -> Tensor:
    """Logarithms of the places, counted from one."""
    length = x.shape[1]
    return layers.value(x) * torch.log(torch.arange(1, length + 1).float())[None, :, None]


def sqrt_pos(layers: Sequence, x: Tensor) -> Tensor:
    """Square roots of the places."""
    length = x.shape[1]
    return layers.value(x) * torch.sqrt(torch.arange(length).float())[None, :, None]


def inv_pos(layers: Sequence, x: Tensor) -> Tensor:
    """Division by the places, counted from one."""
    length = x.shape[1]
    return layers.value(x) / torch.arange(1, length + 1).float()[None, :, None]


def reverse_pairs(layers: Sequence, x: Tensor) -> Tensor:
    """The two of each pair exchanged; the last of an odd count stays."""
    length = x.shape[1]
    places = torch.arange(length)
    partners = torch.where(places % 2 == 0, (places + 1).clamp(max=length - 1), places - 1)
    return layers.value(x[:, partners])


def bit_parity(layers: Sequence, x: Tensor) -> Tensor:
    """Whether the last two bits of a place differ."""
    places = torch.arange(x.shape[1])
    return layers.value(x) * (((places >> 1) ^ places) & 1).float()[None, :, None]


def squares_mask(layers: Sequence, x: Tensor) -> Tensor:
    """The places that are squares."""
    places = torch.arange(x.shape[1])
    root = places.float().sqrt().floor()
    return layers.value(x) * (root * root == places).float()[None, :, None]


def primes_mask(layers: Sequence, x: Tensor) -> Tensor:
    """The places that are primes."""
    places = range(x.shape[1])
    primes = [float(place > 1 and all(place % less for less in range(2, place))) for place in places]
    return layers.value(x) * torch.tensor(primes)[None, :, None]


SEQUENCES = {
    each.__name__: each
    for each in (
        *(retnet_decay, gaussian_bias, gaussian_rel),
        *(local_mask, dilated_mask, block_mask, prefix_lm, half_prefix, sink_window),
        *(hamming, hann_periodic, dct, dft_mag, fourier_feat),
        *(sinus, sinus_rev, xl_rel),
        *(nystrom, chunks_of_four, entmax_temp, var_unbiased, even_odd, rotate_half_seq, roll_one, flip_idx),
        *(bucketed, lastpool, cumnorm, cumnorm_tri, exp_decay_end),
        *(log_pos, sqrt_pos, inv_pos, reverse_pairs, bit_parity, squares_mask, primes_mask),
    )
}
