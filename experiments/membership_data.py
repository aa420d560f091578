"""The three corpora of Manzonelli et al. 2024, prepared as they were: letters only, stop words, lengths, noun lemmas.

The paper says 3 to 15 letters; the cleaned tweets that its authors publish hold words of 4 to 13, and so do we: that
also gives the vocabulary of 20 Newsgroups that the paper prints. Every tweet with a word is kept; of the other two
corpora, documents of at least 3 words.

Both halves of the paper (membership.py, fdptm.py) take the tweets from here. The authors' cleaned tweets keep the names
of accounts as words. In our copy names are replaced: known accounts by a pseudonym, which is a word here, all others by
``@user``. These get words too, drawn (seeded) with the frequencies of the known ones. If the authors' own file lies in
the data folder (pheme_clean.json), it is used instead, as it is.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse

from dptopics import Corpus
from dptopics.core.counts import Counts

SHORTEST, LONGEST, FEWEST = 4, 13, 3
TOPICS = {"tweets": 5, "nips": 10, "newsgroups": 20}

# Of the list that NLTK calls English, the words of at least 4 letters.
_STOP = """
    myself ours ourselves your yours yourself yourselves himself hers herself itself they them their theirs themselves
    what which whom this that these those were been being have having does doing because until while with about against
    between into through during before after above below from down over under again further then once here there when
    where both each more most other some such only same than very will just should aren couldn didn doesn hadn hasn
    haven mightn mustn needn shan shouldn wasn weren wouldn
"""
STOP = frozenset(_STOP.split())
_MENTION, _UNKNOWN = re.compile(r"@(\w+)"), "user"
_LETTERS = str.maketrans("0123456789", "abcdefghij")
# Endings of plurals, as in WordNet's morphology of nouns.
_PLURALS = (("ches", "ch"), ("shes", "sh"), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ies", "y"), ("men", "man"))


def noun_lemmas(wordnet: Path | None) -> Callable[[str], str]:
    """WordNet's noun lemmas, which NLTK uses, if index.noun and noun.exc are given; else those of simplemma."""
    if wordnet is None:
        import simplemma

        return cache(lambda word: str(simplemma.lemmatize(word, lang="en")).lower())
    lines = (wordnet / "index.noun").read_text("utf-8").splitlines()
    nouns = {line.split(" ", 1)[0] for line in lines if not line.startswith(" ")}
    pairs = [line.split()[:2] for line in (wordnet / "noun.exc").read_text("utf-8").splitlines()]
    irregular = dict(pairs)

    @cache
    def lemma(word: str) -> str:
        forms = [word] + ([irregular[word]] if word in irregular else _singulars(word))
        return min((form for form in forms if form in nouns), key=len, default=word)

    return lemma


def _singulars(word: str) -> list[str]:
    found = [word[: -len(plural)] + single for plural, single in _PLURALS if word.endswith(plural)]
    found += [word[:-3] + "f"] if word.endswith("ves") else []
    return found + ([word[:-1]] if word.endswith("s") else [])


def prepared(text: str, lemma: Callable[[str], str]) -> list[str]:
    """Words of one document."""
    words = re.sub(r"[^a-z]", " ", re.sub(r"https?://\S+", "", text.lower())).split()
    return [w for w in (lemma(w) for w in words if w not in STOP) if SHORTEST <= len(w) <= LONGEST and w not in STOP]


def named_accounts(texts: list[str]) -> list[str]:
    """Mentions as words of letters: one for each pseudonym; for the unknown, drawn as often as the known ones occur."""
    known = [name for text in texts for name in _MENTION.findall(text) if name != _UNKNOWN]
    names, times = np.unique(known, return_counts=True)
    rng = np.random.default_rng(0)

    def word(match: re.Match[str]) -> str:
        unknown = match[1] == _UNKNOWN
        name = str(rng.choice(names, p=times / times.sum())) if unknown else match[1]
        return " " + name[1:].translate(_LETTERS) + ("user" if unknown else "name") + " "

    return [_MENTION.sub(word, text) for text in texts]


def tweets(data: Path, wordnet: Path | None) -> list[list[str]]:
    """The words of every tweet of TweetRumors that has any: for both halves of the paper."""
    cleaned = data / "pheme_clean.json"
    if cleaned.exists():
        return [text.split() for text in json.loads(cleaned.read_text("utf-8"))["text"] if text.split()]
    texts = pq.read_table(data / "tweet_rumours.parquet", columns=["text"])["text"].to_pylist()
    lemma = noun_lemmas(wordnet)
    return [words for words in (prepared(text, lemma) for text in named_accounts(texts)) if words]


def load(name: str, data: Path, wordnet: Path | None) -> Counts:
    """Counts of one corpus."""
    if name == "tweets":
        return counted(tweets(data, wordnet), fewest=1)
    lemma = noun_lemmas(wordnet)
    if name == "nips":
        table = pq.read_table(data / "nips_bow.parquet")
        rows = zip(table["words"].to_pylist(), table["counts"].to_pylist(), strict=True)
        return counted(
            [w for w, n in zip(words, numbers, strict=True) for w in prepared(w, lemma) * n] for words, numbers in rows
        )
    texts = pq.read_table(data / "newsgroups20.parquet", columns=["text"])["text"].to_pylist()
    # scikit-learn's own rules for signatures and quotations, which its loader applies on request.
    from sklearn.datasets._twenty_newsgroups import strip_newsgroup_footer, strip_newsgroup_quoting

    texts = [strip_newsgroup_quoting(strip_newsgroup_footer(text)) for text in texts]
    return counted(prepared(text, lemma) for text in texts)


def counted(documents: Iterable[list[str]], fewest: int = FEWEST) -> Counts:
    kept = [words for words in documents if len(words) >= fewest]
    names = sorted({w for words in kept for w in words})
    index = {w: i for i, w in enumerate(names)}
    rows = np.repeat(np.arange(len(kept)), [len(words) for words in kept])
    columns = np.array([index[w] for words in kept for w in words])
    matrix = sparse.coo_array((np.ones(rows.size, np.int64), (rows, columns)), shape=(len(kept), len(names))).tocsr()
    return Corpus.from_counts(matrix, names).counts()


def profile(counts: Counts) -> dict[str, float]:
    """A row of table 4."""
    return {
        "documents": counts.n_documents,
        "average_length": float(counts.count.sum() / counts.n_documents),
        "vocabulary": counts.n_words,
    }
