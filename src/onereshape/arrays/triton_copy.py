"""GPU kernels for the plans of copies, in Triton: the launches of `gpu_plan`, compiled once per class.

Bounds: a program's offsets are sums of index times stride over the plan's dims, and every load and store is masked to
indices below the plan's sizes, so that no address outside the plan's own walk over data and output is touched.  Sizes
and strides come in granules (the bytes that all of them are multiples of) and are multiplied by a constant, which is how
the compiler knows that accesses of 16 bytes are aligned.  Where offsets pass 2^31 words, WIDE makes them 64-bit.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from onereshape.arrays.gpu_plan import Launch

WORD_TYPES = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@triton.jit
def _outer(
    rest, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr
):
    """The offsets, in words, of one index over the dims outside the tile, the innermost divided off first."""
    source = rest * 0
    destination = rest * 0
    if WIDE:
        source = source.to(tl.int64)
        destination = destination.to(tl.int64)
    if OUTERS > 0:
        index = rest
        if OUTERS > 1:
            index = rest % n1
            rest = rest // n1
        source += index * (source * 0 + s1)
        destination += index * (destination * 0 + d1)
    if OUTERS > 1:
        index = rest
        if OUTERS > 2:
            index = rest % n2
            rest = rest // n2
        source += index * (source * 0 + s2)
        destination += index * (destination * 0 + d2)
    if OUTERS > 2:
        index = rest
        if OUTERS > 3:
            index = rest % n3
            rest = rest // n3
        source += index * (source * 0 + s3)
        destination += index * (destination * 0 + d3)
    if OUTERS > 3:
        source += rest * (source * 0 + s4)
        destination += rest * (destination * 0 + d4)
    return source * GRANULE, destination * GRANULE


@triton.jit
def _span(tile, size: tl.constexpr, WIDE: tl.constexpr):
    """The indices of one tile along one dim."""
    if WIDE:
        tile = tile.to(tl.int64)
    return tile * size + tl.arange(0, size)


@triton.jit(do_not_specialize=list(range(2, 18)))
def _tile(
    src, dst, na, nb, sb, da,
    n1, s1, d1, n2, s2, d2,
    n3, s3, d3, n4, s4, d4,
    ALONG_A: tl.constexpr, ALONG_B: tl.constexpr, ITEM: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A tile of items of ITEM words, read along the source's unit-stride dim and written along the destination's."""
    words_a = na * GRANULE
    words_b = nb * GRANULE
    tiles_a = tl.cdiv(words_a, ALONG_A * ITEM)
    tiles_b = tl.cdiv(words_b, ALONG_B * ITEM)
    pid = tl.program_id(0)
    ta = pid % tiles_a
    rest = pid // tiles_a
    tb = rest % tiles_b
    so, do = _outer(rest // tiles_b, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    along = _span(ta, ALONG_A * ITEM, WIDE)
    rows = _span(tb, ALONG_B, WIDE)
    mask = (rows < words_b // ITEM)[:, None] & (along < words_a)[None, :]
    held = tl.load(src + so + (rows * sb * GRANULE)[:, None] + along[None, :], mask=mask)
    if ITEM > 1:
        held = held.reshape(ALONG_B, ALONG_A, ITEM).permute(1, 0, 2).reshape(ALONG_A, ALONG_B * ITEM)
    else:
        held = tl.trans(held)
    along = _span(tb, ALONG_B * ITEM, WIDE)
    rows = _span(ta, ALONG_A, WIDE)
    mask = (rows < words_a // ITEM)[:, None] & (along < words_b)[None, :]
    tl.store(dst + do + (rows * da * GRANULE)[:, None] + along[None, :], held, mask=mask)


@triton.jit
def _load_word(src, offset, mask):
    return tl.load(src + offset, mask=mask, other=0).to(tl.uint32, bitcast=True)


@triton.jit
def _store_word(dst, offset, word, mask):
    tl.store(dst + offset, tl.trans(word.to(tl.int32, bitcast=True)), mask=mask)


@triton.jit(do_not_specialize=list(range(2, 18)))
def _pack(
    src, dst, na, nb, sb, da,
    n1, s1, d1, n2, s2, d2,
    n3, s3, d3, n4, s4, d4,
    ROWS: tl.constexpr, ALONG_A: tl.constexpr, ALONG_B: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Items of 1 or 2 bytes as words of ROWS items: ROWS rows are transposed in registers, then the words as in `_tile`."""
    words_a = na * GRANULE
    words_b = nb * GRANULE
    tiles_a = tl.cdiv(words_a, ALONG_A)
    tiles_b = tl.cdiv(words_b, ALONG_B)
    pid = tl.program_id(0)
    ta = pid % tiles_a
    rest = pid // tiles_a
    tb = rest % tiles_b
    so, do = _outer(rest // tiles_b, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    wa = _span(ta, ALONG_A, WIDE)
    wb = _span(tb, ALONG_B, WIDE)
    row = sb * GRANULE
    mask = (wb < words_b)[:, None] & (wa < words_a)[None, :]
    source = src + so
    first = (wb * ROWS * row)[:, None] + wa[None, :]
    out = dst + do
    column = da * GRANULE
    into = (wa * ROWS * column)[:, None] + wb[None, :]
    into_mask = (wa < words_a)[:, None] & (wb < words_b)[None, :]
    w0 = _load_word(source, first, mask)
    w1 = _load_word(source, first + row, mask)
    if ROWS == 2:
        _store_word(out, into, (w0 & 0xFFFF) | (w1 << 16), into_mask)
        _store_word(out, into + column, (w0 >> 16) | (w1 & 0xFFFF0000), into_mask)
    else:
        w2 = _load_word(source, first + 2 * row, mask)
        w3 = _load_word(source, first + 3 * row, mask)
        t0 = (w0 & 0x00FF00FF) | ((w1 & 0x00FF00FF) << 8)
        t1 = ((w0 >> 8) & 0x00FF00FF) | (w1 & 0xFF00FF00)
        t2 = (w2 & 0x00FF00FF) | ((w3 & 0x00FF00FF) << 8)
        t3 = ((w2 >> 8) & 0x00FF00FF) | (w3 & 0xFF00FF00)
        _store_word(out, into, (t0 & 0xFFFF) | (t2 << 16), into_mask)
        _store_word(out, into + column, (t1 & 0xFFFF) | (t3 << 16), into_mask)
        _store_word(out, into + 2 * column, (t0 >> 16) | (t2 & 0xFFFF0000), into_mask)
        _store_word(out, into + 3 * column, (t1 >> 16) | (t3 & 0xFFFF0000), into_mask)


@triton.jit(do_not_specialize=list(range(2, 20)))
def _blocks(
    src, dst, na, nb, item, sa, da, sb,
    n1, s1, d1, n2, s2, d2,
    n3, s3, d3, n4, s4, d4,
    ALONG_A: tl.constexpr, ALONG_B: tl.constexpr, ALONG_ITEM: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Items of any length over two dims, straight from the one side to the other."""
    words = item * GRANULE
    tiles_k = tl.cdiv(words, ALONG_ITEM)
    tiles_b = tl.cdiv(nb, ALONG_B)
    tiles_a = tl.cdiv(na, ALONG_A)
    pid = tl.program_id(0)
    tk = pid % tiles_k
    rest = pid // tiles_k
    tb = rest % tiles_b
    rest = rest // tiles_b
    ta = rest % tiles_a
    so, do = _outer(rest // tiles_a, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    k = _span(tk, ALONG_ITEM, WIDE)
    b = _span(tb, ALONG_B, WIDE)
    if ALONG_A > 1:
        a = _span(ta, ALONG_A, WIDE)
        mask = (a < na)[:, None, None] & (b < nb)[None, :, None] & (k < words)[None, None, :]
        source = (a * sa * GRANULE)[:, None, None] + (b * sb * GRANULE)[None, :, None] + k[None, None, :]
        into = (a * da * GRANULE)[:, None, None] + (b * words)[None, :, None] + k[None, None, :]
        tl.store(dst + do + into, tl.load(src + so + source, mask=mask), mask=mask)
    else:
        mask = (b < nb)[:, None] & (k < words)[None, :]
        here = ta
        if WIDE:
            here = ta.to(tl.int64)
        source = here * sa * GRANULE + (b * sb * GRANULE)[:, None] + k[None, :]
        into = here * da * GRANULE + (b * words)[:, None] + k[None, :]
        tl.store(dst + do + into, tl.load(src + so + source, mask=mask), mask=mask)


@triton.jit
def _choose(number: tl.constexpr, w0, w1, w2, w3):
    if number == 0:
        found = w0
    elif number == 1:
        found = w1
    elif number == 2:
        found = w2
    else:
        found = w3
    return found


@triton.jit
def _woven(word: tl.constexpr, w0, w1, w2, w3, FEW: tl.constexpr, PER_WORD: tl.constexpr):
    """Word number `word` of FEW planes interleaved, each of which gave one word of PER_WORD items."""
    if PER_WORD == 1:
        found = _choose(word, w0, w1, w2, w3)
    else:
        bits: tl.constexpr = 32 // PER_WORD
        low: tl.constexpr = (1 << bits) - 1
        found = w0 ^ w0
        for place in tl.static_range(PER_WORD):
            plane = _choose((word * PER_WORD + place) % FEW, w0, w1, w2, w3)
            found |= ((plane >> (bits * ((word * PER_WORD + place) // FEW))) & low) << (bits * place)
    return found


@triton.jit
def _unwoven(plane: tl.constexpr, w0, w1, w2, w3, FEW: tl.constexpr, PER_WORD: tl.constexpr):
    """The word of one plane, out of FEW words of interleaved items."""
    if PER_WORD == 1:
        found = _choose(plane, w0, w1, w2, w3)
    else:
        bits: tl.constexpr = 32 // PER_WORD
        low: tl.constexpr = (1 << bits) - 1
        found = w0 ^ w0
        for place in tl.static_range(PER_WORD):
            word = _choose((place * FEW + plane) // PER_WORD, w0, w1, w2, w3)
            found |= ((word >> (bits * ((place * FEW + plane) % PER_WORD))) & low) << (bits * place)
    return found


@triton.jit
def _as_bits(word, PER_WORD: tl.constexpr):
    """Words whose bits are moved must not carry a sign."""
    if PER_WORD > 1:
        word = word.to(tl.uint32, bitcast=True)
    return word


@triton.jit
def _as_word(word, PER_WORD: tl.constexpr):
    if PER_WORD > 1:
        word = word.to(tl.int32, bitcast=True)
    return word


@triton.jit(do_not_specialize=list(range(2, 16)))
def _interleave(
    src, dst, length, plane,
    n1, s1, d1, n2, s2, d2,
    n3, s3, d3, n4, s4, d4,
    FEW: tl.constexpr, PER_WORD: tl.constexpr, TILE: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """FEW planes woven into one run."""
    words = length * GRANULE
    tiles = tl.cdiv(words, TILE)
    pid = tl.program_id(0)
    so, do = _outer(pid // tiles, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    at = _span(pid % tiles, TILE, WIDE)
    mask = at < words
    step = plane * GRANULE
    if WIDE:
        step = step.to(tl.int64)
    w0 = _as_bits(tl.load(src + so + at, mask=mask), PER_WORD)
    w1 = _as_bits(tl.load(src + so + step + at, mask=mask), PER_WORD)
    w2 = w0
    w3 = w1
    if FEW > 2:
        w2 = _as_bits(tl.load(src + so + 2 * step + at, mask=mask), PER_WORD)
    if FEW > 3:
        w3 = _as_bits(tl.load(src + so + 3 * step + at, mask=mask), PER_WORD)
    o0 = _as_word(_woven(0, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
    o1 = _as_word(_woven(1, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
    if FEW == 2:
        held = tl.join(o0, o1)
        into = (at * 2)[:, None] + tl.arange(0, 2)[None, :]
        tl.store(dst + do + into, held, mask=mask[:, None])
    else:
        o2 = _as_word(_woven(2, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
        o3 = o2
        if FEW > 3:
            o3 = _as_word(_woven(3, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
        held = tl.join(tl.join(o0, o2), tl.join(o1, o3)).reshape(TILE, 4)
        j = tl.arange(0, 4)
        into = (at * FEW)[:, None] + j[None, :]
        tl.store(dst + do + into, held, mask=mask[:, None] & (j < FEW)[None, :])


@triton.jit(do_not_specialize=list(range(2, 16)))
def _deinterleave(
    src, dst, length, plane,
    n1, s1, d1, n2, s2, d2,
    n3, s3, d3, n4, s4, d4,
    FEW: tl.constexpr, PER_WORD: tl.constexpr, TILE: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """One run taken apart into FEW planes."""
    words = length * GRANULE
    tiles = tl.cdiv(words, TILE)
    pid = tl.program_id(0)
    so, do = _outer(pid // tiles, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    at = _span(pid % tiles, TILE, WIDE)
    mask = at < words
    step = plane * GRANULE
    if WIDE:
        step = step.to(tl.int64)
    if FEW == 2:
        held = tl.load(src + so + (at * 2)[:, None] + tl.arange(0, 2)[None, :], mask=mask[:, None])
        w0, w1 = tl.split(held)
        w2 = w0
        w3 = w1
    else:
        j = tl.arange(0, 4)
        held = tl.load(src + so + (at * FEW)[:, None] + j[None, :], mask=mask[:, None] & (j < FEW)[None, :], other=0)
        even, odd = tl.split(held.reshape(TILE, 2, 2))
        w0, w2 = tl.split(even)
        w1, w3 = tl.split(odd)
    w0 = _as_bits(w0, PER_WORD)
    w1 = _as_bits(w1, PER_WORD)
    w2 = _as_bits(w2, PER_WORD)
    w3 = _as_bits(w3, PER_WORD)
    tl.store(dst + do + at, _as_word(_unwoven(0, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    tl.store(dst + do + step + at, _as_word(_unwoven(1, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    if FEW > 2:
        tl.store(dst + do + 2 * step + at, _as_word(_unwoven(2, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    if FEW > 3:
        tl.store(dst + do + 3 * step + at, _as_word(_unwoven(3, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)


KERNELS: dict[str, Any] = {
    "tile": _tile,
    "pack": _pack,
    "blocks": _blocks,
    "interleave": _interleave,
    "deinterleave": _deinterleave,
}

_compiled: dict[Any, Any] = {}


class Pointer:
    """A device address that Triton takes for a tensor of words."""

    __slots__ = ("address", "dtype")

    def __init__(self, address: int, word: int) -> None:
        self.address = address
        self.dtype = WORD_TYPES[word]

    def data_ptr(self) -> int:
        return self.address


def run(launch: Launch, source: int, output: int, device: int) -> None:
    """Copies on the current stream of a device, which is the current one; the addresses are those of the first items."""
    stream = triton.runtime.driver.active.get_current_stream(device)
    key = (launch.class_key, source % 16 == 0, output % 16 == 0, device)
    compiled = _compiled.get(key)
    if compiled is None:
        compiled = _compiled[key] = interpret(launch, Pointer(source, launch.word), Pointer(output, launch.word))
        return
    # The compiled kernel called directly: finding it again through its arguments costs more than the launch.
    compiled.run(
        launch.programs, 1, 1, stream, compiled.function, compiled.packed_metadata, None, None, None,
        source, output, *launch.integers, *launch.values,
    )  # fmt: skip


def interpret(launch: Launch, source: Any, output: Any) -> Any:
    """The same through Triton's own call, which compiles; or interprets, where that was asked for."""
    kernel = KERNELS[launch.kernel]
    return kernel[(launch.programs,)](source, output, *launch.integers, *launch.values, num_warps=launch.warps)
