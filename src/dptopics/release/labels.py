"""Names for released topics, from their released words and nothing else: post-processing, nothing is spent.

Everything here takes a :class:`~dptopics.release.release.Release`. Offline, a topic is named by those of its words
that are nearest to their centroid in the space of a public model. A language model receives the released words and the
instruction; both are stored, the words with every label.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.public.embeddings import common_words, embedding, frequencies, unit
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel, fingerprint

Name = Callable[[list[str]], str]  # the released words of a topic to its name
PROMPT = (
    "These words are typical of one topic in a collection of texts, the most typical first: {words}. Name the topic in "
    "two to four words. Answer with the name alone."
)
OFFLINE = "their own words nearest to their centroid"
_SERVERS = ("ollama", "openai")
_OLLAMA = "http://localhost:11434/v1"
_COMMON = 8000  # public words that represent the language
_NAME_WORDS = 3
_LATER = 0.3  # in cosines: the penalty of a topic's last word against its first
_WORDS = 12  # of a topic
_MOST_LETTERS = 60
_ALIKE = 0.75  # two words of one name have a smaller cosine than this
_TIMEOUT = 60.0


@dataclass(frozen=True)
class TopicLabel:
    """A name, and the released words it was made from."""

    topic: int
    label: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Labels:
    """Names of all topics, their source, and the instruction used."""

    labels: tuple[TopicLabel, ...]
    model: str
    prompt: str
    topics: str  # the fingerprint of the topics

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def label(
    release: Release[TopicModel], *, by: str | Name | None = None, model: str | None = None, allow: Sequence[str] = ()
) -> Labels:
    """Name the topics of a release.

    Args:
        release: topics; only their words are used.
        by: None for its own words nearest to their centroid, offline; a function from a list of words to a name, or its
            ``module:function``; ``ollama:MODEL``; or ``openai:URL``, any server of the OpenAI protocol.
        model: the model's name at an ``openai:`` server.
        allow: modules whose functions may be called by name. No other code is imported.
    """
    if not isinstance(release, Release):
        raise InputError(f"labels are made from a release, got {type(release).__name__}. Load one, or fit one first.")
    topics = release.value_of(TopicModel)
    words = [tuple(row) for row in topics.top_words(_WORDS)]
    if by is None:
        names, who, prompt = _nearest(topics, words), OFFLINE, ""
    else:
        name, who = naming(by, model, allow)
        names = [_tidy(name(list(row)), who) if row else "" for row in words]
        prompt = PROMPT if isinstance(by, str) and by.partition(":")[0] in _SERVERS else ""
    found = (
        TopicLabel(k, name or ", ".join(row[:3]), row) for k, (name, row) in enumerate(zip(names, words, strict=True))
    )
    return Labels(tuple(found), who, prompt, fingerprint(topics.topic_word, topics.vocabulary.words))


def naming(by: str | Name, model: str | None = None, allow: Sequence[str] = ()) -> tuple[Name, str]:
    """A function that names topics, and how it is recorded."""
    if not isinstance(by, str):
        return by, f"{by.__module__}:{getattr(by, '__qualname__', type(by).__name__)}"
    kind, _, rest = by.partition(":")
    if not rest:
        raise InputError(f"topics are named by module:function, ollama:MODEL or openai:URL, got {by!r}.")
    if kind == "ollama":
        return _chat(_OLLAMA, rest), by
    if kind == "openai":
        if model is None:
            raise InputError("openai:URL needs the name of a model: --model NAME.")
        return _chat(rest.rstrip("/"), model), f"{by} {model}"
    if kind not in ((allow,) if isinstance(allow, str) else tuple(allow)):
        raise InputError(
            f"{by!r} is code that would run with your permissions. Allow it with --allow {kind} (allow=). It "
            "receives the released words of a topic as a list, and returns its name."
        )
    try:
        found = getattr(import_module(kind), rest)
    except (ImportError, AttributeError):
        raise InputError(f"there is no function {by!r}. Check that it can be imported from here.") from None
    return found, by


def _chat(url: str, model: str) -> Name:
    """Queries a server of the OpenAI protocol (POST URL/chat/completions), with the key OPENAI_API_KEY if set."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"the address of a language model begins with http:// or https://, got {url!r}.")

    def ask(words: list[str]) -> str:
        content = {
            "model": model,
            "messages": [{"role": "user", "content": PROMPT.format(words=", ".join(words))}],
            "temperature": 0,
            "max_tokens": 30,
        }
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = Request(f"{url}/chat/completions", json.dumps(content).encode(), headers)
        try:
            with urlopen(request, timeout=_TIMEOUT) as answer:
                return str(json.loads(answer.read())["choices"][0]["message"]["content"])
        except (URLError, OSError) as error:
            reason = getattr(error, "code", None) or type(error).__name__
            raise InputError(f"the language model at {url!r} does not respond ({reason}). Is it running?") from None
        except (ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"the server at {url!r} does not follow the OpenAI protocol.") from None

    return ask


def _tidy(answer: object, who: str) -> str:
    """The first line of an answer, cut, without quotation marks and control characters."""
    if not isinstance(answer, str):
        raise InputError(f"{who} returned {type(answer).__name__} for a name. It must return a string.")
    lines = [line for line in answer.splitlines() if line.strip()]
    plain = re.sub(r"[\x00-\x1f\x7f]+", " ", lines[0] if lines else "").strip(" \t\"'`*.#")
    return plain[:_MOST_LETTERS].strip()


def _nearest(topics: TopicModel, words: list[tuple[str, ...]]) -> list[str]:
    """For each topic three of its own words: near their centroid, among the first, and unlike each other.

    Vectors are centred at the mean of common public words. Half of the largest cosine with another topic is subtracted,
    because words near several topics make poor names. Chosen among ten ways, in the space of another model, on Reddit
    posts, Wikipedia for Schools and BBC news (docs/howto/labels.md).
    """
    settings = topics.text or TextSettings()
    model = embedding("minilm-words")
    common = common_words(settings).words
    frequency = frequencies(common, settings.language)
    common = tuple(common[i] for i in np.argsort(-frequency, kind="stable")[:_COMMON])
    middle = unit(model.together(common).astype(np.float64)).mean(axis=0)
    centres = unit(np.array([_centre(row, topics, k, model, middle) for k, row in enumerate(words)]))
    return [_name(row, k, _placed(row, model, middle) @ centres.T, model, middle) for k, row in enumerate(words)]


def _name(row: tuple[str, ...], k: int, near: NDArray[np.float64], model: Any, middle: NDArray[np.float64]) -> str:
    """The name of topic k, from the cosines of its words with all topics."""
    if not row:
        return ""
    others = np.delete(near, k, axis=1).max(axis=1) if near.shape[1] > 1 else np.zeros(len(row))
    order = np.argsort(others / 2 - near[:, k] + _LATER * np.arange(len(row)) / len(row), kind="stable")
    placed = _placed(row, model, middle)
    chosen = [int(order[0])]
    for i in order[1:].tolist():
        short, long = sorted((row[chosen[0]], row[i]), key=len)
        same = long.startswith(short[: max(3, len(short) - 2)])  # forms of one word: knee and knees
        if len(chosen) < _NAME_WORDS and placed[i] @ placed[chosen[0]] < _ALIKE and not same:
            chosen.append(i)
    return " ".join(row[i] for i in chosen)


def _placed(row: tuple[str, ...], model: Any, middle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Words as unit vectors, centred at the mean of the language."""
    if not row:
        return np.zeros((0, middle.size))
    return unit(unit(model.together(row).astype(np.float64)) - middle)


def _centre(row: tuple[str, ...], topics: TopicModel, k: int, model: Any, middle: NDArray[np.float64]) -> Any:
    """The weighted mean of a topic's words."""
    if not row:
        return np.zeros(middle.size)
    weight = np.sqrt([topics.topic_word[k, topics.vocabulary.index[word]] for word in row])
    return weight @ _placed(row, model, middle)
