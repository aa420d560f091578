"""The one way kernels are compiled, typed so that strict mypy sees the plain function."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile without the interpreter lock, cached on disk, IEEE arithmetic kept (no fast-math: sums must not
    depend on the compiler's mood).

    Numba's cache sees changes in the kernel's own file only, so a kernel calls no kernel of another file but settled
    leaves (``digamma``). No kernel calls ``argsort``: read back from the cache, its parts can be taken for those of
    ``sort`` on numbers of the same type, which then crashes or gives a wrong order.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
