"""Six pieces of machine code that the compiler does not find by itself."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from dptopics.kernels.jit import intrinsic

LINE = 16  # float32 numbers in a cache line
WIDTH = 8  # float32 numbers in a vector
BANKS = 4  # vectors added up side by side: one sum would wait for itself
STEP = WIDTH * BANKS
LANES = 32  # models that are sampled at once
_INDEX, _WHOLE, _BIT, _FLOAT = ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.FloatType()


class _Code:
    """The machine code of one call, on vectors of ``width`` float32 numbers of its arrays."""

    def __init__(self, call: Any, width: int = WIDTH) -> None:
        context, builder, signature, arguments = call
        self.build, self.width, self.given, self.done = builder, width, arguments, context.get_dummy_value()
        both = enumerate(zip(signature.args, arguments, strict=True))
        self.array = {i: context.make_array(t)(context, builder, a) for i, (t, a) in both if isinstance(t, types.Array)}

    def at(self, i: int, k: Any, kind: Any = _FLOAT) -> Any:
        """Where the vector begins that holds entry k of array i."""
        entry = self.build.gep(self.array[i].data, [_INDEX(k) if isinstance(k, int) else k])
        return self.build.bitcast(entry, ir.VectorType(kind, self.width).as_pointer())

    def load(self, i: int, k: Any) -> Any:
        return self.build.load(self.at(i, k), align=4)

    def store(self, value: Any, i: int, k: Any) -> None:
        self.build.store(value, self.at(i, k, value.type.element), align=4)

    def steps(self, i: int, step: int) -> Any:
        """A loop over the entries 0, ``step``, 2·``step``, … of array i."""
        size = self.build.extract_value(self.array[i].shape, 0)
        return cgutils.for_range_slice(self.build, _INDEX(0), size, _INDEX(step))

    def variable(self) -> Any:
        return cgutils.alloca_once_value(self.build, self.constant(0.0))

    def constant(self, values: Any, kind: Any = _FLOAT) -> Any:
        values = list(values) if isinstance(values, range | list) else [values] * self.width
        return ir.Constant(ir.VectorType(kind, self.width), values)

    def moved(self, vector: Any, places: Any) -> Any:
        return self.build.shuffle_vector(vector, vector, self.constant(places, _WHOLE))

    def splat(self, value: Any) -> Any:
        """The same number in all lanes."""
        return self.moved(self.build.insert_element(self.constant(ir.Undefined), value, _WHOLE(0)), 0)


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index] ahead of its use."""

    def generate(*call: Any) -> Any:
        code = _Code(call)
        byte = ir.IntType(8).as_pointer()
        pointer = code.build.bitcast(code.build.gep(code.array[0].data, [code.given[1]]), byte)
        name = "llvm.prefetch.p0i8" if "i8*" in str(byte) else "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [byte, _WHOLE, _WHOLE, _WHOLE])
        fetch = cgutils.get_or_insert_function(code.build.module, kind, name)
        code.build.call(fetch, [pointer, _WHOLE(0), _WHOLE(3), _WHOLE(1)])  # to read, keep, data
        return code.done

    return types.void(array, types.intp), generate


@intrinsic
def weigh(typing_context: Any, p: Any, pull: Any, row: Any, shift: Any, sums: Any) -> Any:
    """p[k] = pull[k] · (row[k] + shift) for all k, and sums[j] = p[j] + p[j + STEP] + p[j + 2·STEP] + ….

    float32 arrays; ``p``, ``pull`` and ``row`` have the same size, a multiple of STEP, and ``sums`` has STEP entries.
    """

    def generate(*call: Any) -> Any:
        code = _Code(call)
        build, shifts, totals = code.build, code.splat(code.given[3]), [code.variable() for _ in range(BANKS)]
        with code.steps(0, STEP) as (k, _):
            for bank, total in enumerate(totals):
                place = build.add(k, _INDEX(WIDTH * bank))
                value = build.fmul(code.load(1, place), build.fadd(code.load(2, place), shifts))
                code.store(value, 0, place)
                build.store(build.fadd(build.load(total), value), total)
        for bank, total in enumerate(totals):
            code.store(build.load(total), 4, WIDTH * bank)
        return code.done

    return types.void(p, pull, row, types.float32, sums), generate


@intrinsic
def fall(typing_context: Any, sums: Any, u: Any, rest: Any) -> Any:
    """On which of the STEP ``sums`` of `weigh` a uniform draw u falls; rest = (what is left of u · total, total).

    The sums are added up as a tree: four of each lane, then pairs of lanes. All eight ways down the tree are gone side
    by side, without a branch, and one of them finds each of its turns confirmed.
    """

    def generate(*call: Any) -> Any:
        code = _Code(call)
        build, lanes, banks = code.build, range(WIDTH), [code.load(0, WIDTH * i) for i in range(BANKS)]
        ones = build.fadd(build.fadd(banks[0], banks[1]), build.fadd(banks[2], banks[3]))
        twos = build.fadd(ones, code.moved(ones, [lane ^ 1 for lane in lanes]))
        fours = build.fadd(twos, code.moved(twos, [lane ^ 2 for lane in lanes]))
        total = build.fadd(fours, code.moved(fours, [lane ^ 4 for lane in lanes]))
        left, sure = build.fmul(code.splat(code.given[1]), total), code.constant(1, _BIT)
        for level, bit in ((fours, 4), (twos, 2), (ones, 1)):
            mass = code.moved(level, [lane & -2 * bit for lane in lanes])
            right = code.constant([lane & bit > 0 for lane in lanes], _BIT)
            turn = build.fcmp_ordered(">=", left, mass)
            sure = build.and_(sure, build.not_(build.xor(turn, right)))
            left = build.fsub(left, build.select(right, mass, code.constant(0.0)))
        place = lane = build.cttz(build.zext(build.bitcast(sure, ir.IntType(WIDTH)), _INDEX), _BIT(1))
        kept = left
        for bank in banks[:-1]:
            beyond = build.fcmp_ordered(">=", left, bank)
            left = build.fsub(left, bank)  # once it has fallen, below zero, which is beyond no mass
            kept = build.select(beyond, left, kept)
            hops = build.lshr(build.zext(build.bitcast(beyond, ir.IntType(WIDTH)), _INDEX), lane)
            place = build.add(place, build.mul(build.and_(hops, _INDEX(1)), _INDEX(WIDTH)))
        build.store(build.extract_element(kept, build.trunc(lane, _WHOLE)), code.array[2].data)
        build.store(build.extract_element(total, _WHOLE(0)), build.gep(code.array[2].data, [_INDEX(1)]))
        return place

    return types.int64(sums, types.float32, rest), generate


@intrinsic
def fall_in_lanes(typing_context: Any, p: Any, u: Any, new: Any) -> Any:
    """new[lane] = `fall` of u[lane] on the STEP numbers in each lane of p, which is STEP × LANES."""

    def generate(*call: Any) -> Any:
        code = _Code(call, LANES)
        build, weight = code.build, [code.load(0, LANES * k) for k in range(STEP)]

        def pairs(of: list[Any]) -> list[Any]:
            return [build.fadd(left, right) for left, right in zip(of[::2], of[1::2], strict=True)]

        def half(of: list[Any], right: Any) -> list[Any]:
            return [build.select(right, b, a) for a, b in zip(of[: len(of) // 2], of[len(of) // 2 :], strict=True)]

        banks = [weight[WIDTH * bank : WIDTH * (bank + 1)] for bank in range(BANKS)]
        ones = [build.fadd(build.fadd(a, b), build.fadd(c, d)) for a, b, c, d in zip(*banks, strict=True)]
        levels = [pairs(pairs(ones)), pairs(ones), ones, *banks[:-1]]
        left, found = build.fmul(code.load(1, 0), *pairs(levels[0])), code.constant(0, _WHOLE)
        for worth in (4, 2, 1, WIDTH, WIDTH, WIDTH):
            mass = levels.pop(0)[0]
            beyond = build.fcmp_ordered(">=", left, mass)
            found = build.select(beyond, build.add(found, code.constant(worth, _WHOLE)), found)
            less = build.fsub(left, mass)
            left = less if worth == WIDTH else build.select(beyond, less, left)
            levels = [half(level, beyond) if worth < WIDTH else level for level in levels]
        code.store(found, 2, 0)
        return code.done

    return types.void(p, u, new), generate


@intrinsic
def absorb(typing_context: Any, total: Any, pull: Any, row: Any, source: Any, count: Any) -> Any:
    """total[k] += count / Σ_j pull[j]·row[j] · source[k]: a document or a word takes up its share of a count.

    float32 arrays of the same size, a multiple of WIDTH. Sums are regrouped, always in the same way.
    """

    def generate(*call: Any) -> Any:
        code = _Code(call)
        build, norm = code.build, code.variable()
        with code.steps(0, WIDTH) as (k, _):
            build.store(build.fadd(build.load(norm), build.fmul(code.load(1, k), code.load(2, k))), norm)
        kind = ir.FunctionType(_FLOAT, [_FLOAT, ir.VectorType(_FLOAT, WIDTH)])
        reduce = cgutils.get_or_insert_function(build.module, kind, f"llvm.vector.reduce.fadd.v{WIDTH}f32")
        smallest = ir.Constant(_FLOAT, 1e-30)  # a word that no topic knows must not divide by zero
        whole = build.call(reduce, [smallest, build.load(norm)], fastmath=("reassoc",))
        shares = code.splat(build.fdiv(code.given[4], whole))
        with code.steps(0, WIDTH) as (k, _):
            code.store(build.fadd(code.load(0, k), build.fmul(shares, code.load(3, k))), 0, k)
        return code.done

    return types.void(total, pull, row, source, types.float32), generate


@intrinsic
def steepest(typing_context: Any, p: Any, grow: Any, total: Any) -> Any:
    """max over k of max{p[k]·grow[k]/total, grow[k]·(total − p[k])/(total + p[k]·grow[k])}, at least zero.

    float32 arrays of the same size, a multiple of WIDTH. NaN entries are passed over.
    """

    def generate(*call: Any) -> Any:
        code = _Code(call)
        build, totals, lifted, others = code.build, code.splat(code.given[2]), code.variable(), code.variable()

        def larger(left: Any, right: Any) -> Any:
            return build.select(build.fcmp_ordered(">", left, right), left, right)

        with code.steps(0, WIDTH) as (k, _):
            mass, more = code.load(0, k), code.load(1, k)
            lift = build.fmul(mass, more)
            other = build.fdiv(build.fmul(more, build.fsub(totals, mass)), build.fadd(totals, lift))
            build.store(larger(lift, build.load(lifted)), lifted)
            build.store(larger(other, build.load(others)), others)
        best = larger(build.fdiv(build.load(lifted), totals), build.load(others))
        found = build.extract_element(best, _WHOLE(0))
        for lane in range(1, WIDTH):
            found = larger(build.extract_element(best, _WHOLE(lane)), found)
        return found

    return types.float32(p, grow, types.float32), generate
