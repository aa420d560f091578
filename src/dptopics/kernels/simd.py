"""Four pieces of machine code that the compiler does not find by itself."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from dptopics.kernels.jit import intrinsic

LINE = 16  # float32 numbers in a cache line
WIDTH = 8  # float32 numbers in a vector
BANKS = 4  # vectors added up side by side: one sum would wait for itself
STEP = WIDTH * BANKS


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index] ahead of its use."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(builder.gep(_data(context, builder, signature, arguments, 0), [arguments[1]]), byte)
        name = "llvm.prefetch.p0i8" if "i8*" in str(byte) else "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(fetch, [pointer, number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def weigh(typing_context: Any, p: Any, pull: Any, row: Any, shift: Any, sums: Any) -> Any:
    """p[k] = pull[k] · (row[k] + shift) for all k, and sums[j] = p[j] + p[j + STEP] + p[j + 2·STEP] + ….

    float32 arrays; ``p``, ``pull`` and ``row`` have the same size, a multiple of STEP, and ``sums`` has STEP entries.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.FloatType(), WIDTH)
        index = ir.IntType(64)
        arrays = {name: _data(context, builder, signature, arguments, i) for name, i in
                  (("p", 0), ("pull", 1), ("row", 2), ("sums", 4))}  # fmt: skip
        size = builder.extract_value(context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 0)

        def at(name: str, k: Any) -> Any:
            return builder.bitcast(builder.gep(arrays[name], [k]), vector.as_pointer())

        shifts = ir.Constant(vector, ir.Undefined)
        for lane in range(WIDTH):
            shifts = builder.insert_element(shifts, arguments[3], ir.IntType(32)(lane))
        totals = [cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * WIDTH)) for _ in range(BANKS)]
        with cgutils.for_range_slice(builder, index(0), size, index(STEP)) as (k, _):
            for bank, total in enumerate(totals):
                place = builder.add(k, index(WIDTH * bank))
                left, right = (builder.load(at(name, place), align=4) for name in ("pull", "row"))
                value = builder.fmul(left, builder.fadd(right, shifts))
                builder.store(value, at("p", place), align=4)
                builder.store(builder.fadd(builder.load(total), value), total)
        for bank, total in enumerate(totals):
            builder.store(builder.load(total), at("sums", index(WIDTH * bank)), align=4)
        return context.get_dummy_value()

    return types.void(p, pull, row, types.float32, sums), generate


@intrinsic
def absorb(typing_context: Any, total: Any, pull: Any, row: Any, source: Any, count: Any) -> Any:
    """total[k] += count / Σ_j pull[j]·row[j] · source[k]: a document or a word takes up its share of a count.

    float32 arrays of the same size, a multiple of WIDTH. Sums are regrouped, always in the same way.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scalar, index = ir.FloatType(), ir.IntType(64)
        vector = ir.VectorType(scalar, WIDTH)
        total_data, pull_data, row_data, source_data = (
            _data(context, builder, signature, arguments, i) for i in range(4)
        )
        size = builder.extract_value(context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 0)

        def at(array: Any, k: Any) -> Any:
            return builder.bitcast(builder.gep(array, [k]), vector.as_pointer())

        norm = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * WIDTH))
        with cgutils.for_range_slice(builder, index(0), size, index(WIDTH)) as (k, _):
            left, right = builder.load(at(pull_data, k), align=4), builder.load(at(row_data, k), align=4)
            builder.store(builder.fadd(builder.load(norm), builder.fmul(left, right)), norm)
        kind = ir.FunctionType(scalar, [scalar, vector])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{WIDTH}f32")
        smallest = ir.Constant(scalar, 1e-30)  # a word that no topic knows must not divide by zero
        share = builder.fdiv(arguments[4], builder.call(reduce, [smallest, builder.load(norm)], fastmath=("reassoc",)))
        shares = ir.Constant(vector, ir.Undefined)
        for lane in range(WIDTH):
            shares = builder.insert_element(shares, share, ir.IntType(32)(lane))
        with cgutils.for_range_slice(builder, index(0), size, index(WIDTH)) as (k, _):
            more = builder.fmul(shares, builder.load(at(source_data, k), align=4))
            builder.store(builder.fadd(builder.load(at(total_data, k), align=4), more), at(total_data, k), align=4)
        return context.get_dummy_value()

    return types.void(total, pull, row, source, types.float32), generate


@intrinsic
def steepest(typing_context: Any, p: Any, grow: Any, total: Any) -> Any:
    """max over k of max{p[k]·grow[k]/total, grow[k]·(total − p[k])/(total + p[k]·grow[k])}, at least zero.

    float32 arrays of the same size, a multiple of WIDTH. NaN entries are passed over.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scalar, index = ir.FloatType(), ir.IntType(64)
        vector = ir.VectorType(scalar, WIDTH)
        p_data, grow_data = (_data(context, builder, signature, arguments, i) for i in range(2))
        size = builder.extract_value(context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 0)

        def at(array: Any, k: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(array, [k]), vector.as_pointer()), align=4)

        def larger(left: Any, right: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", left, right), left, right)

        totals = ir.Constant(vector, ir.Undefined)
        for lane in range(WIDTH):
            totals = builder.insert_element(totals, arguments[2], ir.IntType(32)(lane))
        zero = ir.Constant(vector, [0.0] * WIDTH)
        lifted, others = (cgutils.alloca_once_value(builder, zero) for _ in range(2))
        with cgutils.for_range_slice(builder, index(0), size, index(WIDTH)) as (k, _):
            mass, more = at(p_data, k), at(grow_data, k)
            lift = builder.fmul(mass, more)
            other = builder.fdiv(builder.fmul(more, builder.fsub(totals, mass)), builder.fadd(totals, lift))
            builder.store(larger(lift, builder.load(lifted)), lifted)
            builder.store(larger(other, builder.load(others)), others)
        best = larger(builder.fdiv(builder.load(lifted), totals), builder.load(others))
        found = builder.extract_element(best, ir.IntType(32)(0))
        for lane in range(1, WIDTH):
            found = larger(builder.extract_element(best, ir.IntType(32)(lane)), found)
        return found

    return types.float32(p, grow, types.float32), generate


def _data(context: Any, builder: Any, signature: Any, arguments: Any, i: int) -> Any:
    return context.make_array(signature.args[i])(context, builder, arguments[i]).data
