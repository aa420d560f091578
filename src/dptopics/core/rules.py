"""Rules: what is asked about a person, as facts of their texts joined by and, or, not. Public.

A fact is true of a person if it is true of one of their texts.
"""

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError

Facts = NDArray[np.bool_]  # [fact, person]


def holds(rule: str, facts: Facts) -> Facts:
    """For whom a rule holds: ``"f0 and not f2"``, by the rows of ``facts``.

    >>> holds("f0 and not f1", np.array([[True, True, False], [True, False, False]])).tolist()
    [False, True, False]
    """
    return _value(_parsed(rule), facts)


@lru_cache
def _parsed(rule: str) -> ast.expr:
    parsed: ast.expr = ast.parse(rule, mode="eval").body
    return parsed


def _value(node: ast.expr, facts: Facts) -> Facts:
    match node:
        case ast.Name(name) if name[:1] == "f" and name[1:].isdecimal() and int(name[1:]) < len(facts):
            return np.asarray(facts[int(name[1:])])
        case ast.UnaryOp(ast.Not(), part):
            return ~_value(part, facts)
        case ast.BoolOp(kind, parts):
            join: Any = np.logical_and if isinstance(kind, ast.And) else np.logical_or
            return np.asarray(join.reduce([_value(part, facts) for part in parts]))
    raise InputError("a rule joins facts by and, or, not and brackets: f0 and not (f1 or f2).")


def check_rules(rules: Sequence[str], facts: int) -> None:
    """Refuse rules about facts that there are not, and what is no rule."""
    for rule in rules:
        try:
            _value(_parsed(rule), np.zeros((facts, 1), np.bool_))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError("a rule joins facts by and, or, not and brackets: f0 and not (f1 or f2).") from None
