"""Everything dptopics raises on purpose.

    DptopicsError
    ├── InputError        a setting or the data breaks a rule; nothing was spent
    ├── PrivacyError      a step would break the guarantee it claims; refused
    ├── SpentError        the budget is spent
    │   ├── NothingReleased   there is nothing to publish
    │   └── ReleaseLost       the run failed, or its release could not be saved where it should be
    ├── BudgetExceeded    the ledger has too little left; refused before anything ran
    ├── EngineError       Spark is missing, or failed
    ├── LedgerError       the ledger file cannot be used
    ├── StoreError        the collector's store cannot be written or read just now
    └── BundleError       a saved release is damaged, incomplete or from a newer version

A message states the rule, the value found and what to do next. It never holds a word of the data: no cell, and no row
that may be data instead of column names. Exceptions of other libraries do quote data: they end at :func:`shielded`.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class DptopicsError(Exception):
    """Root of the tree: catch this to catch every error that dptopics raises on purpose."""


class PrivacyWarning(UserWarning):
    """Something the data's owner should know before publishing."""


class InputError(DptopicsError, ValueError):
    """A setting or the data breaks a rule. Nothing was spent."""


class PrivacyError(DptopicsError):
    """A step would break the guarantee it claims, so it was refused."""


class SpentError(DptopicsError):
    """The mechanism ran and was charged: the budget is spent, whatever came of it."""


class NothingReleased(SpentError):
    """What the mechanism found is too little to publish."""


class ReleaseLost(SpentError):
    """The run failed after the charge, or its release lies elsewhere; ``release`` holds it if there is one."""

    def __init__(self, message: str, release: object = None) -> None:
        super().__init__(message)
        self.release = release


class Stopped(KeyboardInterrupt):
    """Somebody stopped a release; the message says what it may have cost."""


class BudgetExceeded(DptopicsError):
    """The ledger has too little budget left. Refused before anything ran."""


class EngineError(DptopicsError):
    """Spark cannot start, or failed half-way."""


class LedgerError(DptopicsError):
    """The ledger file cannot be read, created or written."""


class StoreError(DptopicsError):
    """The collector's store cannot be written or read just now: full, locked or gone. Nothing was accepted."""


class BundleError(DptopicsError):
    """A saved release is damaged, incomplete, or was written by a newer version."""


def tell_owner(message: str) -> None:
    """Warn the owner about the data, on standard error. Never an exception: a refusal would be an uncharged release."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        warnings.warn(message, PrivacyWarning, stacklevel=3)


def warn_user(message: str) -> None:
    """Warn whoever runs this about something that does not depend on the data."""
    warnings.warn(message, PrivacyWarning, stacklevel=3)


def shielded(call: Callable[[], T], what: str, advice: str, kind: type[DptopicsError] = InputError) -> T:
    """``call()``; an exception that is not ours becomes "what (name of the exception). advice"."""
    try:
        return call()
    except (DptopicsError, MemoryError):
        raise
    except Exception as error:
        name = type(error).__name__
    raise kind(f"{what} ({name}). {advice}")  # outside the handler, so that no traceback shows the cause


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """Accept former names of arguments (``former="new"``) with a warning, for one release."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for former in names.keys() & given.keys():
                message = f"{function.__name__}({former}=…) is now called {names[former]}; the old name goes in 0.4."
                warnings.warn(message, FutureWarning, stacklevel=2)
                given[names[former]] = given.pop(former)
            return function(*args, **given)

        return cast(F, call)

    return decorate


def renamed_attribute(former: str, new: str) -> Any:
    """A former name of an attribute, with a warning, for one release."""

    def read(self: Any) -> Any:
        message = f"{type(self).__name__}.{former} is now called {new}; the old name goes in 0.4."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"The former name of ``{new}``.")
