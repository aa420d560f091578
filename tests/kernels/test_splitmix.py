"""splitmix64 against the words of its published generator."""

import numpy as np

from dptopics.kernels.hashing import draw, mix

TOP = 2**64 - 1


def test_the_stream_of_the_reference():
    # The reference generator adds the stride first, so its outputs for state s are draw(s, 1), draw(s, 2), …
    # The values for state 1234567 are those that Rosetta Code and the authors of xoshiro give.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(draw(np.uint64(1234567), i)) for i in range(1, 6)] == expected


def test_mix_is_one_to_one():
    def undone(y):
        y ^= y >> 31 ^ y >> 62
        y = y * pow(0x94D049BB133111EB, -1, 2**64) & TOP
        y ^= y >> 27 ^ y >> 54
        y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) & TOP
        return y ^ y >> 30 ^ y >> 60

    for x in (0, 1, TOP, 0x0123456789ABCDEF):
        assert undone(int(mix(np.uint64(x)))) == x
