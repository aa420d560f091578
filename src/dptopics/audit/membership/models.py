"""Topic models of other libraries, from their files and as objects, as topics × words to attack. NOT FOR RELEASE."""

import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.membership.rates import Trainer
from dptopics.core.counts import Counts
from dptopics.core.errors import BundleError, InputError, NothingReleased
from dptopics.data.corpus import Corpus
from dptopics.kernels.gibbs import sweep_together
from dptopics.kernels.hashing import draw
from dptopics.kernels.simd import LANES, STEP
from dptopics.learners import Learner, learn
from dptopics.learners.adapters import GensimLearner, SklearnLearner, TomotopyLearner, named_learner
from dptopics.learners.lda import GibbsLda
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.release.bundle import load
from dptopics.release.topic_model import TopicModel

Target = tuple[NDArray[np.float64], list[str]]  # topics × words, and the words

_KINDS = (
    "a release folder; a folder that BERTopic saved (safetensors); an .npz file with the arrays topic_word (topics × "
    "words) and words (strings); a .bin file of tomotopy; a .skops file of scikit-learn; or, with --trust-pickle, what "
    "gensim's save or joblib wrote"
)
_PICKLED = {".joblib", ".pkl", ".pickle", ".model", ".gensim", ".lda", ".save", ""}
_TRUST = (
    "this file is a pickle: reading it runs any code in it. If you made it yourself, or trust its author as you "
    "would trust a program from them, add --trust-pickle."
)


def read_target(path: Path, *, trust_pickle: bool = False) -> Target:
    """Topics × words and the words of a saved model: of this library, BERTopic, tomotopy, scikit-learn or gensim.

    Pickles (gensim, joblib) run code when they are read: they are refused unless ``trust_pickle`` is given.
    """
    path = Path(path)
    if path.is_dir():
        return _bertopic_folder(path) if (path / "topics.json").is_file() else _release(path)
    if not path.is_file():
        raise _unreadable(path)
    if path.suffix == ".npz":
        return _npz(path)
    try:
        if path.suffix == ".bin":
            return _tomotopy(path)
        if path.suffix == ".skops":
            return of_model(_skops(path))
        if path.suffix not in _PICKLED:
            raise _unreadable(path)
        if not trust_pickle:
            raise InputError(f"{str(path)!r}: {_TRUST}")
        return of_model(_unpickled(path))
    except InputError:
        raise
    except Exception:  # errors of other libraries may quote the file
        raise _unreadable(path) from None


def of_model(model: Any, words: Any = None) -> Target:
    """A live model: of this library, gensim, tomotopy or BERTopic, a scikit-learn pipeline of a vectorizer and a model,
    or a scikit-learn model with its ``words`` (a list, or the vectorizer), also as a pair (model, words)."""
    if isinstance(model, tuple) and len(model) == 2:
        first, second = model
        model, words = (second, first) if hasattr(first, "get_feature_names_out") else (first, second)
    found = model if isinstance(model, TopicModel) else _converted(model, words)
    return found.topic_word, list(found.vocabulary.words)


def _converted(model: Any, words: Any) -> TopicModel:
    if hasattr(model, "c_tf_idf_"):
        return TopicModel.from_bertopic(model)
    if hasattr(model, "get_topic_word_dist"):
        return TopicModel.from_tomotopy(model)
    if hasattr(model, "get_topics") and hasattr(model, "id2word"):
        return TopicModel.from_gensim(model)
    if hasattr(model, "steps"):  # a scikit-learn pipeline: the last step that names words, and the model
        named = [step for _, step in model.steps[:-1] if hasattr(step, "get_feature_names_out")]
        model, words = model.steps[-1][1], named[-1] if named and words is None else words
    if not hasattr(model, "components_"):
        raise InputError(
            f"{type(model).__name__} is not a topic model that can be attacked. Give a model of gensim, tomotopy, "
            "BERTopic or scikit-learn (with its vectorizer), or an .npz file."
        )
    if words is None:
        raise InputError("a scikit-learn model does not store its words. Save it in a pipeline with its vectorizer.")
    return TopicModel.from_sklearn(model, words)


def _unreadable(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not a topic model. Give {_KINDS}.")


def _release(path: Path) -> Target:
    value = load(path).value
    if not isinstance(value, TopicModel):
        raise BundleError(f"{str(path)!r} holds a {type(value).__name__.lower()}, not topics.")
    return value.topic_word, list(value.vocabulary.words)


def _npz(path: Path) -> Target:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            return np.asarray(saved["topic_word"], np.float64), [str(word) for word in saved["words"]]
    except (OSError, KeyError, TypeError, ValueError, EOFError, BadZipFile, zlib.error):
        raise _unreadable(path) from None


def _bertopic_folder(folder: Path) -> Target:
    """c-TF-IDF where it was saved; else the words that represent each topic. Outliers (topic −1) are left out."""
    try:
        saved = json.loads((folder / "topics.json").read_text("utf-8"))
        shown = {int(number): pairs for number, pairs in saved["topic_representations"].items()}
        numbers = sorted(shown)
        if (folder / "ctfidf.safetensors").is_file():
            matrix, words = _class_tf_idf(folder)
            if len(matrix) != len(numbers):
                raise _unreadable(folder)
            return matrix[[row for row, number in enumerate(numbers) if number >= 0]], words
        topics = [dict((str(word), float(weight)) for word, weight in shown[n]) for n in numbers if n >= 0]
        words = sorted({word for topic in topics for word in topic})
        if not words:
            raise _unreadable(folder)
        return np.array([[topic.get(word, 0.0) for word in words] for topic in topics]), words
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise _unreadable(folder) from None


def _class_tf_idf(folder: Path) -> Target:
    """Sparse arrays in safetensors, the words of the columns in JSON."""
    from scipy import sparse

    try:
        from safetensors.numpy import load_file
    except ImportError:
        raise InputError("BERTopic's folders need an extra package. Run: pip install safetensors") from None
    try:
        part = load_file(folder / "ctfidf.safetensors")
    except Exception:
        raise _unreadable(folder) from None
    shape = tuple(int(n) for n in part["shape"])
    matrix = sparse.csr_array((part["data"], part["indices"], part["indptr"]), shape=shape).toarray()
    vocabulary = json.loads((folder / "ctfidf_config.json").read_text("utf-8"))["vectorizer_model"]["vocab"]
    words = sorted(vocabulary, key=lambda word: int(vocabulary[word]))
    return np.asarray(matrix, np.float64), words


_ROOM = 1 << 29  # bytes for the models that are trained at once

_TOMOTOPY = ("LDAModel", "HDPModel", "CTModel", "DMRModel", "PTModel", "SLDAModel", "LLDAModel", "PLDAModel", "DTModel")
_CHILD = """
import sys
import numpy as np
import tomotopy
model = getattr(tomotopy, sys.argv[2]).load(sys.argv[1])
alive = [k for k in range(model.k) if not hasattr(model, "is_live_topic") or model.is_live_topic(k)]
topics = np.array([model.get_topic_word_dist(k) for k in alive], np.float64)
np.savez(sys.argv[3], topic_word=topics, words=np.array(list(model.used_vocabs), np.str_))
"""


def _tomotopy(path: Path) -> Target:
    """Read in another process, because tomotopy crashes on files of another class; the usual classes are tried."""
    if find_spec("tomotopy") is None:
        raise InputError("tomotopy's files need an extra package. Run: pip install 'dptopics[tomotopy]'")
    with open(path, "rb") as file:
        if b"TPTK" not in file.read(64):  # which all its files hold
            raise _unreadable(path)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "topics.npz"
        for kind in _TOMOTOPY:
            command = [sys.executable, "-c", _CHILD, str(path), kind, str(out)]
            if run(command, capture_output=True, check=False).returncode == 0 and out.is_file():
                return _npz(out)
    raise _unreadable(path)


def _skops(path: Path) -> Any:
    """skops lists the types in a file before it creates any: only types that it trusts by default are loaded."""
    try:
        from skops import io
    except ImportError:
        raise InputError("skops files need an extra package. Run: pip install skops") from None
    if io.get_untrusted_types(file=path):
        raise InputError(
            f"{str(path)!r} contains types that skops does not trust, so it is not read. Save the model alone."
        )
    return io.load(path)


def _unpickled(path: Path) -> Any:
    """What gensim's save or joblib wrote. RUNS CODE: the caller asked for it."""
    import joblib

    model = joblib.load(path)
    kind = type(model)
    if kind.__module__.startswith("gensim.") and hasattr(kind, "load"):
        return kind.load(str(path))  # gensim keeps large arrays in separate files next to this one
    return model


def of_learner(learner: Learner, counts: Counts) -> Trainer:
    """A learner on some documents of ``counts``, with a new seed each time: an attacker does not know it."""

    def train(documents: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        return learn(seeded(learner, seed), counts.take(documents))

    room = LANES * (4 * counts.n_words * STEP + int(counts.count.sum()))
    if isinstance(learner, GibbsLda) and learner.n_topics <= STEP and room < _ROOM:
        many: Any = train
        many.at_once, many.together = LANES, partial(_together, learner, counts)
    return train


def _together(
    learner: GibbsLda, counts: Counts, member: NDArray[np.bool_], seeds: Sequence[int]
) -> Iterator[NDArray[np.float64]]:
    """What ``train`` would find for the documents of each row of ``member``: all models are sampled at once."""
    length = np.diff(counts.tokens()[0])
    topic = np.zeros((length.sum(), len(seeds)), np.uint8)
    held = np.zeros((counts.n_words, learner.n_topics, LANES), np.float32)
    streams: Any = np.empty((counts.n_documents, len(seeds)), np.uint64)
    for i, (seed, own) in enumerate(zip(seeds, member, strict=True)):
        one = replace(learner, key=seed)
        state, streams[:, i] = one.begin(counts.take(np.flatnonzero(own))), one.seeds(counts)
        topic[np.repeat(own, length), i] = state.topic
        held[:, :, i] = state.word_topic[:, : learner.n_topics]
    totals = held.sum(axis=0, dtype=np.float64)
    documents = counts.doc_start, counts.word, counts.count, np.ascontiguousarray(member.T)
    for sweep in range(learner.sweeps):
        stream: Any = draw(streams, -1 - sweep)
        sweep_together(*documents, topic, held, totals, learner.alpha, learner.beta, stream)
    for i in range(len(seeds)):
        yield learner.topics(state._replace(word_topic=held[:, :, i]))


def seeded(learner: Learner, seed: int) -> Learner:
    """The learner with another seed, whatever its name (``key``, ``random_state``, …); without one, unchanged."""
    if isinstance(learner, SklearnLearner):
        from sklearn.base import clone

        estimator = clone(learner.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=seed)
        return replace(learner, estimator=estimator)
    if isinstance(learner, GensimLearner):
        name = "random_seed" if learner.model == "LsiModel" else "random_state"
        settings = {key: value for key, value in learner.settings.items() if key != "random_seed"}
        return replace(learner, settings=settings | {name: seed})
    if isinstance(learner, TomotopyLearner):
        return replace(learner, settings=dict(learner.settings) | {"seed": seed})
    if is_dataclass(learner) and not isinstance(learner, type) and hasattr(learner, "key"):
        keyed: Any = learner
        return cast(Learner, replace(keyed, key=seed))
    return learner


def audited_learner(name: str, n_topics: int) -> Learner:
    """A learner to attack, by name: gibbs, sklearn, gensim or tomotopy at their defaults, or a ``named_learner``."""
    if name == "gibbs":
        return GibbsLda(n_topics=n_topics, alpha=1 / n_topics, beta=1 / n_topics)
    if name == "sklearn":
        from sklearn.decomposition import LatentDirichletAllocation

        return SklearnLearner(LatentDirichletAllocation(n_topics))
    if name == "gensim":
        return GensimLearner("LdaModel", n_topics)
    if name == "tomotopy":
        return TomotopyLearner("LDAModel", n_topics)
    try:
        return named_learner(name, n_topics)
    except InputError:
        known = "gibbs, variational, sklearn, gensim, tomotopy, spectral, lsi, plsa, hdp"
        raise InputError(f"there is no learner {name!r} to audit. The learners are: {known}.") from None


def of_mechanism(mechanism: Mechanism[TopicModel], corpus: Corpus, *, max_docs: int | None = None) -> Trainer:
    """A mechanism on some documents of ``corpus``; columns are those of ``corpus.counts()``.

    Words that were not released have no mass in any topic. The noise is seeded: nothing of these runs is published.
    """
    column = {word: i for i, word in enumerate(corpus.words)}

    def train(documents: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        bounded = corpus.take(documents).bounded(unit=mechanism.unit, max_docs=max_docs)
        try:
            model = mechanism(bounded, np.random.default_rng(seed)).value
        except NothingReleased:
            return np.zeros((2, len(corpus.words)))
        if not isinstance(model, TopicModel):
            raise InputError("this attack needs a mechanism that releases topics.")
        topics = np.zeros((model.n_topics, len(corpus.words)))
        for row, word in enumerate(model.vocabulary.words):
            if word in column:  # a public word list may hold words that nobody used
                topics[:, column[word]] = model.topic_word[:, row]
        return topics

    return train
