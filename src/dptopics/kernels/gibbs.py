"""Collapsed Gibbs sampling for LDA: one sweep over all tokens.

Every draw is a hash of (key, document, position, sweep), so the result is a function of the counts and the key alone,
and taking a document away shifts nobody else's draws.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dptopics.kernels.jit import jit

AHEAD = 3  # tokens between asking for a word's counts and using them
LINE = 16  # float32 numbers in a cache line
LANES = 8  # topics are padded to a multiple of this, so that inner loops fill vector registers


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index]. Words' counts are far away in memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte = ir.IntType(8).as_pointer()
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        number = ir.IntType(32)
        name = "llvm.prefetch.p0i8" if "i8*" in str(byte) else "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(fetch, [pointer, number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@jit
def draw(seed: np.uint64, i: int) -> np.uint64:
    """The i-th word of the stream ``seed`` (splitmix64, Steele et al. 2014)."""
    x = seed + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def start_topics(
    start: NDArray[np.int64],
    word: NDArray[np.int32],
    doc_seed: NDArray[np.uint64],
    nw: NDArray[np.float32],
    n_topics: int,
) -> NDArray[np.int32]:
    """A uniform topic for each token, and the words × topics counts that follow."""
    topic = np.empty(word.size, np.int32)
    for d in range(start.size - 1):
        for i in range(start[d], start[d + 1]):
            topic[i] = draw(doc_seed[d], i - start[d]) % np.uint64(n_topics)
            nw[word[i], topic[i]] += np.float32(1)
    return topic


@jit
def gibbs_sweep(
    start: NDArray[np.int64],
    word: NDArray[np.int32],
    topic: NDArray[np.int32],
    nw: NDArray[np.float32],
    nk: NDArray[np.int64],
    alpha: float,
    beta: float,
    n_topics: int,
    doc_seed: NDArray[np.uint64],
    sweep: int,
) -> None:
    """Draw each token's topic from p(k) ∝ (n_dk + α)(n_wk + β)/(n_k + Vβ), the token itself left out.

    Griffiths & Steyvers 2004, equation 5. The running sum is kept in eight lanes (lane j holds topics j, j+8, …): eight
    independent sums instead of one long chain.
    """
    padded = nw.shape[1]
    total_beta = nw.shape[0] * beta
    b, one = np.float32(beta), np.float32(1)
    nd = np.zeros(n_topics, np.float32)
    p = np.zeros(padded, np.float32)
    pull = np.zeros(padded, np.float32)  # (n_dk + α)/(n_k + Vβ): a token changes it in two places only
    cells = nw.reshape(-1)
    for d in range(start.size - 1):
        seed = draw(doc_seed[d], -1 - sweep)
        nd[:] = np.float32(0)
        for i in range(start[d], start[d + 1]):
            nd[topic[i]] += one
        for k in range(n_topics):
            pull[k] = np.float32((nd[k] + alpha) / (nk[k] + total_beta))
        for i in range(start[d], start[d + 1]):
            if i + AHEAD < word.size and word[i + AHEAD] != word[i + AHEAD - 1]:
                for k in range(0, padded, LINE):
                    _prefetch(cells, word[i + AHEAD] * padded + k)
            old = topic[i]
            row = nw[word[i]]
            nd[old] -= one
            row[old] -= one
            nk[old] -= 1
            pull[old] = np.float32((nd[old] + alpha) / (nk[old] + total_beta))
            for k in range(padded):
                p[k] = pull[k] * (row[k] + b)
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
            for k in range(0, padded, 8):
                s0 += p[k]
                s1 += p[k + 1]
                s2 += p[k + 2]
                s3 += p[k + 3]
                s4 += p[k + 4]
                s5 += p[k + 5]
                s6 += p[k + 6]
                s7 += p[k + 7]
            s01, s23, s45, s67 = s0 + s1, s2 + s3, s4 + s5, s6 + s7
            low = s01 + s23
            bits = draw(seed, i - start[d])
            u = np.float32(np.float64(bits >> np.uint64(40)) * 2.0**-24) * (low + (s45 + s67))
            new = 0
            if u >= low:
                u -= low
                new = 4
                s01, s23, s0, s2 = s45, s67, s4, s6
            if u >= s01:
                u -= s01
                new += 2
                s0 = s2
            if u >= s0:
                u -= s0
                new += 1
            while new + 8 < padded and u >= p[new]:
                u -= p[new]
                new += 8
            if new >= n_topics:  # rounding can push the draw into the padding, which has no mass
                new = n_topics - 1
            topic[i] = new
            nd[new] += one
            row[new] += one
            nk[new] += 1
            pull[new] = np.float32((nd[new] + alpha) / (nk[new] + total_beta))
