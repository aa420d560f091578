"""Topics of a learner with noise on their matrix: what the mechanisms of that kind share."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from dptopics.data.bounded import BoundedCorpus
from dptopics.learners import Learner
from dptopics.learners.named import learner_of
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.fields import check_fields
from dptopics.privacy.guarantee import Guarantee, Unit, check_budget
from dptopics.privacy.mechanism import Job, Registered
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.output.matrix import SETTINGS, USUAL_GAMMA, OutputMatrix, invented_corpus
from dptopics.topics.output.rows import Post, Topics


@dataclass(frozen=True, kw_only=True)
class TopicsOverMatrix(Registered):
    """A noisy matrix of topics, over ``vocabulary`` if that is given. Page: docs/guarantees/output.md"""

    output: OutputMatrix
    n_topics: int
    top: int | None = None
    post: Post = Post.SIMPLEX
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.TOPICS
    needs_preparation: ClassVar[bool] = True
    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "post", Post(self.post))

    @classmethod
    def calibrated(
        cls,
        *,
        n_topics: int,
        epsilon: float,
        delta: float,
        learner: str | Learner = "variational",
        steps: int = 15,
        gamma: float = USUAL_GAMMA,
        top: int | None = None,
        post: Post | str = Post.SIMPLEX,
        vocabulary: Vocabulary | None = None,
        **settings: Any,
    ) -> Self:
        """The noise for (ε, δ); ``learner`` may be a name, ``settings`` are those of :class:`OutputMatrix`."""
        check_budget(epsilon, delta)
        function = Topics(learner_of(learner, n_topics, steps), n_topics, top)
        output = OutputMatrix.calibrated(function=function, epsilon=epsilon, delta=delta, gamma=gamma, **settings)
        return cls(output=output, n_topics=n_topics, top=top, post=Post(post), vocabulary=vocabulary)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Settings of a plan."""
        return SETTINGS | {"top", "post"}

    @classmethod
    def example(cls) -> Self:
        """With public neighbours, which make it more than a claim."""
        return cls.calibrated(n_topics=2, epsilon=1.0, delta=1e-6, public=invented_corpus())

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """Nothing: the learner is tried by ``check``, and sampling runs it often before anything is charged."""
        return []

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """The public corpus must be bounded alike, and the pairs must not be too many to wait for."""
        self.output.check_documents(corpus)
        self.output.check_pairs()

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        return self.output.unit

    @property
    def delta(self) -> float:
        """The δ at which ε is stated."""
        return self.output.delta

    @property
    def guarantee(self) -> Guarantee:
        """That of the noisy matrix."""
        return replace(self.output.guarantee, limits=(SMALL_GROUPS,))

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, output=self.output.rescaled(factor))

    def _restricted(self, corpus: BoundedCorpus) -> BoundedCorpus:
        return corpus if self.vocabulary is None else corpus.limited(vocabulary=self.vocabulary)
