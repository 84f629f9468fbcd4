"""The GPU kernels for the plans of copies, in Triton's language; `gpu_plan` says which runs, with which numbers.

Bounds: a program's offsets are sums of index times stride over the plan's dims, and every load and store is masked to
indices below the plan's sizes, so that no address outside the plan's own walk over data and output is touched.  Sizes
and strides come in granules (the bytes that all of them are multiples of) and are multiplied by a constant, which is
how the compiler knows that accesses of 16 bytes are aligned.  Where offsets pass 2^31 words, WIDE makes them 64-bit.
Programs that run together write next to each other: a transpose gains by it, most where rows do not begin with a line.
"""

import triton
import triton.language as tl


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
def _wide(number, WIDE: tl.constexpr):
    if WIDE:
        number = number.to(tl.int64)
    return number


@triton.jit
def _span(tile, size: tl.constexpr, WIDE: tl.constexpr):
    """The indices of one tile along one dim."""
    return _wide(tile, WIDE) * size + tl.arange(0, size)


@triton.jit
def _walk(index, inner, step, jump, JOIN: tl.constexpr):
    """The offset of an index over one dim, or over two of which the inner has `inner` elements."""
    if JOIN:
        found = index // inner * jump + index % inner * step
    else:
        found = index * step
    return found


@triton.jit(do_not_specialize=list(range(2, 22)))
def _tile(
    src, dst, na, nb, long_a, long_b, sb, da, jump_a, jump_b,
    n1, s1, d1, n2, s2, d2, n3, s3, d3, n4, s4, d4,
    ALONG_A: tl.constexpr, ALONG_B: tl.constexpr, ITEM: tl.constexpr, KEEP: tl.constexpr,
    JOIN_A: tl.constexpr, JOIN_B: tl.constexpr, GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A tile of items of ITEM words, read along the source's unit-stride dim and written along the destination's.

    Where the dims are short, the tile goes on into the dims that follow them there.  KEEP is for rows that begin
    anywhere in a line: the cache is asked to hold a line until the program beside has written its part.
    """
    words_a = long_a * GRANULE
    words_b = long_b * GRANULE
    tiles_a = tl.cdiv(words_a, ALONG_A * ITEM)
    tiles_b = tl.cdiv(words_b, ALONG_B * ITEM)
    pid = tl.program_id(0)
    tb = pid % tiles_b
    rest = pid // tiles_b
    ta = rest % tiles_a
    so, do = _outer(rest // tiles_a, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    along = _span(ta, ALONG_A * ITEM, WIDE)
    rows = _span(tb, ALONG_B, WIDE)
    mask = (rows < words_b // ITEM)[:, None] & (along < words_a)[None, :]
    from_row = _walk(rows, nb * GRANULE // ITEM, sb, jump_b, JOIN_B) * GRANULE
    held = tl.load(src + so + from_row[:, None] + along[None, :], mask=mask)
    if ITEM > 1:
        held = held.reshape(ALONG_B, ALONG_A, ITEM).permute(1, 0, 2).reshape(ALONG_A, ALONG_B * ITEM)
    else:
        held = tl.trans(held)
    along = _span(tb, ALONG_B * ITEM, WIDE)
    rows = _span(ta, ALONG_A, WIDE)
    mask = (rows < words_a // ITEM)[:, None] & (along < words_b)[None, :]
    to_row = _walk(rows, na * GRANULE // ITEM, da, jump_a, JOIN_A) * GRANULE
    into = dst + do + to_row[:, None] + along[None, :]
    tl.store(into, held, mask=mask, eviction_policy="evict_last" if KEEP else "")


@triton.jit
def _load_word(src, offset, mask):
    return tl.load(src + offset, mask=mask, other=0).to(tl.uint32, bitcast=True)


@triton.jit
def _store_word(dst, offset, word, mask):
    tl.store(dst + offset, tl.trans(word.to(tl.int32, bitcast=True)), mask=mask)


@triton.jit(do_not_specialize=list(range(2, 22)))
def _pack(
    src, dst, na, nb, long_a, long_b, sb, da, jump_a, jump_b,
    n1, s1, d1, n2, s2, d2, n3, s3, d3, n4, s4, d4,
    ROWS: tl.constexpr, ALONG_A: tl.constexpr, ALONG_B: tl.constexpr, JOIN_A: tl.constexpr, JOIN_B: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Items of 1 or 2 bytes as words of ROWS items: ROWS rows are transposed in registers, the words as in `_tile`."""
    words_a = long_a * GRANULE
    words_b = long_b * GRANULE
    tiles_a = tl.cdiv(words_a, ALONG_A)
    tiles_b = tl.cdiv(words_b, ALONG_B)
    pid = tl.program_id(0)
    tb = pid % tiles_b
    rest = pid // tiles_b
    ta = rest % tiles_a
    so, do = _outer(rest // tiles_a, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    wa = _span(ta, ALONG_A, WIDE)
    wb = _span(tb, ALONG_B, WIDE)
    row = _wide(sb, WIDE) * GRANULE
    mask = (wb < words_b)[:, None] & (wa < words_a)[None, :]
    source = src + so
    # Rows are joined in whole words, so that the ROWS rows of a word are always one step apart.
    first = (_walk(wb, nb * GRANULE, sb * ROWS, jump_b, JOIN_B) * GRANULE)[:, None] + wa[None, :]
    out = dst + do
    column = _wide(da, WIDE) * GRANULE
    into = (_walk(wa, na * GRANULE, da * ROWS, jump_a, JOIN_A) * GRANULE)[:, None] + wb[None, :]
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
        here = _wide(ta, WIDE)
        source = here * sa * GRANULE + (b * sb * GRANULE)[:, None] + k[None, :]
        into = here * da * GRANULE + (b * words)[:, None] + k[None, :]
        tl.store(dst + do + into, tl.load(src + so + source, mask=mask), mask=mask)


@triton.jit(do_not_specialize=list(range(2, 17)))
def _small(
    src, dst, na, sa, sb,
    n1, s1, d1, n2, s2, d2, n3, s3, d3, n4, s4, d4,
    ITEM: tl.constexpr, HIGH: tl.constexpr, TILE: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Small blocks of HIGH items of ITEM words, one after the other in the destination, which is written in order."""
    tiles = tl.cdiv(na * (HIGH * ITEM), TILE)
    pid = tl.program_id(0)
    so, do = _outer(pid // tiles, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    at = pid % tiles * TILE + tl.arange(0, TILE)
    a = _wide(at // (HIGH * ITEM), WIDE)
    b = _wide(at // ITEM % HIGH, WIDE)
    mask = at < na * (HIGH * ITEM)
    held = tl.load(src + so + (a * sa + b * sb) * GRANULE + at % ITEM, mask=mask)
    tl.store(dst + do + at, held, mask=mask)


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
    n1, s1, d1, n2, s2, d2, n3, s3, d3, n4, s4, d4,
    FEW: tl.constexpr, PER_WORD: tl.constexpr, TILE: tl.constexpr, ROWS_TOGETHER: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """FEW planes woven into one run, for several rows where they are short."""
    words = length * GRANULE
    tiles = tl.cdiv(words, TILE)
    pid = tl.program_id(0)
    rows = pid // tiles * ROWS_TOGETHER + tl.arange(0, ROWS_TOGETHER)
    so, do = _outer(rows, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    at = _span(pid % tiles, TILE, WIDE)
    mask = (rows < n1 * n2 * n3 * n4)[:, None] & (at < words)[None, :]
    step = _wide(plane, WIDE) * GRANULE
    source = src + so[:, None] + at[None, :]
    w0 = _as_bits(tl.load(source, mask=mask), PER_WORD)
    w1 = _as_bits(tl.load(source + step, mask=mask), PER_WORD)
    w2 = w0
    w3 = w1
    if FEW > 2:
        w2 = _as_bits(tl.load(source + 2 * step, mask=mask), PER_WORD)
    if FEW > 3:
        w3 = _as_bits(tl.load(source + 3 * step, mask=mask), PER_WORD)
    o0 = _as_word(_woven(0, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
    o1 = _as_word(_woven(1, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
    out = dst + do[:, None, None] + (at * FEW)[None, :, None]
    if FEW == 2:
        tl.store(out + tl.arange(0, 2)[None, None, :], tl.join(o0, o1), mask=mask[:, :, None])
    else:
        o2 = _as_word(_woven(2, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
        o3 = o2
        if FEW > 3:
            o3 = _as_word(_woven(3, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD)
        held = tl.join(tl.join(o0, o2), tl.join(o1, o3)).reshape(ROWS_TOGETHER, TILE, 4)
        j = tl.arange(0, 4)
        tl.store(out + j[None, None, :], held, mask=mask[:, :, None] & (j < FEW)[None, None, :])


@triton.jit(do_not_specialize=list(range(2, 16)))
def _deinterleave(
    src, dst, length, plane,
    n1, s1, d1, n2, s2, d2, n3, s3, d3, n4, s4, d4,
    FEW: tl.constexpr, PER_WORD: tl.constexpr, TILE: tl.constexpr, ROWS_TOGETHER: tl.constexpr,
    GRANULE: tl.constexpr, OUTERS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """One run taken apart into FEW planes."""
    words = length * GRANULE
    tiles = tl.cdiv(words, TILE)
    pid = tl.program_id(0)
    rows = pid // tiles * ROWS_TOGETHER + tl.arange(0, ROWS_TOGETHER)
    so, do = _outer(rows, n1, s1, d1, n2, s2, d2, n3, s3, d3, s4, d4, GRANULE, OUTERS, WIDE)
    at = _span(pid % tiles, TILE, WIDE)
    mask = (rows < n1 * n2 * n3 * n4)[:, None] & (at < words)[None, :]
    step = _wide(plane, WIDE) * GRANULE
    # Word by word, which the cache makes up for: loaded together and split, they came out wrong for rows of 32 words.
    source = src + so[:, None] + (at * FEW)[None, :]
    w0 = tl.load(source, mask=mask)
    w1 = tl.load(source + 1, mask=mask)
    w2 = w0
    w3 = w1
    if FEW > 2:
        w2 = tl.load(source + 2, mask=mask)
    if FEW > 3:
        w3 = tl.load(source + 3, mask=mask)
    w0 = _as_bits(w0, PER_WORD)
    w1 = _as_bits(w1, PER_WORD)
    w2 = _as_bits(w2, PER_WORD)
    w3 = _as_bits(w3, PER_WORD)
    out = dst + do[:, None] + at[None, :]
    tl.store(out, _as_word(_unwoven(0, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    tl.store(out + step, _as_word(_unwoven(1, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    if FEW > 2:
        tl.store(out + 2 * step, _as_word(_unwoven(2, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)
    if FEW > 3:
        tl.store(out + 3 * step, _as_word(_unwoven(3, w0, w1, w2, w3, FEW, PER_WORD), PER_WORD), mask=mask)


KERNELS = {
    "tile": _tile,
    "pack": _pack,
    "blocks": _blocks,
    "small": _small,
    "interleave": _interleave,
    "deinterleave": _deinterleave,
}
