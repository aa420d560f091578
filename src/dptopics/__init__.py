"""Publish what sensitive text is about, with a differential-privacy guarantee that you can check.

>>> from dptopics import Corpus, PrivateTopics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dptopics.core import __version__ as __version__

if TYPE_CHECKING:
    from dptopics.checking import Check as Check
    from dptopics.checking import check as check
    from dptopics.core.axes import Axis as Axis
    from dptopics.core.errors import BudgetExceeded as BudgetExceeded
    from dptopics.core.errors import BundleError as BundleError
    from dptopics.core.errors import DptopicsError as DptopicsError
    from dptopics.core.errors import EngineError as EngineError
    from dptopics.core.errors import InputError as InputError
    from dptopics.core.errors import LedgerError as LedgerError
    from dptopics.core.errors import NothingReleased as NothingReleased
    from dptopics.core.errors import PrivacyError as PrivacyError
    from dptopics.core.errors import PrivacyWarning as PrivacyWarning
    from dptopics.core.errors import ReleaseLost as ReleaseLost
    from dptopics.core.errors import SpentError as SpentError
    from dptopics.core.text import TextSettings as TextSettings
    from dptopics.core.vocabulary import Vocabulary as Vocabulary
    from dptopics.counting import Calendar as Calendar
    from dptopics.counting import ask as ask
    from dptopics.counting import release_counts as release_counts
    from dptopics.counting import release_groups as release_groups
    from dptopics.counting import release_period as release_period
    from dptopics.data.bounded import BoundedCorpus as BoundedCorpus
    from dptopics.data.corpus import Corpus as Corpus
    from dptopics.data.engines.spark import SparkTable as SparkTable
    from dptopics.data.public_inputs import PublicNgrams as PublicNgrams
    from dptopics.estimators import PrivateTopics as PrivateTopics
    from dptopics.ledger.ledger import Budget as Budget
    from dptopics.ledger.ledger import Ledger as Ledger
    from dptopics.local.client import Client as Client
    from dptopics.local.collection import Collection as Collection
    from dptopics.local.hashing import HashedPair as HashedPair
    from dptopics.local.hashing import ThreeWords as ThreeWords
    from dptopics.local.randomizer import BitFlips as BitFlips
    from dptopics.local.topics import fit_reports as fit_reports
    from dptopics.plan import Plan as Plan
    from dptopics.preview import Preview as Preview
    from dptopics.privacy.events import Relation as Relation
    from dptopics.privacy.guarantee import Guarantee as Guarantee
    from dptopics.privacy.guarantee import Strength as Strength
    from dptopics.privacy.guarantee import Trust as Trust
    from dptopics.privacy.guarantee import Unit as Unit
    from dptopics.privacy.rng import secure_rng as secure_rng
    from dptopics.publishing import publish as publish
    from dptopics.publishing import release_ngrams as release_ngrams
    from dptopics.publishing import release_vocabulary as release_vocabulary
    from dptopics.release.counts import CountTable as CountTable
    from dptopics.release.ngrams import LanguageModel as LanguageModel
    from dptopics.release.ngrams import NgramTable as NgramTable
    from dptopics.release.release import Release as Release
    from dptopics.release.topic_model import TopicModel as TopicModel

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

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dptopics.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dptopics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
