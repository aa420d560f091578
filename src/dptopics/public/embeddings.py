"""Public models that turn words and texts into vectors. They cost no privacy: they never saw the data.

Embeddings of private texts are private themselves; they stay in the corpus, or in a cache that only its owner can read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings, language_code, language_name
from dptopics.core.vocabulary import Vocabulary
from dptopics.public.minilm import MiniLM
from dptopics.public.minilm_int8 import MiniLMInt8
from dptopics.public.minilm_words import MiniLMWords
from dptopics.public.text_models import CachedModel, Embedding, Floats, TextModel, cached, check_vectors

__all__ = [
    "Embedding", "MiniLM", "MiniLMInt8", "MiniLMWords", "TextModel", "WordLlama", "available", "cached",
    "check_vectors", "common_words", "embedding",
]  # fmt: skip
_EXTRA = "Run: pip install 'dptopics[embeddings]'"
_WORDLLAMA_EXTRA = "Run: pip install 'dptopics[wordllama]'"
# Weight of a word in the mean of a document: a/(a + its public frequency) (Arora et al. 2017).
_RARE = 3e-4


@dataclass(frozen=True)
class WordLlama:
    """Static word vectors that come with the package ``wordllama`` (the extra of that name): English, 256 numbers.

    The package is under the MIT licence. Its vectors were distilled from token embeddings of Llama 2, so that Meta's
    Llama 2 community licence may apply to them, and does not to :class:`MiniLMWords`.
    """

    name: str = field(default="wordllama", init=False)
    of_words: bool = field(default=True, init=False)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Mean of the vectors of a text's tokens: each row is added up from that text's tokens alone."""
        tokens, vectors = _wordllama()
        found = np.zeros((len(texts), vectors.shape[1]), np.float32)
        for row, encoded in enumerate(tokens.encode_batch(list(texts), add_special_tokens=False)):
            if encoded.ids:
                found[row] = vectors[encoded.ids].mean(axis=0)
        return found

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def __str__(self) -> str:
        return self.name


def embedding(model: Any = None) -> Embedding:
    """A model from what a user has: None (minilm-words), a name, a callable, or an object with ``encode``.

    A model of whole texts is called with one text at a time: in a padded batch, the texts beside it change a text's
    vector. Names: ``minilm-words``, ``minilm`` and ``minilm-int8`` (English, Apache-2.0, files of the latter two by
    ``dptopics[minilm]`` or in ``minilm:FOLDER``), ``wordllama``, ``sentence-transformers:FOLDER_OR_NAME``,
    ``model2vec:FOLDER_OR_NAME``.

    >>> embedding(lambda texts: [[len(text), 1.0] for text in texts])(["knee", "eyes"]).tolist()
    [[4.0, 1.0], [4.0, 1.0]]
    """
    if model is None or model == "minilm-words":
        return MiniLMWords()
    if model == "wordllama":
        _wordllama()  # fail now if the extra is missing
        return WordLlama()
    if isinstance(model, MiniLMWords | WordLlama | MiniLM | TextModel | CachedModel):
        return model
    if isinstance(model, str):
        kind, _, name = model.partition(":")
        if kind in _MINILM:
            return _MINILM[kind](name or None)
        if kind not in _LOADERS or not name:
            raise InputError(
                f"there is no embedding {model!r}. Use minilm-words, minilm, minilm-int8, wordllama, "
                "sentence-transformers:NAME or model2vec:NAME, where NAME is a folder or the name of a model on this "
                "machine."
            )
        return TextModel(model, _LOADERS[kind](name))
    encode = getattr(model, "encode", model)
    if not callable(encode):
        raise InputError(f"an embedding must be a callable or have a method encode, got {type(model).__name__}.")
    return TextModel(getattr(model, "name", None) or f"a {type(model).__name__} given by the owner", encode)


def check_language(model: Any, text: TextSettings | None) -> None:
    """Refuse a built-in model, which knows English only, for texts that are said to be in another language."""
    model = model.model if isinstance(model, CachedModel) else model
    if text is None or not isinstance(model, MiniLMWords | WordLlama | MiniLM):
        return
    if language_name(text.language) not in ("english", "none"):
        raise InputError(
            f"the embedding {model.name} knows English only, and the texts are said to be in {text.language!r}. Use "
            "mechanism mixture (--mechanism mixture), or name a model that knows the language (embedding=, "
            "--embedding)."
        )


def frequencies(words: Sequence[str], language: str) -> NDArray[np.float64]:
    """Public frequency of each word in a language, from the package ``wordfreq`` (data: CC BY-SA 4.0)."""
    wordfreq = _wordfreq()
    code = _frequency_code(language)
    try:
        return np.array([10 ** (wordfreq.zipf_frequency(word, code) - 9) for word in words])
    except (LookupError, ImportError):  # no list, or a tokenizer of its own that is not installed
        raise InputError(
            f"there are no public frequencies of words for language {language!r}. Use --mechanism mixture."
        ) from None


def word_weights(words: Sequence[str], language: str) -> NDArray[np.float64]:
    """How much each word counts in the mean of a document: common words little, and phrases not, as their words do."""
    single = np.array([" " not in word for word in words], np.float64)
    return np.asarray(single * _RARE / (_RARE + frequencies(words, language)))


def place_words(
    vocabulary: Vocabulary, model: str, language: str, mean: NDArray[np.float64], projection: NDArray[np.float64]
) -> Floats:
    """Each word's part in the mean of a document: its vector less ``mean``, times ``projection`` and its weight."""
    vectors = unit(embedding(model).together(vocabulary.words).astype(np.float64))
    placed = (vectors - mean) @ projection * word_weights(vocabulary.words, language)[:, None]
    return np.ascontiguousarray(placed, np.float32)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length one; zeros stay zeros."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(size > 0, size, 1.0))


@lru_cache(maxsize=4)
def common_words(text: TextSettings, n: int = 30_000) -> Vocabulary:
    """The public word list of a language: its n most frequent words, read as texts are read."""
    code = _frequency_code(text.language)
    try:
        listed = _wordfreq().top_n_list(code, n)
    except LookupError:
        raise InputError(
            f"there is no public word list for language {text.language!r}. Give one of your own."
        ) from None
    return Vocabulary.of(word for entry in listed for word in text.words(entry))


def available() -> bool:
    """Whether the extra ``embeddings`` is installed."""
    from importlib.util import find_spec

    return find_spec("wordfreq") is not None


def _frequency_code(language: str) -> str:
    return "en" if language == "none" else language_code(language)


def _wordfreq() -> Any:
    try:
        import wordfreq
    except ImportError:
        raise InputError(f"public word frequencies need an extra package. {_EXTRA}") from None
    return wordfreq


@lru_cache(maxsize=1)
def _wordllama() -> tuple[Any, Floats]:
    """Tokenizer and token vectors, read from the folder of the package: its own loader would ask the network."""
    from importlib.util import find_spec

    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(f"wordllama needs extra packages. {_WORDLLAMA_EXTRA}") from None
    package = find_spec("wordllama")
    if package is None or not package.submodule_search_locations:
        raise InputError(f"wordllama needs extra packages. {_WORDLLAMA_EXTRA}")
    folder = Path(package.submodule_search_locations[0])
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    tokens = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    if not (weights.is_file() and tokens.is_file()):
        raise InputError(
            f"this version of wordllama does not carry the vectors that dptopics knows. {_WORDLLAMA_EXTRA}"
        )
    (vectors,) = load_file(weights).values()
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()  # padding would make a text's tokens depend on the longest beside it
    return tokenizer, np.asarray(vectors, np.float32)


def _sentence_transformer(name: str) -> Callable[[Sequence[str]], Any]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("this embedding needs an extra package. Run: pip install sentence-transformers") from None
    return _loaded(lambda: SentenceTransformer(name), name).encode  # type: ignore[no-any-return]


def _model2vec(name: str) -> Callable[[Sequence[str]], Any]:
    try:
        from model2vec import StaticModel
    except ImportError:
        raise InputError("this embedding needs an extra package. Run: pip install model2vec") from None
    return _loaded(lambda: StaticModel.from_pretrained(name), name).encode  # type: ignore[no-any-return]


def _loaded(load: Callable[[], Any], name: str) -> Any:
    try:
        return load()
    except Exception as error:  # each library has its own ways to say that a model is not there
        raise InputError(
            f"the model {name!r} could not be loaded ({type(error).__name__}). If it is not on this machine, download "
            "it while online, or give the folder that it lies in."
        ) from None


_MINILM: dict[str, type[MiniLM]] = {"minilm": MiniLM, "minilm-int8": MiniLMInt8}
_LOADERS = {"sentence-transformers": _sentence_transformer, "model2vec": _model2vec}
