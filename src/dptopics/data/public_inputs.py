"""Public inputs that a plan names but does not contain: lists, n-grams, corpora, themes and code, with checksums."""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.files import read_list
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary, check_stated
from dptopics.public.atlas import Atlas, has_atlas, read_atlas, shipped
from dptopics.public.embeddings import TextModel, embedding, text_model
from dptopics.public.minilm_words import SHA256
from dptopics.public.word_lists import check_entries, is_file, read_words

if TYPE_CHECKING:
    from dptopics.data.corpus import Corpus


IN_PYTHON = "given in Python"
_OURS = "dptopics.learners."  # frozen dataclasses that only check their fields when they are made
_allowed: dict[str, Any] = {}  # the user's code, by where it is defined


@dataclass(frozen=True)
class PublicInput:
    """Something public by its name and checksum; ``value``, the thing itself, is not written to files."""

    kind: str  # words, n-grams, corpus or atlas
    name: str
    sha256: str
    value: Any = field(repr=False, compare=False)

    @classmethod
    def words(cls, vocabulary: Vocabulary, name: str = IN_PYTHON) -> "PublicInput":
        """A list of public words."""
        return cls("words", name, checksum("\n".join(vocabulary.words)), vocabulary)

    @classmethod
    def ngrams(cls, counted: Any, name: str = IN_PYTHON) -> "PublicInput":
        """Public n-grams with their counts."""
        lines = (f"{word}\t{count}" for word, count in zip(counted.vocabulary.words, counted.counts, strict=True))
        return cls("n-grams", name, checksum("\n".join(lines)), counted)

    @classmethod
    def corpus(cls, corpus: Any, digest: str, name: str = IN_PYTHON) -> "PublicInput":
        """A public corpus, bounded."""
        return cls("corpus", name, digest, corpus)

    @classmethod
    def atlas(cls, atlas: Atlas, name: str = IN_PYTHON) -> "PublicInput":
        """Public themes; those of the package by their language."""
        return cls("atlas", name, atlas.sha256, atlas)

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "name": self.name, "sha256": self.sha256}


def checksum(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def serialize(value: Any) -> Any:
    """A setting as plain data: public inputs by name and checksum, code by where it is defined."""
    if value is None or (isinstance(value, bool | int | float | str) and type(value) in (bool, int, float, str)):
        return value
    if isinstance(value, PublicInput):
        return value.to_dict()
    if isinstance(value, str):  # an enumeration
        return str(value)
    if isinstance(value, tuple | list):
        return [serialize(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): serialize(part) for name, part in value.items()}
    if isinstance(value, TextModel) or hasattr(value, "of_words"):
        return _model(value)
    return _code(value)


def restored(data: Any, find: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Inverse of :func:`serialize`. ``find`` looks up public inputs by their kind, name and checksum."""
    if isinstance(data, list):
        return tuple(restored(part, find) for part in data)
    if not isinstance(data, Mapping):
        return data
    if "sha256" in data and "kind" in data:
        return find(data)
    if {"embedding", "version"} == data.keys() - {"how"}:  # settings may have an embedding among them
        return embedding(data["embedding"])
    if {"model", "name"} == data.keys() - {"how"}:
        return text_model(str(data["name"]), _loaded(data["model"]))
    if "code" in data:
        return _loaded(data)
    return {name: restored(part, find) for name, part in data.items()}


def allow(*code: Any) -> None:
    """Let plans that are read in this process run these functions and classes of yours, and no other code.

    A plan lies in every release folder: a stranger's plan must not choose what is imported and called.
    """
    for thing in code:
        serialize(thing)


def _model(model: Any) -> dict[str, Any]:
    """An embedding model by a name that finds it again, or by its code."""
    name, how = str(model.name), getattr(model, "how", "")
    kind, batches = name.partition(":")[0], {"how": how} if how else {}
    if kind == "atlas-words":
        return {"embedding": name, "version": shipped(name.partition(":")[2]).sha256}
    if kind in ("minilm-words", "sentence-transformers", "model2vec"):
        return {"embedding": name, "version": SHA256 if kind == "minilm-words" else _version(kind)} | batches
    return {"model": _code(getattr(model, "encode", model)), "name": name} | batches


def _code(thing: Any) -> dict[str, Any]:
    """Where code is defined, its version and a hash of its source; a frozen dataclass with its fields."""
    made_of = type(thing) if is_dataclass(thing) and not isinstance(thing, type) else thing
    module, name = getattr(made_of, "__module__", None), getattr(made_of, "__qualname__", None)
    if module in (None, "__main__") or name is None or "<" in name:
        return {"code": None, "note": "a function without a name of its own cannot be found again"}
    try:
        source = inspect.getsource(made_of)
    except (OSError, TypeError):
        return {"code": None, "note": "the source cannot be read"}
    found: dict[str, Any] = {
        "code": f"{module}:{name}",
        "version": _version(module.partition(".")[0]),
        "source": checksum(source),
    }
    _allowed[found["code"]] = made_of  # whoever serializes it already has it
    if made_of is not thing:
        found["settings"] = {f.name: serialize(getattr(thing, f.name)) for f in fields(thing) if f.init}
    return found


def _loaded(data: Mapping[str, Any]) -> Any:
    """The code that a description names, if it is still the same."""
    where = data["code"]
    if where is None:
        raise InputError("this plan uses a function without a name of its own, so it cannot be run again.")
    thing = _allowed.get(str(where)) or _learner(str(where))
    if thing is None:
        raise InputError(
            f"the plan names the code {where!r}, which is not run unless you allow it: import it in Python and pass it "
            "to dptopics.data.public_inputs.allow(…) before you read the plan."
        )
    if data.get("source") != _code(thing).get("source"):
        raise InputError(f"the code {where!r} has changed since the plan was made. Make a new plan.")
    if "settings" in data:
        return thing(**{key: restored(value, lambda found: found) for key, value in data["settings"].items()})
    return thing


def _learner(where: str) -> Any:
    """A learner of ours by its name; None for anything else."""
    module, _, name = where.partition(":")
    if not module.startswith(_OURS):
        return None
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return None
    plain = isinstance(found, type) and is_dataclass(found) and found.__module__ == module
    return found if plain else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def file_finder(folder: Path, known: Mapping[str, Any], n: int) -> Callable[[Mapping[str, Any]], PublicInput]:
    """Finds public inputs among the ``known`` (by checksum), or as files next to the plan: words, or n-grams of n."""

    def find(data: Mapping[str, Any]) -> PublicInput:
        kind, name, digest = str(data["kind"]), str(data["name"]), str(data["sha256"])
        if digest in known:
            return PublicInput(kind, name, digest, known[digest])
        if kind == "atlas" and has_atlas(name) and shipped(name).sha256 == digest:
            return PublicInput.atlas(shipped(name), name)
        path = next((p for p in (folder / name, Path(name)) if p.is_file()), None)
        if path is None or kind not in ("words", "n-grams", "atlas"):
            missing = "has another version here" if kind == "atlas" and has_atlas(name) else "is missing"
            raise InputError(f"the plan needs the public {kind} {name!r}, which {missing}. Put it next to the plan.")
        if kind == "words":
            found = PublicInput.words(read_words(path), name)
        elif kind == "atlas":
            found = PublicInput.atlas(read_atlas(path), name)
        else:
            found = PublicInput.ngrams(PublicNgrams.from_file(path, n=n), name)
        if found.sha256 != digest:
            raise InputError(f"the public {kind} {name!r} have changed since the plan was made. Make a new plan.")
        return found

    return find


def words_or_name(
    vocabulary: "str | Path | Vocabulary | PublicInput", text: TextSettings | None, *, names: Sequence[str]
) -> "str | PublicInput":
    """One of ``names``, or a checked list of words that were public before."""
    if isinstance(vocabulary, PublicInput):
        return vocabulary
    if isinstance(vocabulary, str) and vocabulary in names:
        return vocabulary
    if not isinstance(vocabulary, str | Path):
        check_stated(vocabulary)
        listed, name = vocabulary, IN_PYTHON
    elif not is_file(vocabulary):
        raise InputError(
            f"there is no vocabulary mechanism or word list of that name. Use {', '.join(names)} (common: public words "
            "of the language, common+weighted: those and others chosen privately), or the path of a file with one "
            "public word per line."
        )
    else:
        listed, name = read_words(vocabulary), Path(vocabulary).name
    if text is not None:
        check_entries(listed.words, text)
    return PublicInput.words(listed, name)


@dataclass(frozen=True, eq=False)
class PublicNgrams:
    """Sorted n-grams and how often each occurs in public text, which must not come from the private data.

    >>> public = PublicNgrams.from_texts(["How are you? How are they?"], n=2, size=3)
    >>> list(zip(public.vocabulary.words, public.counts.tolist()))
    [('<s> how', 2.0), ('are they', 1.0), ('how are', 2.0)]
    """

    vocabulary: Vocabulary
    counts: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.vocabulary) == 0:
            raise InputError("the public list holds no n-grams. Give a list, or public texts to make one from.")
        if self.counts.shape != (len(self.vocabulary),) or not np.all((self.counts >= 0) & (self.counts < np.inf)):
            raise InputError("public counts must be numbers of at least 0, one for each n-gram.")

    @classmethod
    def of(cls, counts: dict[str, float]) -> Self:
        """From n-grams with their counts, in any order."""
        words = Vocabulary.of(counts)
        return cls(words, np.array([counts[w] for w in words.words], np.float64))

    @classmethod
    def from_texts(cls, texts: Iterable[str], *, n: int, size: int | None = None, tokenizer: Any = None) -> Self:
        """The ``size`` most frequent n-grams of public texts."""
        from dptopics.data.corpus import Corpus

        return cls._most_frequent(Corpus.from_texts(texts, settings=TextSettings.for_ngrams(n, tokenizer)), size)

    @classmethod
    def from_table(
        cls, source: Any, *, text: str, n: int, size: int | None = None, encoding: str = "utf8", tokenizer: Any = None
    ) -> Self:
        """The ``size`` most frequent n-grams of a table of public texts."""
        from dptopics.data.corpus import Corpus

        settings = TextSettings.for_ngrams(n, tokenizer)
        corpus = Corpus.from_table(source, text=text, settings=settings, drop_missing=True, encoding=encoding)
        return cls._most_frequent(corpus, size)

    @classmethod
    def from_file(cls, path: str | Path, *, n: int) -> Self:
        """From a list: one n-gram per line, its words joined by spaces, then perhaps a tab and its count (else 1)."""
        name = Path(path).name
        counts: dict[str, float] = {}
        for number, line in enumerate(read_list(path, "n-gram list"), start=1):
            ngram, _, count = normalize("NFKC", line).lower().replace("’", "'").partition("\t")
            if not ngram.strip():
                continue
            words = ngram.split()
            if len(words) != n:
                raise InputError(
                    f"line {number} of {name!r} has {len(words)} words, but n is {n}. Correct one of them."
                )
            try:
                value = float(count) if count.strip() else 1.0
            except ValueError:
                raise InputError(f"line {number} of {name!r}: a number must follow the tab.") from None
            counts[" ".join(words)] = counts.get(" ".join(words), 0.0) + value
        if not counts:
            raise InputError(f"the n-gram list {name!r} is empty. Put one n-gram per line.")
        check_entries(list(counts), TextSettings.for_ngrams(n))
        return cls.of(counts)

    @classmethod
    def _most_frequent(cls, corpus: "Corpus", size: int | None) -> Self:
        if size is not None and size < 1:
            raise InputError(f"the list must hold at least one n-gram, got size {size}.")
        total = np.bincount(corpus.word, weights=corpus.count, minlength=len(corpus.words))
        pairs = sorted(zip(corpus.words, total.tolist(), strict=True), key=lambda p: (-p[1], p[0]))
        return cls.of(dict(pairs[:size]))

    def counts_of(self, vocabulary: Vocabulary) -> NDArray[np.float64]:
        """Public counts of a list's n-grams; 0 where unknown."""
        if vocabulary is self.vocabulary:
            return self.counts
        index = self.vocabulary.index
        rows = np.array([index.get(w, -1) for w in vocabulary.words], np.int64)
        if not (rows >= 0).any():
            raise InputError(
                "the public counts and the list of n-grams have nothing in common. Check the words per n-gram "
                "and the spelling of both."
            )
        return np.where(rows >= 0, self.counts[rows], 0.0)
