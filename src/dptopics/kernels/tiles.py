"""Small blocks of a matrix product in registers, in float32 and in bytes.

Every entry is added up on its own, from the first term to the last: it depends on its row and its column alone, not on
how many other rows there are. BLAS does not promise that.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from dptopics.kernels.jit import intrinsic

COLUMNS = 16  # of a block: two vectors of eight
FLOAT_ROWS, BYTE_ROWS = 6, 4  # as many sums as fit into sixteen vector registers
_LANES, _BANKS = 8, 2
_INDEX, _NUMBER = ir.IntType(64), ir.IntType(32)
_FLOATS, _NUMBERS = ir.VectorType(ir.FloatType(), _LANES), ir.VectorType(_NUMBER, _LANES)
_BYTES, _SHORTS = ir.VectorType(ir.IntType(8), 4 * _LANES), ir.VectorType(ir.IntType(16), 2 * _LANES)


@intrinsic
def float_block(
    typing_context: Any, c: Any, c_at: Any, c_row: Any, a: Any, a_at: Any, a_row: Any, b: Any, b_at: Any, depth: Any,
    bias: Any, bias_at: Any,
) -> Any:  # fmt: skip
    """c[i, j] = bias[j] + Σ_k a[i, k]·b[k, j] for 6 rows and 16 columns, one fused multiply-add after the other.

    Flat float32 arrays, each with the place where the block begins; ``c_row`` and ``a_row`` are the lengths of rows.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        c, a, b, bias = (_start(context, builder, signature, arguments, i) for i in (0, 3, 6, 9))
        fused = _outside(builder, f"llvm.fma.v{_LANES}f32", _FLOATS, [_FLOATS] * 3)
        firsts = [builder.load(_at(builder, bias, _INDEX(_LANES * j), _FLOATS), align=4) for j in range(_BANKS)]
        sums = [[cgutils.alloca_once_value(builder, first) for first in firsts] for _ in range(FLOAT_ROWS)]
        rows = [builder.gep(a, [builder.mul(arguments[5], _INDEX(i))]) for i in range(FLOAT_ROWS)]
        with cgutils.for_range(builder, arguments[8], intp=_INDEX) as loop:
            line = builder.gep(b, [builder.mul(loop.index, _INDEX(COLUMNS))])
            columns = [builder.load(_at(builder, line, _INDEX(_LANES * j), _FLOATS), align=4) for j in range(_BANKS)]
            for row, totals in zip(rows, sums, strict=True):
                value = _spread(builder, builder.load(builder.gep(row, [loop.index])), _FLOATS)
                for column, total in zip(columns, totals, strict=True):
                    builder.store(builder.call(fused, [value, column, builder.load(total)]), total)
        _store(builder, c, arguments[2], [[builder.load(total) for total in totals] for totals in sums])
        return context.get_dummy_value()

    place = types.intp
    return types.void(c, place, place, a, place, place, b, place, place, bias, place), generate


@intrinsic
def byte_block(
    typing_context: Any, c: Any, c_at: Any, c_row: Any, a: Any, a_at: Any, a_row: Any, b: Any, b_at: Any, depth: Any,
    scale: Any, bias: Any, bias_at: Any,
) -> Any:  # fmt: skip
    """c[i, j] = bias[j] + scale[j] · Σ_k a[i, k]·b[k, j] for 4 rows and 16 columns; the sum is exact.

    a: bytes from 0 to 127, b: from −63 to 63, so that four products fit into 16 bits. ``depth`` is in steps of eight.
    Columns lie as ``packed_bytes`` puts them. c, scale and bias are float32.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        c, a, b = (_start(context, builder, signature, arguments, i) for i in (0, 3, 6))
        scale, bias = (builder.gep(_data(context, builder, signature, arguments, i), [arguments[11]]) for i in (9, 10))
        pairs, fours = _pairs(context, builder), _fours(context, builder)
        zero = ir.Constant(_NUMBERS, [0] * _LANES)
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(_BANKS)] for _ in range(BYTE_ROWS)]
        rows = [builder.gep(a, [builder.mul(arguments[5], _INDEX(i))]) for i in range(BYTE_ROWS)]
        with cgutils.for_range(builder, arguments[8], intp=_INDEX) as loop:
            line = builder.gep(b, [builder.mul(loop.index, _INDEX(8 * COLUMNS))])
            columns = [builder.load(_at(builder, line, _INDEX(32 * j), _BYTES), align=1) for j in range(2 * _BANKS)]
            for row, totals in zip(rows, sums, strict=True):
                here = builder.gep(row, [builder.mul(loop.index, _INDEX(8))])
                left, right = (
                    builder.bitcast(
                        _spread(builder, builder.load(_at(builder, here, _INDEX(k), _NUMBER), align=1), _NUMBERS),
                        _BYTES,
                    )
                    for k in (0, 4)
                )
                for j, total in enumerate(totals):
                    short = builder.add(pairs(left, columns[2 * j]), pairs(right, columns[2 * j + 1]))
                    builder.store(builder.add(fours(short), builder.load(total)), total)
        scales, firsts = (
            [builder.load(_at(builder, array, _INDEX(_LANES * j), _FLOATS), align=4) for j in range(_BANKS)]
            for array in (scale, bias)
        )
        fused = _outside(builder, f"llvm.fma.v{_LANES}f32", _FLOATS, [_FLOATS] * 3)
        found = [
            [
                builder.call(fused, [builder.sitofp(builder.load(totals[j]), _FLOATS), scales[j], firsts[j]])
                for j in range(_BANKS)
            ]
            for totals in sums
        ]
        _store(builder, c, arguments[2], found)
        return context.get_dummy_value()

    place = types.intp
    return types.void(c, place, place, a, place, place, b, place, place, scale, bias, place), generate


def _pairs(context: Any, builder: Any) -> Any:
    """a[2i]·b[2i] + a[2i+1]·b[2i+1] in 16 bits: one instruction where there is one, the same numbers elsewhere."""
    if _has_avx2(context):
        multiply = _outside(builder, "llvm.x86.avx2.pmadd.ub.sw", _SHORTS, [_BYTES] * 2)
        return lambda a, b: builder.call(multiply, [a, b])
    wide = ir.VectorType(ir.IntType(16), 4 * _LANES)
    return lambda a, b: _neighbours(builder, builder.mul(builder.zext(a, wide), builder.sext(b, wide)), 2 * _LANES)


def _fours(context: Any, builder: Any) -> Any:
    """Sums of neighbours, from 16 bits to 32."""
    if _has_avx2(context):
        multiply = _outside(builder, "llvm.x86.avx2.pmadd.wd", _NUMBERS, [_SHORTS] * 2)
        return lambda a: builder.call(multiply, [a, ir.Constant(_SHORTS, [1] * (2 * _LANES))])
    return lambda a: _neighbours(builder, builder.sext(a, ir.VectorType(_NUMBER, 2 * _LANES)), _LANES)


def _neighbours(builder: Any, vector: Any, n: int) -> Any:
    even, odd = (ir.Constant(ir.VectorType(_NUMBER, n), list(range(first, 2 * n, 2))) for first in (0, 1))
    none = ir.Constant(vector.type, ir.Undefined)
    return builder.add(builder.shuffle_vector(vector, none, even), builder.shuffle_vector(vector, none, odd))


def _has_avx2(context: Any) -> bool:
    return "+avx2" in context.codegen().magic_tuple()[2].split(",")


def _outside(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    """The same number in every lane."""
    none = ir.Constant(kind, ir.Undefined)
    lanes = ir.Constant(ir.VectorType(_NUMBER, _LANES), [0] * _LANES)
    return builder.shuffle_vector(builder.insert_element(none, value, _NUMBER(0)), none, lanes)


def _store(builder: Any, c: Any, length: Any, rows: list[list[Any]]) -> None:
    for i, row in enumerate(rows):
        for j, vector in enumerate(row):
            place = builder.add(builder.mul(length, _INDEX(i)), _INDEX(_LANES * j))
            builder.store(vector, _at(builder, c, place, _FLOATS), align=4)


def _at(builder: Any, start: Any, place: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(start, [place]), kind.as_pointer())


def _start(context: Any, builder: Any, signature: Any, arguments: Any, i: int) -> Any:
    """Where the block of argument i begins: the next argument says."""
    return builder.gep(_data(context, builder, signature, arguments, i), [arguments[i + 1]])


def _data(context: Any, builder: Any, signature: Any, arguments: Any, i: int) -> Any:
    return context.make_array(signature.args[i])(context, builder, arguments[i]).data
