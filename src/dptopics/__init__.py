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
_HOMES = {
    "checking": "Check check",
    "core.axes": "Axis",
    "core.errors": "BudgetExceeded BundleError DptopicsError EngineError InputError LedgerError "
    "NothingReleased PrivacyError PrivacyWarning ReleaseLost SpentError",
    "core.text": "TextSettings",
    "core.vocabulary": "Vocabulary",
    "counting": "Calendar ask release_counts release_groups release_period",
    "data.bounded": "BoundedCorpus",
    "data.corpus": "Corpus",
    "data.engines.spark": "SparkTable",
    "data.public_inputs": "PublicNgrams",
    "estimators": "PrivateTopics",
    "ledger.ledger": "Budget Ledger",
    "local.client": "Client",
    "local.collection": "Collection",
    "local.hashing": "HashedPair ThreeWords",
    "local.randomizer": "BitFlips",
    "local.topics": "fit_reports",
    "plan": "Plan",
    "preview": "Preview",
    "privacy.events": "Relation",
    "privacy.guarantee": "Guarantee Strength Trust Unit",
    "privacy.rng": "secure_rng",
    "publishing": "publish release_ngrams release_vocabulary",
    "release.counts": "CountTable",
    "release.ngrams": "LanguageModel NgramTable",
    "release.release": "Release",
    "release.topic_model": "TopicModel",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

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
