"""The one way kernels are compiled, typed so that strict mypy sees the plain function."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic as untyped_intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")


@cache
def _sources(package: str) -> str:
    """Hash of all source files of a package's folder."""
    found = sorted((file.name, file.read_bytes()) for file in files(package).iterdir() if file.name.endswith(".py"))
    return sha256(repr(found).encode()).hexdigest()


class _KernelCache(FunctionCache):
    """Numba's cache on disk, out of date as soon as any file of the kernel's folder changes.

    Numba looks at the kernel's own file only. But kernels and constants of other files are compiled into it: their old
    code would be run after an upgrade that changed them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_sources(function.__module__.rpartition(".")[0]),
        )


def jit(function: F) -> F:
    """Compile without the interpreter lock, cached on disk, IEEE arithmetic kept (no fast-math: sums must not
    depend on the compiler's mood).

    No kernel calls ``argsort``: read back from the cache, its parts can be taken for those of ``sort`` on numbers of
    the same type, which then crashes or gives a wrong order.
    """
    kernel = numba.njit(nogil=True, error_model="numpy")(function)
    kernel._cache = _KernelCache(function)  # what cache=True does, with numba's own cache
    return cast(F, kernel)


def intrinsic(function: Callable[Concatenate[Any, P], Any]) -> Callable[P, Any]:
    """Machine code written by hand: kernels call it without the first argument, the compiler's context."""
    return cast(Callable[P, Any], untyped_intrinsic(function))


I8 = NDArray[np.int8]
U8 = NDArray[np.uint8]
Flags = NDArray[np.bool_]
F32 = NDArray[np.float32]
Real = NDArray[np.floating[Any]]
F64 = NDArray[np.float64]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
