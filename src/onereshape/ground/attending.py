"""Attentions of a vendor as functions of ONNX's: rows of `functions`, which says how they are written.

Queries, keys and values are brought to (batch, heads, places, width) first.
"""

from __future__ import annotations

from typing import Final

from onereshape.ground.composing import Asked, Function, NoBodyError, row

_NARROW: Final = "FLOAT FLOAT16 BFLOAT16"
_HEADS: Final = "{0} = Reshape ({0}, [0, 0, $num_heads, -1])\n{0} = Transpose <perm: ints = [0, 2, 1, 3]> ({0})\n"


def _attended(asked: Asked, mask: int, filled: float) -> str:
    """The lines from q, k and v on to y; `mask` is the place of an input, what it leaves out is `filled`."""
    lines = ["t = Transpose <perm: ints = [0, 1, 3, 2]> (k)", "s = MatMul (q, t)"]
    if asked.get("scale"):
        lines.append("s = Mul (s, $scale~s)")
    else:
        lines += ["w = Shape <start: int = 3> (q)", "w = CastLike (w, s)", "w = Sqrt (w)", "s = Div (s, w)"]
    lines += ["s = Add (s, bias) if bias"]
    rank = asked.rank(mask) if asked.has(mask) else 0
    if rank > 3 or (asked.has(mask) and not rank):
        raise NoBodyError(f"input {mask} is a mask of another kind")
    lines += [
        "total = Shape <start: int = 2, end: int = 3> (k)",
        "length = Shape <start: int = 2, end: int = 3> (q)",
        "count = Squeeze (total, [0])",
        "zero = Constant <value_int: int = 0> ()",
        "one = Constant <value_int: int = 1> ()",
        "columns = Range (zero, count, one)",
    ]
    if rank == 1:
        lines += [
            "columns_ = CastLike (columns, mask)",
            "mask = Unsqueeze (mask, [1, 2, 3])",
            "seen = Less (columns_, mask)",
        ]
    elif rank:
        lines += [
            f"d = Concat <axis: int = 0> ({'[0, 1, 1], total' if rank == 2 else '[0, 1], length, total'})",
            "mask = Reshape (mask, d)",
            "seen = Greater (mask, 0~mask)",
        ]
    if rank:
        lines += [f"seen = Where (seen, 0~s, {filled!r}~s)", "s = Add (s, seen)"]
    if asked.get("unidirectional"):
        lines += [
            "past_ = Sub (total, new)",
            "length = Squeeze (length, [0])",
            "rows = Range (zero, length, one)",
            "rows = Add (rows, past_)",
            "rows = Unsqueeze (rows, [1])",
            "later = Greater (columns, rows)",
            f"s = Where (later, {filled!r}~s, s)",
        ]
    return "\n".join(
        [
            *lines,
            "p = Softmax <axis: int = -1> (s)",
            "y = MatMul (p, v)",
            "y = Transpose <perm: ints = [0, 2, 1, 3]> (y)",
            "y = Reshape (y, [0, 0, -1])",
        ]
    )


def _multi_head(asked: Asked) -> str:
    """MultiHeadAttention: keys and values may be heads already; those in five dims no kernel of a CPU takes."""
    if asked.has(8) or asked.has(9) or asked.has(6) != asked.has(7):
        raise NoBodyError("it writes into what it is given, or has only one of what it is to go on with")
    ranks: tuple[int, ...] = tuple(asked.rank(place) if asked.has(place) else 0 for place in range(3))
    if ranks not in ([(3, 3, 3)] if asked.has(3) else [(3, 3, 3), (3, 4, 4)]):
        raise NoBodyError(f"its queries, keys and values have {list(ranks)} dims")
    sizes = "\n".join(f"d{each} = Shape <start: int = 2> ({each}) if shift" for each in "qkv")
    added = "\n".join(f"{each} = Add ({each}, b{each}) if shift" for each in "qkv")
    square = """
        length = Shape <start: int = 2, end: int = 3> (q)
        d = Concat <axis: int = 0> ([0, 0], length, [-1])
        k = Reshape (k, d)
    """  # with as many keys as queries: onnxruntime's kernel hides nothing from the last query where there are others
    return f"""
        {sizes}
        sizes = Concat <axis: int = 0> (dq, dk, dv) if shift
        bq, bk, bv = Split <axis: int = 0> (shift, sizes) if shift
        {added}
        {"".join(_HEADS.format(each) for each in ("qkv" if ranks[1] == 3 else "q"))}
        {square if asked.get("unidirectional") else ""}
        new = Shape <start: int = 2, end: int = 3> (k)
        k = Concat <axis: int = 2> (past_k, k) if past_k
        v = Concat <axis: int = 2> (past_v, v) if past_v
        present_k = Identity (k)
        present_v = Identity (v)
        {_attended(asked, 4, asked.get("mask_filter_value"))}
    """


def _packed_attention(asked: Asked) -> str:
    """Attention: data times weights for query, key and value at once."""
    if asked.get("past_present_share_buffer") or asked.get("do_rotary") or asked.has(6):
        raise NoBodyError("it writes into what it is given, or turns it")
    sizes = asked.get("qkv_hidden_sizes")
    split = f"(x, {sizes})" if sizes else "(x)"
    count = "" if sizes else ", num_outputs: int = 3"
    kept = """
        kept_k = Unsqueeze (k, [0])
        kept_v = Unsqueeze (v, [0])
        present = Concat <axis: int = 0> (kept_k, kept_v)
    """
    return f"""
        x = MatMul (x, w)
        x = Add (x, shift) if shift
        q, k, v = Split <axis: int = -1{count}> {split}
        {"".join(_HEADS.format(each) for each in "qkv")}
        past_k, past_v = Split <axis: int = 0, num_outputs: int = 2> (past) if past
        past_k = Squeeze (past_k, [0]) if past
        past_v = Squeeze (past_v, [0]) if past
        new = Shape <start: int = 2, end: int = 3> (k)
        k = Concat <axis: int = 2> (past_k, k) if past
        v = Concat <axis: int = 2> (past_v, v) if past
        {kept if asked.wants(1) else ""}
        {_attended(asked, 3, asked.get("mask_filter_value"))}
    """


def _quantised_attention(asked: Asked) -> str:
    asked = Asked(
        (asked.given[0], asked.given[1], None, asked.given[5] if asked.has(5) else None), asked.attributes, asked.named
    )
    return f"""
        x = DequantizeLinear (x, xs, xz)
        w = DequantizeLinear <axis: int = 1> (w, ws, wz)
        {_packed_attention(asked)}
    """


def _rotary(asked: Asked) -> str:
    """RotaryEmbedding: each row is turned by the angles of its place; (batch, places, heads, width) on the way."""
    if asked.get("is_packed_batching") or asked.get("scale", 1.0) != 1:
        raise NoBodyError("it has the samples one after the other, or scales them")
    rank = asked.rank(0)
    if rank not in {3, 4}:
        raise NoBodyError(f"its data have {rank} dims")
    lines = ["shape = Shape (x)", "half = Shape <start: int = 1> (cos)"]
    turned = asked.get("rotary_embedding_dim")
    if rank == 4:
        lines.append("x = Transpose <perm: ints = [0, 2, 1, 3]> (x)")
    elif turned or asked.get("num_heads"):
        if not asked.get("num_heads"):
            raise NoBodyError("its number of heads is not known")
        lines.append("x = Reshape (x, [0, 0, $num_heads, -1])")
    else:
        lines += ["width = Add (half, half)", "d = Concat <axis: int = 0> ([0, 0, -1], width)", "x = Reshape (x, d)"]
    if asked.rank(1) == 1:
        lines += [
            f"length = Shape <start: int = {1 if rank == 3 else 2}, end: int = {2 if rank == 3 else 3}> (x0)",
            "length = Squeeze (length, [0])",
            "zero = Constant <value_int: int = 0> ()",
            "one = Constant <value_int: int = 1> ()",
            "steps = Range (zero, length, one)",
            "places = Add (places, steps)",
            "places = Unsqueeze (places, [0])",
        ]
        lines.insert(0, "x0 = Identity (x)")
    lines += [f"{each} = Gather ({each}, places)" for each in ("cos", "sin")]
    lines += [f"{each} = Unsqueeze ({each}, [2])" for each in ("cos", "sin")]
    rest = ""
    if turned:
        lines += ["x, rest = Split <axis: int = -1> (x, parts)"]
        lines.insert(-1, "all = Shape <start: int = 3> (x)")
        lines.insert(-1, f"left = Sub (all, [{turned}])")
        lines.insert(-1, f"parts = Concat <axis: int = 0> ([{turned}], left)")
        rest = ", rest"
    if asked.get("interleaved"):
        lines += [
            "x = Reshape (x, [0, 0, 0, -1, 2])",
            "a, b = Split <axis: int = 4, num_outputs: int = 2> (x)",
            "a = Squeeze (a, [4])",
            "b = Squeeze (b, [4])",
        ]
    else:
        lines.append("a, b = Split <axis: int = 3, num_outputs: int = 2> (x)")
    lines += ["ac = Mul (a, cos)", "bs = Mul (b, sin)", "as = Mul (a, sin)", "bc = Mul (b, cos)"]
    lines += ["a = Sub (ac, bs)", "b = Add (as, bc)"]
    if asked.get("interleaved"):
        lines += [f"{each} = Unsqueeze ({each}, [4])" for each in "ab"]
        lines += ["y = Concat <axis: int = 4> (a, b)", "y = Reshape (y, [0, 0, 0, -1])"]
        lines += ["y = Concat <axis: int = 3> (y, rest)"] if turned else []
    else:
        lines.append(f"y = Concat <axis: int = 3> (a, b{rest})")
    lines.append("y = Transpose <perm: ints = [0, 2, 1, 3]> (y)" if rank == 4 else "y = Reshape (y, [0, 0, -1])")
    return "\n".join(lines)


_ATTENTION: Final = (
    "num_heads: int, scale: float?, unidirectional: int = 0, mask_filter_value: float = -10000.0, "
    "do_rotary: int?, past_present_share_buffer: int?, rotary_embedding_dim: int?"
)

ATTENTIONS: Final[list[tuple[str, Function]]] = [
    row(
        f"Attention <{_ATTENTION}, qkv_hidden_sizes: ints?> "
        "(T x, T w, T shift?, M mask?, T past?, T bias?, M length?) -> y, present",
        _packed_attention,
        dims="x: B S D, w: D ., mask: B *, past: 2 B *, bias: 1/B *",
        T=_NARROW,
        M="INT32",
    ),
    row(
        f"QAttention <{_ATTENTION}> (A x, B w, F shift, F xs, F ws, M mask?, A xz?, B wz?, F past?) -> y, present",
        _quantised_attention,
        dims="x: B S D, w: D ., xs: single, ws: single|., mask: B *, xz: single, wz: single|., past: 2 B *",
        A="INT8 UINT8",
        B="INT8 UINT8",
        F="FLOAT FLOAT16",
        M="INT32",
    ),
    row(
        "MultiHeadAttention <num_heads: int, scale: float?, unidirectional: int = 0, "
        "mask_filter_value: float = -10000.0> (T q, T k?, T v?, T shift?, M mask?, T bias?, T past_k?, T past_v?, "
        "M length?, M cache?) -> y, present_k, present_v",
        _multi_head,
        dims="q: B S D, k: B T D|B H T W, v: B T .|B H T ., mask: B *, bias: 1/B *, past_k: B . P ., past_v: B . P .",
        T=_NARROW,
        M="INT32",
    ),
    row(
        "RotaryEmbedding <interleaved: int = 0, is_packed_batching: int = 0, num_heads: int = 0, "
        "rotary_embedding_dim: int = 0, scale: float?> (T x, L places, T cos, T sin) -> y",
        _rotary,
        dims="x: B S D|B H S W, places: single|B S, cos: P Q, sin: P Q",
        T=_NARROW,
        L="INT64",
    ),
]
