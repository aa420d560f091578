"""SipHash-2-4 against its published vectors and a plain Python twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dptopics.kernels.hashing import siphash

U64 = st.integers(0, 2**64 - 1)
KEY = (int.from_bytes(bytes(range(8)), "little"), int.from_bytes(bytes(range(8, 16)), "little"))
# Aumasson & Bernstein 2012, appendix A, and the reference code's vectors.h (entries 8 and 15), key 00 01 … 0f.
EIGHT_BYTES = 0x93F5F5799A932462
FIFTEEN_BYTES = 0xA129CA6149BE45E5


def slow_siphash(message, key0, key1):
    """SipHash-2-4 of any bytes, step by step as in the paper's section 2."""
    top = 2**64 - 1
    v = [
        key0 ^ int.from_bytes(b"uespemos", "little"),
        key1 ^ int.from_bytes(b"modnarod", "little"),
        key0 ^ int.from_bytes(b"arenegyl", "little"),
        key1 ^ int.from_bytes(b"setybdet", "little"),
    ]

    def rotate(x, by):
        return ((x << by) | (x >> (64 - by))) & top

    def rounds(n):
        for _ in range(n):
            for a, b, c, d, by1, by2 in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a] = (v[a] + v[b]) & top
                v[c] = (v[c] + v[d]) & top
                v[b] = rotate(v[b], by1) ^ v[a]
                v[d] = rotate(v[d], by2) ^ v[c]
                v[a] = rotate(v[a], 32)

    padded = message + b"\0" * (7 - len(message) % 8) + bytes([len(message) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def fast(value, key0, key1):
    return int(siphash(np.array([value], np.uint64), np.uint64(key0), np.uint64(key1))[0])


def test_the_twin_agrees_with_the_paper():
    assert slow_siphash(bytes(range(15)), *KEY) == FIFTEEN_BYTES
    assert slow_siphash(bytes(range(8)), *KEY) == EIGHT_BYTES


def test_published_vector():
    assert fast(int.from_bytes(bytes(range(8)), "little"), *KEY) == EIGHT_BYTES


@given(U64, U64, U64)
def test_agrees_with_the_twin(value, key0, key1):
    assert fast(value, key0, key1) == slow_siphash(value.to_bytes(8, "little"), key0, key1)


def test_each_value_is_hashed_by_itself():
    values = np.arange(1000, dtype=np.uint64)
    together = siphash(values, np.uint64(1), np.uint64(2))
    assert together.dtype == np.uint64
    assert together.tolist() == [fast(v, 1, 2) for v in range(1000)]
    assert siphash(values[:0], np.uint64(1), np.uint64(2)).size == 0
