"""Checks of settings by their declared types, when they are made and not when they run."""

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from math import isnan
from numbers import Integral, Real
from re import sub
from types import NoneType, UnionType
from typing import Any, Self, get_args

from dptopics.core.errors import InputError


class Choice(StrEnum):
    """Names to choose from. An unknown one is refused with the list of those there are.

    >>> Choice("Colour", {"RED": "red", "BLUE": "blue", "SKY_BLUE": "sky-blue"})("green")
    Traceback (most recent call last):
    dptopics.core.errors.InputError: colour must be 'red', 'blue' or 'sky-blue', got 'green'.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self:
        name = sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        *most, last = (repr(str(known)) for known in cls)
        raise InputError(f"{name} must be {', '.join(most)} or {last}, got {value!r}.")


def check_fields(settings: Any) -> None:
    """Refuse fields of a frozen dataclass that do not fit their type: whole numbers for ``int``, no NaN ever."""
    for field in fields(settings):
        kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
        value = getattr(settings, field.name)  # NumPy's numbers become Python's below: they would not fit into JSON
        if value is None and NoneType in kinds:
            continue
        if int in kinds:
            object.__setattr__(settings, field.name, whole(field.name, value))
        elif float in kinds:
            object.__setattr__(settings, field.name, number(field.name, value))


def whole(name: str, value: object, least: int | None = None) -> int:
    """``value`` as an int, or an error that says what ``name`` must be."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, got {value!r}.")
    if least is not None and value < least:
        raise InputError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def number(name: str, value: object) -> float:
    """``value`` as a float, or an error that says what ``name`` must be."""
    if not isinstance(value, Real) or isinstance(value, bool) or isnan(value):
        raise InputError(f"{name} must be a number, got {value!r}.")
    return float(value)


def difference(one: Any, other: Any, where: str = "") -> list[str]:
    """Names of the fields in which two descriptions differ, with what each says.

    >>> difference({"epsilon": 1.0, "settings": {"steps": 3}}, {"epsilon": 1.0, "settings": {"steps": 15}})
    ['settings.steps is 3, not 15']
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        found = []
        for name in sorted({*one, *other}):
            found += difference(one.get(name), other.get(name), f"{where}.{name}" if where else str(name))
        return found
    return [] if one == other else [f"{where} is {json.dumps(one)}, not {json.dumps(other)}"]
