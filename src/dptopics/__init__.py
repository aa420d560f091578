"""Publish what sensitive text is about, with a differential-privacy guarantee that you can check.

>>> from dptopics import Corpus, PrivateTopics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dptopics.checking import Check, check
    from dptopics.counting.periods import Calendar, release_period
    from dptopics.counting.tables import release_counts, release_groups
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.door import publish, release_ngrams, release_vocabulary
    from dptopics.errors import (
        BudgetExceeded,
        BundleError,
        DptopicsError,
        EngineError,
        InputError,
        LedgerError,
        NothingReleased,
        PrivacyError,
        PrivacyWarning,
        ReleaseLost,
        SpentError,
    )
    from dptopics.estimators import PrivateTopics
    from dptopics.local.client import Client
    from dptopics.local.collection import Collection
    from dptopics.local.hashing import HashedPair, ThreeWords
    from dptopics.local.randomizer import BitFlips
    from dptopics.local.topics import fit_reports
    from dptopics.plan import Plan
    from dptopics.preview import Preview
    from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit
    from dptopics.privacy.ledger import Budget, Ledger
    from dptopics.privacy.relation import Relation
    from dptopics.privacy.rng import secure_rng
    from dptopics.public.axes import Axis
    from dptopics.public.ngrams import PublicNgrams
    from dptopics.public.text import TextSettings
    from dptopics.release.counts import CountTable
    from dptopics.release.language_model import LanguageModel
    from dptopics.release.ngram_table import NgramTable
    from dptopics.release.release import Release
    from dptopics.release.topic_model import TopicModel
    from dptopics.release.vocabulary import Vocabulary

# Loaded on first use: reading a bundle should not wait for the compiler or scikit-learn.
_HOME = {
    "Axis": "public.axes",
    "BitFlips": "local.randomizer",
    "BoundedCorpus": "data.bounded",
    "Budget": "privacy.ledger",
    "BudgetExceeded": "errors",
    "BundleError": "errors",
    "Calendar": "counting.periods",
    "Check": "checking",
    "Client": "local.client",
    "Collection": "local.collection",
    "Corpus": "data.corpus",
    "CountTable": "release.counts",
    "DptopicsError": "errors",
    "EngineError": "errors",
    "Guarantee": "privacy.guarantee",
    "HashedPair": "local.hashing",
    "InputError": "errors",
    "LanguageModel": "release.language_model",
    "Ledger": "privacy.ledger",
    "LedgerError": "errors",
    "NgramTable": "release.ngram_table",
    "NothingReleased": "errors",
    "Plan": "plan",
    "Preview": "preview",
    "PrivacyError": "errors",
    "PrivacyWarning": "errors",
    "PrivateTopics": "estimators",
    "PublicNgrams": "public.ngrams",
    "Relation": "privacy.relation",
    "Release": "release.release",
    "ReleaseLost": "errors",
    "SparkTable": "data.engines.spark",
    "SpentError": "errors",
    "Strength": "privacy.guarantee",
    "TextSettings": "public.text",
    "ThreeWords": "local.hashing",
    "TopicModel": "release.topic_model",
    "Trust": "privacy.guarantee",
    "Unit": "privacy.guarantee",
    "Vocabulary": "release.vocabulary",
    "check": "checking",
    "fit_reports": "local.topics",
    "publish": "door",
    "release_counts": "counting.tables",
    "release_groups": "counting.tables",
    "release_ngrams": "door",
    "release_period": "counting.periods",
    "release_vocabulary": "door",
    "secure_rng": "privacy.rng",
}

__all__ = [
    "Axis",
    "BitFlips",
    "BoundedCorpus",
    "Budget",
    "BudgetExceeded",
    "BundleError",
    "Calendar",
    "Check",
    "Client",
    "Collection",
    "Corpus",
    "CountTable",
    "DptopicsError",
    "EngineError",
    "Guarantee",
    "HashedPair",
    "InputError",
    "LanguageModel",
    "Ledger",
    "LedgerError",
    "NgramTable",
    "NothingReleased",
    "Plan",
    "Preview",
    "PrivacyError",
    "PrivacyWarning",
    "PrivateTopics",
    "PublicNgrams",
    "Relation",
    "Release",
    "ReleaseLost",
    "SparkTable",
    "SpentError",
    "Strength",
    "TextSettings",
    "ThreeWords",
    "TopicModel",
    "Trust",
    "Unit",
    "Vocabulary",
    "check",
    "fit_reports",
    "publish",
    "release_counts",
    "release_groups",
    "release_ngrams",
    "release_period",
    "release_vocabulary",
    "secure_rng",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dptopics.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dptopics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
