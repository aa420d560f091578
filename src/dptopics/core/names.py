"""Authors' names: which two belong to one person, and which are placeholders. The same rules in memory and on Spark.

In doubt, two spellings are one author. Two people who share a name are each protected as one author is
against being replaced (the line *Content* of the card); one person under k names is protected k times less.
"""

from collections.abc import Iterable
from numbers import Integral
from unicodedata import normalize

import regex

from dptopics.core.errors import InputError

NAME_RULE = 2  # of :func:`clean_name`, stored in participation files. Under rule 1, capitals and 7.0 were other names

# Control and format characters, those that Unicode says to ignore where unknown, and the Braille blank.
_UNSEEN = regex.compile(r"[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+")
_WHOLE = regex.compile(r"([+-]?[0-9]+)\.0*")
_AROUND = regex.compile(r"^[\p{P}<>=|~^`+$ ]+|[\p{P}<>=|~^`+$ ]+$")

# Placeholders. Compared as clean names, without the punctuation around them ([deleted]).
PLACEHOLDERS = frozenset(
    {"", "nan", "nat", "none", "null", "nil", "na", "n/a", "n.a", "n.a.", "undefined", "missing", "blank"}
    | {"unknown", "unknown user", "unknown author", "not known", "not available", "not applicable", "no name", "noname"}
    | {"no author", "anonymous", "anonymous user", "anon", "anonym", "deleted", "deleted user", "removed", "redacted"}
)


def clean_name(name: str) -> str:
    """A name in the form that is compared, so that one person with two spellings stays one author.

    Unicode's rule for identifiers (NFKC_Casefold: one form for each letter, lower case, no invisible characters);
    blanks at the ends are removed, those inside are single, and 7.0 is 7.

    >>> clean_name(" Zoe\u0308\u200b  Lee ") == clean_name("ZO\u00cb lee"), clean_name("\uff17.0")
    (True, '7')
    """
    if name.isascii() and name.isprintable():
        name = name.lower()
        if " " in name:
            name = " ".join(name.split())
    else:
        before = None
        while name != before:  # until it is stable: a composed character may fold again
            before, name = name, " ".join(_UNSEEN.sub("", " ".join(name.split())).split())
            name = normalize("NFKC", normalize("NFKC", name).casefold())
    whole = _WHOLE.fullmatch(name) if "." in name else None
    return name if whole is None else whole[1]


def no_author(value: object, real: frozenset[str] = frozenset()) -> bool:
    """Whether it is blank or a placeholder (which would merge many people), and not one of the clean names ``real``."""
    if isinstance(value, str):
        return is_placeholder(clean_name(value), real)
    return missing(value)


def is_placeholder(name: str, real: frozenset[str]) -> bool:
    """The same of a clean name."""
    bare = name[:1].isalnum() and name[-1:].isalnum()
    return (name if bare else _AROUND.sub("", name)) in PLACEHOLDERS and name not in real


def missing(value: object) -> bool:
    """None or NaN."""
    return value is None or (isinstance(value, float) and value != value)


def real_names(names: Iterable[str]) -> frozenset[str]:
    """Names that are real although they look like placeholders (``author_is``), as clean names."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError("author_is must be a list of names, such as author_is=['Null'] (--author-is Null).")
    return frozenset(map(clean_name, names)) - {""}


def author_name(author: object, row: int, real: frozenset[str] = frozenset()) -> str:
    """An author as a string; numbers are fine, anything else is refused."""
    if no_author(author, real):
        raise InputError(f"row {row} has no author{PLACEHOLDER_TOLD}. Fill it in, or leave the row out.")
    if isinstance(author, str):
        return clean_name(author)
    if isinstance(author, Integral) and not isinstance(author, bool):
        return str(author)
    raise InputError(
        f"row {row}: an author must be a string or a whole number, got {type(author).__name__}. Convert the column."
    )


PLACEHOLDER_TOLD = " (a placeholder such as 'unknown' does not count; for a real name use --author-is, author_is=)"
