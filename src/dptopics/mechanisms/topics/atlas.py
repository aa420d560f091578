"""Private themes: how many people write about each subject of a public atlas. From a few hundred people on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dptopics.core.text import AUTO, TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.counts import count_tokens
from dptopics.kernels.embedded import FULL, in_steps, near_themes, projected
from dptopics.mechanisms.topics.embedded_space import Documents, Steps, k_means, of_words, one_thread, seen
from dptopics.mechanisms.topics.gaussian import even_shares
from dptopics.public.atlas import Atlas
from dptopics.public.embeddings import Embedding, unit
from dptopics.public.minilm import of_atlas
from dptopics.release.themes import Themes

Floats = NDArray[np.float64]

NEAR = 16  # themes that a text is near to
_RIDGE = 1e-3
SURE_FROM = 4.0  # standard deviations of the noise that a theme must explain to be shown
LIKELY = 2.0  # to be part of a topic
LEAST_TEXTS = 1.0  # that a theme must explain
FEWEST_THEMES = 8  # shown
MOST_THEMES = 40
_DIFFER = 3.0  # how much a variance along the mean of the themes, as a part of its square, speaks for leaving it
_SMALL = 0.15  # of the weight of the last that could be a topic by itself: smaller themes make no topics


@dataclass(frozen=True, eq=False)
class Chart:
    """An atlas in a space: where each theme lies, and how texts about it are placed."""

    documents: Documents
    centres: Floats  # themes × dimensions
    looks: Floats  # column j: the mean place of public texts about theme j
    root: Floats  # of its Gram matrix, lower triangular
    sentences: Steps  # of all themes, in their order
    said_of: NDArray[np.int64]  # the theme of each sentence

    def weights(self, noisy: Floats, sigma: float, doubt: float) -> Floats:
        """About how many texts each theme explains: w ≥ 0 that minimise ‖noisy − looks·w‖²/2 + doubt·σ·Σw.

        They are no sizes.
        """
        from scipy.optimize import nnls

        with one_thread():
            said = self.looks.T @ noisy
            target = solve_triangular(self.root, said - doubt * sigma, lower=True)
            return np.asarray(nnls(self.root.T, target, maxiter=10 * len(said))[0])

    def shown(self, noisy: Floats, sigma: float, sure_from: float = SURE_FROM) -> NDArray[np.int64]:
        """Themes that are surely there; where these are few, the next are those whose texts look most like the sum.

        A theme's neighbours speak for it: noise in them averages out, so that the first few are right where no single
        theme stands above the noise. At least eight, in this order.
        """
        weight = self.weights(noisy, sigma, sure_from)
        sure = weight > LEAST_TEXTS
        alike = self.looks.T @ noisy / np.maximum(np.linalg.norm(self.looks, axis=0), 1e-9)
        order = np.lexsort((-alike, -np.where(sure, weight, 0.0)))
        return np.asarray(order[: min(max(int(sure.sum()), FEWEST_THEMES), MOST_THEMES)])


def public_chart(
    atlas: Atlas, vocabulary: Vocabulary, embedding: Embedding, text: TextSettings | None, *space: float
) -> Chart:
    """The atlas in a space that no data had a part in: words that were chosen from them lie in it, and decide nothing.

    ``space``: dimensions, evenness.
    """
    listed = Vocabulary(tuple(sorted(vocabulary.listed)) or vocabulary.words)
    found = _listed_chart(atlas, listed, embedding, text, *space)
    if listed.words == vocabulary.words:
        return found
    words, documents = of_words(vocabulary, embedding, text), found.documents
    over = words.along(documents.space.mean, documents.space.projection, words.frequency / words.frequency.sum())
    return replace(found, documents=replace(documents, space=over))


@lru_cache(maxsize=2)  # rehearsals and audits ask for the same one again
def _listed_chart(
    atlas: Atlas,
    vocabulary: Vocabulary,
    embedding: Embedding,
    text: TextSettings | None,
    dimensions: int,
    evenness: float,
) -> Chart:
    """Documents are seen from the middle of the atlas's texts."""
    public = of_words(vocabulary, embedding, text)
    space = public.space(dimensions, public.frequency / public.frequency.sum(), 0.0, evenness)
    documents = Documents(space, embedding.of_words, np.zeros(space.projection.shape[1]))
    of = np.repeat(np.arange(len(atlas.themes)), [len(theme.texts) for theme in atlas.themes])
    block = _public_block([one for theme in atlas.themes for one in theme.texts], vocabulary, embedding, text)
    documents = replace(documents, middle=documents(block).mean(axis=0) / FULL)
    placed = documents(block)
    centres = np.zeros((len(atlas.themes), placed.shape[1]))
    np.add.at(centres, of, placed)
    centres = unit(centres)
    found, values = soft_places(placed, centres)
    looks = np.zeros((len(centres), len(centres)))
    np.add.at(looks, (found, of[:, None]), values)
    looks /= np.maximum(np.bincount(of), 1)
    with one_thread():
        root = np.asarray(np.linalg.cholesky(looks.T @ looks + _RIDGE * np.eye(len(looks))), float)
    invented = np.concatenate([np.arange(len(one.texts)) < len(one.sentences) for one in atlas.themes])
    return Chart(documents, centres, looks, root, placed[invented], of[invented])


@lru_cache(maxsize=2)
def _read(texts: tuple[str, ...], text: TextSettings) -> list[list[str]]:
    return [list(text.words(one)) for one in texts]


def _public_block(
    texts: Sequence[str], vocabulary: Vocabulary, embedding: Embedding, text: TextSettings | None
) -> Block:
    """Public texts as a block of data."""
    each = np.arange(len(texts) + 1)
    if not embedding.of_words:
        nothing = np.zeros(len(texts) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
        kept = of_atlas(texts) if embedding.name.startswith("minilm") else None
        return Block(each, *nothing, embedding(texts) if kept is None else kept)
    index, text = vocabulary.index, text or TextSettings()
    if text.language == AUTO:  # words of all languages side by side, which are cut already
        text = TextSettings(language="none", min_length=1, max_length=40)
    found = [[index[word] for word in row if word in index] for row in _read(tuple(texts), text)]
    tokens = np.array([word for row in found for word in row], np.int32)
    sizes, word, count = count_tokens(tokens, np.array([len(row) for row in found], np.int64))
    return Block(each, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), word, count)


def soft_places(documents: Steps, themes: Floats) -> tuple[NDArray[np.int32], Floats]:
    """The nearest themes of each document with their squared cosines, L2 norm one; theme 0 with zero for no place."""
    found, near = near_themes(documents, in_steps(themes), min(NEAR, len(themes)))
    square = np.maximum(near, 0.0) ** 2
    size = np.sqrt((square**2).sum(axis=1, keepdims=True))
    return np.maximum(found, 0), square / np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class Units:
    """How many there are."""

    height: ClassVar[int] = 1
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        n = block.unit_start.size - 1
        return UnitRows(np.arange(n + 1), np.zeros(n, np.int32), np.ones((n, 1)))


@dataclass(frozen=True)
class Places:
    """The mean place of a unit's documents among the themes."""

    centres: Floats
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return len(self.centres)

    def __call__(self, block: Block) -> UnitRows:
        """Non-negative, of norm at most one."""
        found, values = soft_places(seen(block), self.centres)
        shares = values * even_shares(block)[:, None]
        return UnitRows(block.unit_start * found.shape[1], found.ravel(), shares.reshape(-1, 1))


@dataclass(frozen=True)
class Belonging:
    """The share of a unit's documents in each cell of :meth:`Themes.cells`: shown themes, the rest of each domain."""

    themes: Themes
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return self.themes.n_cells

    def __call__(self, block: Block) -> UnitRows:
        """Shares that add up to one: L1 norm one, so L2 norm at most one."""
        cell = self.themes.cells(seen(block))
        return UnitRows(block.unit_start, cell, even_shares(block)[:, None])


@dataclass(frozen=True)
class Nearby:
    """The share of a unit's documents nearest to each sentence of the shown theme that they belong to."""

    themes: Themes
    sentences: Steps
    said_of: NDArray[np.int64]
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return len(self.sentences)

    def __call__(self, block: Block) -> UnitRows:
        """Shares that add up to at most one."""
        documents = seen(block)
        cell = self.themes.cells(documents)
        nearest, vote = np.zeros(len(cell), np.int32), np.zeros(len(cell))
        for i, theme in enumerate(self.themes.shown.tolist()):
            mine, own = np.flatnonzero(cell == i), np.flatnonzero(self.said_of == theme)
            if own.size:
                nearest[mine] = own[near_themes(documents[mine], self.sentences[own], 1)[0][:, 0]]
                vote[mine] = 1.0
        return UnitRows(block.unit_start, nearest, (even_shares(block) * vote)[:, None])


@dataclass(frozen=True)
class Along:
    """Documents as unit vectors along some axes."""

    documents: Documents
    axes: Floats

    def __call__(self, block: Block) -> Steps:
        """One row for each document, by itself."""
        found = self.documents(block).astype(np.float32)
        return projected(found, np.zeros(len(self.axes)), self.axes, np.zeros(self.axes.shape[1]))


def theme_axes(centres: Floats, weights: Floats, n: int) -> Floats:
    """The n axes along which weighted themes spread most: the fewer there are, the less noise is in a sum.

    What all of them have in common tells none from another: the less they differ along their mean, the more of it is
    taken off.
    """
    middle = unit((weights @ centres)[None])[0]
    along = centres @ middle
    mean = np.average(along, weights=weights)
    common = max(0.0, 1 - _DIFFER * float(np.average((along - mean) ** 2, weights=weights)) / mean**2)
    left = np.eye(len(middle)) - common * np.outer(middle, middle)
    with one_thread():
        seen = centres @ left
        axes = np.linalg.eigh((seen * weights[:, None]).T @ seen)[1][:, ::-1][:, :n]
        return np.ascontiguousarray(left @ axes)


def grouped_themes(centres: Floats, weights: Floats, n: int) -> Floats:
    """At most n centres of themes that lie together: spectral clusters by squared cosine, means by √weight.

    Chosen among ten ways on other corpora than those of docs/utility.md.
    """
    large = weights >= _SMALL * np.sort(weights)[::-1][min(n, len(weights)) - 1]
    centres, weights = centres[large], weights[large]
    if len(centres) <= n:
        return centres
    near = np.maximum(centres @ centres.T, 1e-3) ** 2  # connected
    of = spectral_groups(near, n)
    return unit(np.eye(n)[of].T @ (centres * np.sqrt(weights)[:, None]))


def spectral_groups(near: Floats, n: int) -> NDArray[np.int64]:
    """The group of each of several points, by how near each two are (Shi and Malik 2000); the best of ten k-means."""
    near = np.where(np.eye(len(near), dtype=bool), 0.0, near)
    root = np.sqrt(near.sum(axis=0))
    with one_thread():
        _, axes = np.linalg.eigh(near / root / root[:, None])
    return k_means(axes[:, ::-1][:, :n] / root[:, None], np.ones(len(near)), n).of
