"""Relation: which two data sets a guarantee compares. Every draw of noise is made for one."""

from enum import StrEnum


class Relation(StrEnum):
    """Which two data sets must look alike.

    With and without a unit; with one unit exchanged for another; or with a single word of one document exchanged for
    another word, which hides neither documents nor authors: only claims of published methods are made for that. With
    and without one certain word in one document hides as little; reports of local collection state it beside the
    document's ε.
    """

    ADD_OR_REMOVE = "add-or-remove"
    REPLACE = "replace"
    REPLACE_WORD = "replace-word"
    ADD_OR_REMOVE_WORD = "add-or-remove-word"
