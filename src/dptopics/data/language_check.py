"""Whether texts are in the language that was said. For the owner's eyes: it decides nothing."""

import numpy as np
from numpy.typing import NDArray

from dptopics.data.corpus import Corpus
from dptopics.errors import InputError, tell_owner
from dptopics.public.embeddings import common_words
from dptopics.public.languages import another_language, identifies, without_blanks
from dptopics.public.text import AUTO, TextSettings, language_code, language_name

# Share of words that a language's common ones make up: in English corpora 0.79 to 0.96, in texts of another language at
# most 0.56 (French words are in the English list as well).
_SURELY, _OF_THE_LANGUAGE = 0.7, 0.5


def warn_if_other_language(corpus: Corpus, text: TextSettings) -> None:
    """Tell the owner if words are whole sentences, or of another language."""
    counts = np.bincount(corpus.word, corpus.count, len(corpus.words)).astype(np.int64)
    if not counts.any():
        return
    if text.cutter is None and text.language != AUTO and without_blanks(corpus.words, counts):
        tell_owner(
            "these texts are in a script without blanks between words, so that whole sentences count as words. Say "
            "their language (--language chinese, japanese or thai), or how to cut them (--tokenizer)."
        )
    elif text.language not in ("none", AUTO) and text.ngrams == 1:
        share, code = _common_share(corpus, counts, text), language_code(text.language)
        if share is not None and share >= _SURELY:
            return  # spares the time to load the models of languages
        name = another_language(corpus.words, counts, code)
        if name is not None or (not identifies(code) and share is not None and share < _OF_THE_LANGUAGE):
            like = "" if name is None else f": they look like {language_name(name)!r}"
            tell_owner(
                f"most words of these texts are no common words of the language that was said ({text.language}){like}. "
                "If they are in another one, give it (--language), or topics will be poor."
            )


def _common_share(corpus: Corpus, counts: NDArray[np.int64], text: TextSettings) -> float | None:
    """Share of words that are common ones of the language; None where there is no list of these."""
    if text.cutter is not None:
        return None  # the list is of words that are cut in another way
    try:
        common = common_words(text).index
    except InputError:  # no list for this language, or the extra is missing
        return None
    known = np.fromiter((word in common for word in corpus.words), bool, len(corpus.words))
    return float(counts[known].sum() / counts.sum())
