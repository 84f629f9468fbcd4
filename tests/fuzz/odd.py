"""Values that nobody expects, and bytes that went wrong."""

from __future__ import annotations

import re
from random import Random

INTEGERS = [
    -(2**63), -(2**31), -5, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 7, 64, 100, 2**31 - 1, 2**31, 2**32, 2**40,
    2**62, 2**63 - 1,
]  # fmt: skip
TEXTS = [
    "", "x", "y", "N", "S", "-1", "0", "1", "2*N", "N + 1", "N/0", "(", "a b", "None", "nan", "1e999", "0x10", "1_0",
    "٣", "é", "\x00", "::error::boo", "../w.bin", "w.bin", "/etc/hostname", "x:0", "x" * 300, "9" * 5000, "Reshape",
    "ai.onnx", "local", "com.microsoft", "seq(tensor(float))", "\U0001f600", "%s{0}", "</net>", "]]>",
    "a\nb", "\x1b[31m", "\u202e", "9**9**9", "N**99999",
]  # fmt: skip


def integer(random: Random) -> int:
    return random.choice(INTEGERS) if random.random() < 0.7 else random.randint(-3, 12)


def number(random: Random) -> float:
    return random.choice([0.0, -0.0, 0.5, 1.0, -1.5, 1e308, float("inf"), float("-inf"), float("nan")])


def text(random: Random, others: list[str]) -> str:
    """Another text of the same file, or an odd one."""
    return random.choice(others) if others and random.random() < 0.6 else random.choice(TEXTS)


def noise(random: Random, most: int = 12) -> bytes:
    return bytes(random.randrange(256) for _ in range(random.randint(1, most)))


def damaged(content: bytes, random: Random) -> bytes:
    """A few damages to bytes: turned, cut, doubled, moved, overwritten, or a number replaced by another."""
    found = bytearray(content)
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        _damage(found, random)
    return bytes(found)


def _damage(found: bytearray, random: Random) -> None:
    if not found:
        found += noise(random)
        return
    start = random.randrange(len(found))
    end = min(len(found), start + random.choice([1, 1, 2, 4, 8, 40, 200]))
    match random.randrange(9):
        case 0 | 1:
            turned = found[start] ^ 1 << random.randrange(8)
            found[start] = random.choice([turned, turned, turned, 0, 1, 0x7F, 0x80, 0xFF])
        case 2:
            del found[start:end]
        case 3:
            found[start:start] = noise(random)
        case 4:
            del found[start:]
        case 5:
            found[start:end] = bytes([random.choice([0, 0xFF])]) * (end - start)
        case 6:
            other = random.choice([start, random.randrange(len(found))])
            found[other:other] = found[start:end]
        case 7:
            _renumber(found, random)
        case _:
            _retext(found, random)


def _renumber(found: bytearray, random: Random) -> None:
    """One of the numbers that stand there in digits."""
    numbers = list(re.finditer(rb"[0-9]+", found))
    if numbers:
        one = random.choice(numbers)
        new = random.choice([str(integer(random)), "", "9" * 5000, "1.5", "1e400", "-", "00", "NaN"])
        found[one.start() : one.end()] = new.encode()


def _retext(found: bytearray, random: Random) -> None:
    """One of the names that stand there: of the same length, so that the bytes around it still fit."""
    words = list(re.finditer(rb"[A-Za-z_]{1,40}", found))
    if words:
        one = random.choice(words)
        length = one.end() - one.start()
        new = random.choice([b"\xff", b"\xed\xa0\x80", b"\x00", b"a", b"\xf0\x9f\x98\x80", b"\n", b"\x1b"])
        found[one.start() : one.end()] = (new * length)[:length]
