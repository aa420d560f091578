"""Tokenizers: a package for a language without spaces between words, or a function of the owner.

A tokenizer is public like all settings: its name and version are saved with a release. Others may have written a
release, so a function that it names is never imported: its user must name it first.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import import_module, metadata
from importlib.resources import files
from itertools import accumulate
from operator import attrgetter
from typing import Any, Self

from dptopics.core.errors import InputError, shielded, warn_user

Split = Callable[[str], Sequence[str]]
OWN_FUNCTION = (
    "The owner's tokenizer, {}, splits each text by that text alone: it remembers no other text and learned from none "
    "of this data."
)

_PROBES = (
    "The knee hurts. 膝が痛い。ปวดเข่า",
    "",
    "A knee, and a new pair of glasses (no. 2).",
    "The knee hurts again.",
)
_named: dict[str, tuple[Split, str]] = {}  # functions that the user of this process named, and their versions


@dataclass(frozen=True)
class Tokenizer:
    """The name of a tokenizer ("chinese", "japanese", "thai", or module:function), its version, and what it does."""

    name: str
    version: str
    function: Split | None = field(default=None, compare=False, repr=False)  # None: built in, or not named by the user

    @classmethod
    def of(cls, value: Any) -> Self:
        """From a name or a function, which this process may then run."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and value in PACKAGES:
            _segmenter(value)  # a missing package is reported now
            return cls(value, _built_in_version(value))
        name, function = _found(value)
        version = version_of(function)
        check_pure(f"the tokenizer {name!r}", lambda text: _words(name, function, text))
        _named[name] = function, version
        return cls(name, version, function)

    @classmethod
    def stored(cls, data: Any) -> Self:
        """From a file: a name, perhaps with a version. Its function is found only if the user named it before."""
        if not isinstance(data, str) and not (isinstance(data, Mapping) and data.keys() == {"name", "version"}):
            raise TypeError("a tokenizer must be a name, or a name and a version")
        name, version = (data, "") if isinstance(data, str) else (str(data["name"]), str(data["version"]))
        function, now = _named.get(name, (None, _built_in_version(name) if name in PACKAGES else version))
        if version and now != version:
            warn_user(f"the tokenizer {name!r} has changed since the release was made: words may differ.")
        return cls(name, version or now, function)

    def to_dict(self) -> dict[str, str]:
        return {"name": self.name, "version": self.version}

    @property
    def built_in(self) -> bool:
        """Whether it is one of ours."""
        return self.name in PACKAGES

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What nobody can check, namely that an owner's function depends on each text alone."""
        return () if self.built_in else (OWN_FUNCTION.format(self.name),)

    def __call__(self, text: str) -> list[str]:
        if self.built_in:
            return list(_segmenter(self.name)(text))
        if self.function is None:
            raise InputError(
                f"texts of this release were split by its owner's function {self.name!r}, which is not run unless you "
                "name it: --tokenizer (in Python: TextSettings(tokenizer=…), before the release is loaded)."
            )
        return _words(self.name, self.function, text)


def _words(name: str, function: Split, text: str) -> list[str]:
    rule = "It must turn one string into a list of strings."
    found = shielded(lambda: list(function(text)), f"the tokenizer {name!r} failed", rule)
    if not all(isinstance(word, str) for word in found):
        raise InputError(f"the tokenizer {name!r} did not return strings. {rule}")
    return found


def check_pure(who: str, function: Callable[[str], object]) -> None:
    """Refuse an owner's function that gives one public text two results. It may still remember others: no proof."""
    first = [function(text) for text in _PROBES]
    again = [function(text) for text in _PROBES[::-1]]
    if first != again[::-1]:
        raise InputError(f"{who} gave two results for one text. It must be a function of the text alone.")


def _found(value: Any) -> tuple[str, Split]:
    """The full name of a function, and the function."""
    if callable(value):
        module, place = getattr(value, "__module__", None), getattr(value, "__qualname__", "<>")
        if module is None or "<" in place:
            raise InputError("a tokenizer must have a name to be saved: give a module's function, not a lambda.")
        return f"{module}:{place}", value
    module, colon, place = str(value).partition(":")
    if not (colon and module and place):
        raise InputError(f"a tokenizer is one of {', '.join(PACKAGES)}, or module:function, got {value!r}.")

    advice = "Give module:function, of a module that is installed."
    function = shielded(lambda: attrgetter(place)(import_module(module)), f"there is no tokenizer {value!r}", advice)
    if not callable(function):
        raise InputError(f"{value!r} is not a function. A tokenizer turns one string into a list of strings.")
    return str(value), function


def version_of(function: Any) -> str:
    """A checksum of its module's source, or the version of its package."""
    module = inspect.getmodule(function)
    try:
        source = inspect.getsource(function if module is None or module.__name__ == "__main__" else module)
        return f"sha256 {sha256(source.encode()).hexdigest()[:16]}"
    except (OSError, TypeError):
        return _package_version(str(getattr(function, "__module__", "")).partition(".")[0])


def _built_in_version(name: str) -> str:
    packages = [PACKAGES[name], *(["unidic-lite"] if name == "japanese" else [])]
    return ", ".join(_package_version(package) for package in packages)


def _package_version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except (metadata.PackageNotFoundError, ValueError):
        return f"{package}, version unknown"


def _whole(text: str) -> str:
    """Without lone surrogates (from broken JSON), which these packages cannot read."""
    return text.encode("utf-8", "replace").decode()


@lru_cache
def chinese_signs() -> tuple[frozenset[str], dict[int, int], dict[str, str]]:
    """Traditional characters, the Simplified one of each, and the Traditional ones of each Simplified one."""
    lines = files("dptopics").joinpath("resources", "traditional_chinese.txt").read_text("utf-8").splitlines()
    found = {sign: sign for sign in lines[3]}
    for sign, simple in zip(lines[1], lines[2], strict=True):
        found[simple] = found.get(simple, "") + sign
    return frozenset(lines[1]), str.maketrans(lines[1], lines[2]), found


def simplified(text: str) -> str:
    """With Simplified characters for Traditional ones."""
    signs, table, _ = chinese_signs()
    return text if signs.isdisjoint(text) else text.translate(table)


def _cut_chinese(cut: Split, text: str) -> Sequence[str]:
    """Traditional characters are cut as Simplified ones, which the dictionary has, and stay as they are."""
    pieces = cut(simplified(text))
    ends = list(accumulate(map(len, pieces))) if text != simplified(text) else []
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)] or pieces


PACKAGES = {"chinese": "rjieba", "japanese": "fugashi", "thai": "pythainlp"}  # their dictionaries are packages too


@lru_cache
def _segmenter(language: str) -> Split:
    try:
        if language == "chinese":
            import rjieba

            return lambda text: _cut_chinese(rjieba.cut, _whole(text))
        if language == "japanese":
            from fugashi import Tagger
            from unidic_lite import DICDIR

            cut = Tagger(f'-Owakati -r "{DICDIR}/dicrc" -d "{DICDIR}"').parse  # no other dictionary, no user's file
            return lambda text: cut(_whole(text).replace("\0", " ")).split()
        os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")  # else it makes a folder in the user's home
        from pythainlp.tokenize import word_tokenize

        return lambda text: word_tokenize(text, engine="newmm", keep_whitespace=False)
    except ImportError:
        reason = (
            f"{language.title()} is written without spaces between words and needs another package to split it: "
            "pip install 'dptopics[languages]'. Or give your own tokenizer (--tokenizer module:function)."
        )
    raise InputError(reason)
