"""Publish what sensitive text is about, with a differential-privacy guarantee that you can check.

>>> from dptopics import Corpus, PrivateTopics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dptopics.corpus import BoundedCorpus, Corpus
    from dptopics.engines.spark import SparkTable
    from dptopics.errors import (
        BudgetExceeded,
        BundleError,
        DptopicsError,
        EngineError,
        InputError,
        LedgerError,
        PrivacyError,
        PrivacyWarning,
    )
    from dptopics.estimators import PrivateTopics
    from dptopics.guarantee import Guarantee, Relation, Strength, Trust, Unit
    from dptopics.ledger import Budget, Ledger
    from dptopics.local.collection import Client, Collection
    from dptopics.local.hashing import HashedPair, ThreeWords
    from dptopics.local.randomizer import BitFlips
    from dptopics.local.topics import fit_reports
    from dptopics.ngram_table import NgramTable
    from dptopics.ngrams.language_model import LanguageModel
    from dptopics.noise import secure_rng
    from dptopics.public_ngrams import PublicNgrams
    from dptopics.release import Release, Vocabulary
    from dptopics.text import TextSettings
    from dptopics.topic_model import TopicModel

# Loaded on first use: reading a bundle should not wait for the compiler or scikit-learn.
_HOME = {
    "BitFlips": "local.randomizer",
    "BoundedCorpus": "corpus",
    "Budget": "ledger",
    "BudgetExceeded": "errors",
    "BundleError": "errors",
    "Client": "local.collection",
    "Collection": "local.collection",
    "Corpus": "corpus",
    "DptopicsError": "errors",
    "EngineError": "errors",
    "Guarantee": "guarantee",
    "HashedPair": "local.hashing",
    "InputError": "errors",
    "LanguageModel": "ngrams.language_model",
    "Ledger": "ledger",
    "LedgerError": "errors",
    "NgramTable": "ngram_table",
    "PrivacyError": "errors",
    "PrivacyWarning": "errors",
    "PrivateTopics": "estimators",
    "PublicNgrams": "public_ngrams",
    "Relation": "guarantee",
    "Release": "release",
    "SparkTable": "engines.spark",
    "Strength": "guarantee",
    "TextSettings": "text",
    "ThreeWords": "local.hashing",
    "TopicModel": "topic_model",
    "Trust": "guarantee",
    "Unit": "guarantee",
    "Vocabulary": "release",
    "fit_reports": "local.topics",
    "secure_rng": "noise",
}

__version__ = "0.1.0"
__all__ = [
    "BitFlips",
    "BoundedCorpus",
    "Budget",
    "BudgetExceeded",
    "BundleError",
    "Client",
    "Collection",
    "Corpus",
    "DptopicsError",
    "EngineError",
    "Guarantee",
    "HashedPair",
    "InputError",
    "LanguageModel",
    "Ledger",
    "LedgerError",
    "NgramTable",
    "PrivacyError",
    "PrivacyWarning",
    "PrivateTopics",
    "PublicNgrams",
    "Relation",
    "Release",
    "SparkTable",
    "Strength",
    "TextSettings",
    "ThreeWords",
    "TopicModel",
    "Trust",
    "Unit",
    "Vocabulary",
    "fit_reports",
    "secure_rng",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dptopics.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dptopics' has no attribute {name!r}")
