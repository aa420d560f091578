"""Questions about people, answered yes or no from what they wrote: read, checked, and put in words. Public."""

import ast
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dptopics.core.errors import InputError
from dptopics.core.rules import check_rules

MOST_QUESTIONS = 1000
# What a question may ask, and what else must or may be said with it.
KINDS = {
    "mention": (), "all": (), "regex": (), "topic": (), "theme": (), "near": ("above",), "column": ("is",),
    "function": (), "formula": (),
}  # fmt: skip
NEAR = 0.5  # cosine of two texts from which on they are near


@dataclass(frozen=True)
class Fact:
    """What may be true of one text: a kind, what is looked for, and a detail (a value, a cut, a function)."""

    kind: str
    what: str
    detail: Any = None

    def __str__(self) -> str:
        match self.kind:
            case "mention":
                return repr(self.what)
            case "regex":
                return f"a match of {self.what}"
            case "near":
                return f"a text near {self.what!r} (cosine above {self.detail:g})"
            case "column":
                return f"{self.what} = {self.detail!r}"
            case "function":
                return f"a text for which {self.what} is true"
        return f"a text about {self.kind} {self.what}"


@dataclass(frozen=True)
class Questions:
    """Questions by name: a rule for each, about facts of a text.

    >>> asked = Questions.of({"insulin": {"mention": ["insulin", "insulin pump"]}, "pump": {"mention": "pump"},
    ...     "no pump": {"formula": "insulin and not pump"}})
    >>> asked.names, asked.rules
    (('insulin', 'pump', 'no pump'), ('f0 or f1', 'f2', '(f0 or f1) and (not f2)'))
    >>> asked.said[2]
    "('insulin' or 'insulin pump') and (not 'pump')"
    """

    names: tuple[str, ...]
    rules: tuple[str, ...]
    facts: tuple[Fact, ...]

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
            if not isinstance(one, Mapping):
                raise InputError(f"question {name!r} must say what it asks: mention = 'insulin', for example.")
            if not str(name).strip() or not str(name).isprintable():
                raise InputError("every question needs a name of printable letters.")
            if "formula" in one:
                rules[str(name)] = _formula(str(name), one, rules)
                continue
            joined = " and " if "all" in one else " or "
            numbers = [facts.setdefault(fact, len(facts)) for fact in _facts(str(name), one)]
            rules[str(name)] = joined.join(f"f{number}" for number in numbers)
        made = cls(tuple(rules), tuple(rules.values()), tuple(facts))
        check_rules(made.rules, len(facts))
        return made

    @property
    def said(self) -> tuple[str, ...]:
        """Each question in words."""
        return tuple(_said(ast.parse(rule, mode="eval").body, self.facts) for rule in self.rules)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the questions {os.fspath(path)!r}: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"{path.name!r} is not valid TOML: {error}.") from None


def _facts(name: str, one: Mapping[str, Any]) -> list[Fact]:
    """The facts that a question is about."""
    kinds = [kind for kind in KINDS if kind in one]
    if len(kinds) != 1 or (unknown := one.keys() - {kinds[0], *KINDS[kinds[0]]}):
        what = f"cannot have {', '.join(sorted(map(str, unknown)))}" if len(kinds) == 1 else "asks not one thing"
        raise InputError(f"question {name!r} {what}. It has one of {', '.join(KINDS)}; join several with a formula.")
    (kind,) = kinds
    value = one[kind]
    if kind in ("mention", "all"):
        phrases = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
        if not phrases or not all(isinstance(p, str) and any(map(str.isalnum, p)) for p in phrases):
            raise InputError(f"question {name!r} has no words to look for.")
        return [Fact("mention", " ".join(phrase.split())) for phrase in phrases]
    if kind == "near":
        above = one.get("above", NEAR)
        if isinstance(above, bool) or not isinstance(above, int | float) or not -1 <= above < 1:
            raise InputError(f"question {name!r}: above must be a cosine from -1 to 1, got {above!r}.")
        return [Fact("near", str(value), float(above))]
    if kind == "column":
        return [Fact("column", str(value), " ".join(str(one.get("is", "")).split()))]
    if kind == "function" and callable(value):
        return [Fact("function", f"{value.__module__}:{value.__qualname__}", value)]
    if not str(value).strip():
        raise InputError(f"question {name!r} does not say which {kind}.")
    return [Fact(kind, str(value))]


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


def _said(node: ast.expr, facts: tuple[Fact, ...]) -> str:
    match node:
        case ast.Name(name):
            return str(facts[int(name[1:])])
        case ast.UnaryOp(_, part):
            return f"not {_said(part, facts)}"
        case ast.BoolOp(kind, parts):
            word = " and " if isinstance(kind, ast.And) else " or "
            return word.join(f"({_said(p, facts)})" if isinstance(p, ast.BoolOp | ast.UnaryOp) else _said(p, facts)
                             for p in parts)  # fmt: skip
    raise AssertionError
