"""Numba loops over plain arrays, one file per kernel. No corpus, no generator objects, no epsilon."""
