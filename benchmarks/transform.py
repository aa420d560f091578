"""Topic shares of new short texts, after tokenising: documents a second on all cores."""

import time

import numpy as np
from scipy import sparse

from dptopics import Corpus, Vocabulary
from dptopics.public.demo import demo_corpus
from dptopics.release.topic_model import TopicModel
from results import bar, save

TOPICS = 20


def main() -> None:
    demo = demo_corpus()
    corpus = Corpus.from_texts(demo.texts)
    vocabulary = Vocabulary.of(corpus.words)
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(len(vocabulary), 0.05), TOPICS)
    model = TopicModel(topic_word=topic_word, vocabulary=vocabulary, topic_share=np.full(TOPICS, 1 / TOPICS), alpha=0.1)
    order = np.argsort(np.argsort(corpus.words))
    shape = (corpus.n_documents, len(vocabulary))
    counts = sparse.csr_array((corpus.count, order[corpus.word], corpus.doc_start), shape=shape)
    counts = sparse.vstack([counts] * 10).tocsr()
    model.transform_counts(counts[:100])  # compile
    start = time.perf_counter()
    model.transform_counts(counts)
    rate = counts.shape[0] / (time.perf_counter() - start)
    words = counts.sum() / counts.shape[0]
    print(f"{counts.shape[0]:,} documents of {words:.0f} words, {TOPICS} topics")
    save(
        "transform",
        {"words_per_document": float(words), "topics": TOPICS}
        | {"bars": [bar("transform", rate, 50_000, unit="documents/s", at_least=True)]},
    )


if __name__ == "__main__":
    main()
