"""Words of a language as the atlas places them: where no public model of words comes with the package."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dptopics.core.text import TextSettings, language_name
from dptopics.public.atlas import shipped, without_accents

Floats = NDArray[np.float32]
_DOMAIN = 0.8  # of a theme's own direction: that of its domain
_STEM, _PART = 0.8, 0.6  # how much less a word says that shares its stem, or a part, with a listed one
_LEAST_STEM = 4
# Endings that words of a language have or lack, without accents. Enough here, and the same on every machine.
_ENDINGS = {
    "german": "innen ungen ern en em er es e n s t",
    "dutch": "heden eren tjes jes en er es e s t n",
    "french": "issements ements ement aient elles euses ives ions ees ent ant aux es ee er es ez e s e x",
    "spanish": (
        "amientos imientos aciones amiento ariamos eriamos iciones iendolo iendome ieramos imiento iriamos abamos "
        "adoras adores andola andolo andome aramos aremos asteis eremos iremos acion adora arian arlas arles arlos "
        "arnos erian icion iendo ieron irian yendo aban abas adas ador ados amos ando aran aria arla arle arlo arme "
        "aron arse arte aste emos eran eria erla erlo erme erse idas idos imos iran iria irla irlo irme irse iste "
        "itas itos aba ada ado ara are era ere ian ias ida ido ira ire ita ito an ar as en er es ia io ir os a e i o "
        "s"
    ),
    "portuguese": (
        "amentos imentos adoras adores amento aramos avamos imento acoes adora agens ariam armos assem eriam essem "
        "iamos icoes inhas inhos iriam issem acao adas ador ados agem amos ando aram arei aria asse avam emos endo "
        "eram erei eria esse icao idas idos imos indo inha inho iram irei iria isse ada ado ais aos ava eis ens iam "
        "ida ido oes al am ao ar as ei em er es eu ia ir iu os ou a e i m o s"
    ),
    "italian": (
        "amenti amento andomi arebbe assero atrice azione azioni endomi eranno erebbe eremmo imenti imento iranno "
        "irebbe izione izioni arono atore atori avamo avano avate erono evamo evano irono ivamo ivano ando arla arli "
        "arlo armi arsi arti endo erai erla erlo ermi ersi iamo irlo irmi irsi ano are ata ate ati ato ava avi avo "
        "era ere ero eva evo ghe ghi ina ine ini ino ira ire iro ita ite iti ito iva ivo ono uta ute uti uto he hi ia "
        "ie ii io a e i o"
    ),
    "polish": (
        "owalismy owalysmy owaniami osciami owaniem alismy alysmy elismy elysmy eniami ilismy ilysmy ionych owalam "
        "owalem owania owanie owaniu ujecie ywalam ywalem ywania ywanie aniem anych eniem lismy onych oscia owala "
        "owali owaly owano ujemy ujesz yalam acie alam alem anej ania anie aniu anym elam enia enie eniu iach iami "
        "iego iemu ilam ilem iona ione iony kach kami onej onym osci owac owal owie ujac ylam ylem ywac ywal ach aja "
        "ala ali alo aly ami amy ana ane ani any asz cie ego ela eli ely emu emy eni esz ich iej iem ila ili ilo ily "
        "imi imy iom isz kom ona one ony osc owi uja uje ych yla yli ylo ymi ymy ysz ywa ac al ec ej ek em ia ic ie "
        "il im iu ka ke ki ko om ow yc yl ym a e i m o u y"
    ),
}
_PARTS = {"german": 5, "dutch": 5, "chinese": 2}  # signs that a part of a word has at least, where parts count


@dataclass(frozen=True)
class AtlasWords:
    """A word is the sum of the themes that list it, or its stem, or a part of it; what none lists has no place.

    A document is the weighted mean of its words, by public frequencies, so that counts are enough.

    >>> AtlasWords("german")(["tennis", "tennisturnier", "beim"]).any(axis=1)
    array([ True,  True, False])
    """

    language: str
    of_words: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", language_name(self.language))
        shipped(self.language)

    @property
    def name(self) -> str:
        return f"atlas-words:{self.language}"

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Sums of the vectors of a text's words: each row of that text alone."""
        listed = _listed(self.language)
        rows = [sum((listed.vector(word) for word in text.lower().split()), listed.nothing) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), listed.nothing.size)

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def placed(self, words: Sequence[str]) -> tuple[str, ...]:
        listed = _listed(self.language)
        return tuple(word for word in words if listed.vector(word).any())

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Listed:
    """The themes of each listed word and of each stem, by number."""

    language: str
    themes: NDArray[np.float64]  # one row each: its own direction, and its domain's
    words: dict[str, list[int]]
    stems: dict[str, list[int]]
    known: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def nothing(self) -> NDArray[np.float64]:
        return np.zeros(self.themes.shape[1])

    def vector(self, word: str) -> NDArray[np.float64]:
        """Its themes, each by one over the root of their number."""
        if word not in self.known:
            found, weight = self._themes(word)
            rows = self.themes[found].sum(axis=0) / max(1, len(found)) ** 0.5
            self.known[word] = weight * rows if found else self.nothing
        return self.known[word]

    def _themes(self, word: str) -> tuple[list[int], float]:
        if word in self.words:
            return self.words[word], 1.0
        if found := self.stems.get(_stem(word, self.language)):
            return found, _STEM
        for length in range(len(word) - 1, _PARTS.get(self.language, len(word)) - 1, -1):
            for part in (word[-length:], word[:length]):
                if found := self.words.get(part) or self.stems.get(_stem(part, self.language)):
                    return found, _PART
        return [], 0.0


@lru_cache(maxsize=4)
def _listed(language: str) -> _Listed:
    atlas, text = shipped(language), TextSettings(language=language)
    domains = atlas.domain_of
    themes = np.hstack([np.eye(len(domains)), _DOMAIN * np.eye(len(atlas.domains))[domains]])
    words: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    for number, theme in enumerate(atlas.themes):
        read = [one for entry in theme.words for one in text.words(entry)]
        for word in dict.fromkeys([*read, *(without_accents(one, language) for one in read)]):
            words.setdefault(word, []).append(number)
            of_stem = stems.setdefault(word[:2] if language == "chinese" else _stem(word, language), [])
            of_stem += [number] if number not in of_stem else []
    return _Listed(language, themes, words, stems)


def _stem(word: str, language: str) -> str:
    word, endings = without_accents(word, language), _endings(language)
    longest = range(min(len(word) - _LEAST_STEM, 8), 0, -1)
    return next((word[:-n] for n in longest if word[-n:] in endings), word)


@lru_cache
def _endings(language: str) -> frozenset[str]:
    return frozenset(_ENDINGS.get(language, "").split())
