"""Publish what sensitive text is about, with a differential-privacy guarantee that you can check.

>>> from dptopics import Corpus, PrivateTopics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dptopics.core import __version__ as __version__

if TYPE_CHECKING:
    from dptopics.checking import Check, check
    from dptopics.core.axes import Axis
    from dptopics.core.errors import (
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
    from dptopics.core.text import TextSettings
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.counting import Calendar, ask, release_counts, release_groups, release_period
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.data.public_inputs import PublicNgrams
    from dptopics.estimators import PrivateTopics
    from dptopics.ledger.ledger import Budget, Ledger
    from dptopics.local.client import Client
    from dptopics.local.collection import Collection
    from dptopics.local.hashing import HashedPair, ThreeWords
    from dptopics.local.randomizer import BitFlips
    from dptopics.local.topics import fit_reports
    from dptopics.plan import Plan
    from dptopics.preview import Preview
    from dptopics.privacy.events import Relation
    from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit
    from dptopics.privacy.rng import secure_rng
    from dptopics.publishing import publish, release_ngrams, release_vocabulary
    from dptopics.release.counts import CountTable
    from dptopics.release.ngrams import LanguageModel, NgramTable
    from dptopics.release.release import Release
    from dptopics.release.topic_model import TopicModel

# Loaded on first use: reading a bundle should not wait for the compiler or scikit-learn.
_HOME = {
    "Axis": "core.axes",
    "BitFlips": "local.randomizer",
    "BoundedCorpus": "data.bounded",
    "Budget": "ledger.ledger",
    "BudgetExceeded": "core.errors",
    "BundleError": "core.errors",
    "Calendar": "counting",
    "Check": "checking",
    "Client": "local.client",
    "Collection": "local.collection",
    "Corpus": "data.corpus",
    "CountTable": "release.counts",
    "DptopicsError": "core.errors",
    "EngineError": "core.errors",
    "Guarantee": "privacy.guarantee",
    "HashedPair": "local.hashing",
    "InputError": "core.errors",
    "LanguageModel": "release.ngrams",
    "Ledger": "ledger.ledger",
    "LedgerError": "core.errors",
    "NgramTable": "release.ngrams",
    "NothingReleased": "core.errors",
    "Plan": "plan",
    "Preview": "preview",
    "PrivacyError": "core.errors",
    "PrivacyWarning": "core.errors",
    "PrivateTopics": "estimators",
    "PublicNgrams": "data.public_inputs",
    "Relation": "privacy.events",
    "Release": "release.release",
    "ReleaseLost": "core.errors",
    "SparkTable": "data.engines.spark",
    "SpentError": "core.errors",
    "Strength": "privacy.guarantee",
    "TextSettings": "core.text",
    "ThreeWords": "local.hashing",
    "TopicModel": "release.topic_model",
    "Trust": "privacy.guarantee",
    "Unit": "privacy.guarantee",
    "Vocabulary": "core.vocabulary",
    "ask": "counting",
    "check": "checking",
    "fit_reports": "local.topics",
    "publish": "publishing",
    "release_counts": "counting",
    "release_groups": "counting",
    "release_ngrams": "publishing",
    "release_period": "counting",
    "release_vocabulary": "publishing",
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
    "ask",
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
