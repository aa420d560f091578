"""Questions about people, answered yes or no from what they wrote: read and checked. Public."""

import ast
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError

MOST_QUESTIONS = 1000
# What a question may ask, and what else may be said with it.
KINDS = {
    "mention": None, "all": None, "regex": None, "topic": None, "theme": None, "near": "above", "column": "is",
    "function": None, "formula": None,
}  # fmt: skip
NEAR = 0.5  # cosine of two texts from which on they are near


@dataclass(frozen=True)
class Fact:
    """What may be true of one text: a kind, what is looked for, and a detail (a value, a cut, a function)."""

    kind: str
    what: str
    detail: Any = None


@dataclass(frozen=True)
class Questions:
    """Questions by name: a rule for each, about facts of a text; ``said`` is what each asks, as it was written.

    >>> asked = Questions.of({"insulin": {"mention": ["insulin", "insulin pump"]}, "pump": {"mention": "pump"},
    ...     "no pump": {"formula": "insulin and not pump"}})
    >>> asked.names, asked.rules
    (('insulin', 'pump', 'no pump'), ('f0 or f1', 'f2', '(f0 or f1) and (not f2)'))
    """

    names: tuple[str, ...]
    rules: tuple[str, ...]
    facts: tuple[Fact, ...]
    said: tuple[str, ...]

    @classmethod
    def of(cls, asked: Mapping[str, Any] | Iterable[str] | str | Path) -> Self:
        """From a table of questions, from words or phrases, one for each question, or from a TOML file."""
        if isinstance(asked, str | Path):
            asked = _read(Path(asked))
        given = asked if isinstance(asked, Mapping) else {one: {"mention": one} for one in asked}
        if not 0 < len(given) <= MOST_QUESTIONS:
            raise InputError(f"ask 1 to {MOST_QUESTIONS:,} questions at once, got {len(given):,}.")
        facts: dict[Fact, int] = {}
        rules: dict[str, str] = {}
        for name, one in given.items():
            if not isinstance(one, Mapping) or not (str(name).strip() and str(name).isprintable()):
                raise InputError(f"question {name!r} must have a name and say what it asks: mention = 'insulin'.")
            kind = _kind(str(name), one)
            if kind == "formula":
                rules[str(name)] = _formula(str(name), one, rules)
                continue
            numbers = [facts.setdefault(fact, len(facts)) for fact in _facts(str(name), kind, one)]
            rules[str(name)] = (" and " if kind == "all" else " or ").join(f"f{number}" for number in numbers)
        check_rules(tuple(rules.values()), len(facts))
        said = tuple(json.dumps(one, ensure_ascii=False, default=_named) for one in given.values())
        return cls(tuple(rules), tuple(rules.values()), tuple(facts), said)


def in_words(said: str) -> str:
    """What a question asks, for people.

    >>> in_words('{"all": ["insulin", "pump"]}'), in_words('{"near": "I have waited for weeks", "above": 0.6}')
    ('mentions “insulin” and “pump”', 'is near “I have waited for weeks” (cosine above 0.6)')
    """
    try:
        one = json.loads(said)
        kind = _kind("", one)
    except (ValueError, InputError):
        return said
    value = one[kind]
    listed = [f"“{part}”" for part in ([value] if isinstance(value, str) else value if isinstance(value, list) else [])]
    wording = {
        "mention": f"mentions {' or '.join(listed)}",
        "all": f"mentions {' and '.join(listed)}",
        "regex": f"matches {value}",
        "topic": f"is about topic {value}",
        "theme": f"is about “{value}”",
        "near": f"is near “{value}” (cosine above {one.get('above', NEAR):g})",
        "column": f"{value} is {one.get('is')}",
        "function": f"by the function {value}",
    }
    return wording.get(kind, str(value))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the questions {os.fspath(path)!r}: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"{path.name!r} is not valid TOML: {error}.") from None


def _named(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', '?')}"


def _kind(name: str, one: Mapping[str, Any]) -> str:
    """What a question asks: one thing."""
    kinds = [kind for kind in KINDS if kind in one]
    if len(kinds) != 1:
        raise InputError(f"question {name!r} must ask one of {', '.join(KINDS)}; join several with a formula.")
    if unknown := one.keys() - {kinds[0], KINDS[kinds[0]]}:
        raise InputError(f"question {name!r} cannot have {', '.join(sorted(map(str, unknown)))}.")
    return kinds[0]


def _facts(name: str, kind: str, one: Mapping[str, Any]) -> list[Fact]:
    """The facts that a question is about."""
    value = one[kind]
    if kind in ("mention", "all"):
        phrases = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
        if not phrases or not all(isinstance(p, str) and any(map(str.isalnum, p)) for p in phrases):
            raise InputError(f"question {name!r} has no words to look for.")
        return [Fact("mention", " ".join(phrase.split())) for phrase in phrases]
    if kind == "function" and callable(value):
        return [Fact(kind, _named(value), value)]
    if not str(value).strip():
        raise InputError(f"question {name!r} does not say which {kind}.")
    if kind == "near":
        return [Fact(kind, str(value), _cosine(name, one.get("above", NEAR)))]
    return [Fact(kind, str(value), " ".join(str(one.get("is", "")).split()) if kind == "column" else None)]


def _cosine(name: str, above: Any) -> float:
    if isinstance(above, bool) or not isinstance(above, int | float) or not -1 <= above < 1:
        raise InputError(f"question {name!r}: above must be a cosine from -1 to 1, got {above!r}.")
    return float(above)


def _formula(name: str, one: Mapping[str, Any], rules: Mapping[str, str]) -> str:
    """A formula of earlier questions, by their names, as a rule about facts."""

    def replaced(node: ast.expr) -> str:
        match node:
            case ast.Name(other) if other in rules:
                return f"({rules[other]})" if " " in rules[other] else rules[other]
            case ast.UnaryOp(ast.Not(), part):
                return f"(not {replaced(part)})"
            case ast.BoolOp(kind, parts):
                word = " and " if isinstance(kind, ast.And) else " or "
                joined = word.join(map(replaced, parts))
                return joined if node is tree else f"({joined})"
        raise ValueError

    try:
        tree = ast.parse(str(one["formula"]), mode="eval").body
        if len(one) > 1:
            raise ValueError
        return replaced(tree)
    except (SyntaxError, ValueError, RecursionError):
        raise InputError(
            f"question {name!r}: a formula joins names of questions above it by and, or, not and brackets, and stands "
            "alone. A name in a formula has letters, digits and _ only."
        ) from None


Facts = NDArray[np.bool_]  # [fact, person]


def holds(rule: str, facts: Facts) -> Facts:
    """For whom a rule holds: ``"f0 and not f2"``, by the rows of ``facts``.

    >>> holds("f0 and not f1", np.array([[True, True, False], [True, False, False]])).tolist()
    [False, True, False]
    """
    return _value(_parsed(rule), facts)


@lru_cache
def _parsed(rule: str) -> ast.expr:
    return ast.parse(rule, mode="eval").body


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
