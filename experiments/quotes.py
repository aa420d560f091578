"""Numbers in the prose of docs/papers, from the stored results: a test holds the pages to them.

    python experiments/quotes.py             what the pages should say, and numbers that nothing accounts for
    python experiments/quotes.py --write     put the numbers into the pages; then read each sentence that is shown

Each page has quotes (its words with ``{}`` for each number, and the function that computes it), the words that quote
what the paper prints, and those that hold settings: ``quotes_*.py``. ``claims.py`` has sentences that say which is
ahead. Tables are written by ``tables.py``.
"""

import sys
from pathlib import Path

from accusations import FILE, accusations
from claims import CLAIMS
from quote_parts import Page, Quote, prose, untied
from quotes_fdptm import FDPTM
from quotes_gibbs import GIBBS
from quotes_index import INDEX
from quotes_membership import MEMBERSHIP
from quotes_ngrams import NGRAMS, NGRAMS_REPEATED
from quotes_spectral import SPECTRAL
from quotes_topicdp import TOPICDP
from tables import PAGES


def with_grounds(name: str, page: Page) -> Page:
    """The page, and what stands in its accusations: the papers' words are printed, the rest is set."""
    mine = [one for one in accusations().values() if one.page == f"papers/{name}"]
    printed = (*page.printed, *(one.paper for one in mine))
    settings = [words for one in mine for words in (one.section, one.settings, one.authors)]
    return Page(page.quotes, printed, (*page.settings, *settings))


_PAGES = {
    "README.md": INDEX,
    "fdptm.md": FDPTM,
    "gibbs-and-local.md": GIBBS,
    "membership-inference.md": MEMBERSHIP,
    "ngrams.md": NGRAMS,
    "spectral.md": SPECTRAL,
    "topicdp.md": TOPICDP,
}
QUOTED: dict[str, Page] = {name: with_grounds(name, page) for name, page in _PAGES.items()}
# Figures of the papers' pages that other pages repeat.
REPEATED: dict[str, list[Quote]] = {f"guarantees/{name}": quotes for name, quotes in NGRAMS_REPEATED.items()}
CANNOT = (LookupError, ValueError, OSError)  # rows or files that are not there


def computed(page: Page) -> tuple[Page, list[str]]:
    """The page with the numbers of its quotes, each computed once; and what cannot be computed from what is stored."""
    found, missing = [], []
    for quote in page.quotes:
        try:
            values = tuple(quote.numbers())
        except CANNOT as error:
            missing.append(f"{quote.words} ({type(error).__name__}: {error})")
        else:
            found.append(Quote(quote.words, lambda values=values: values))
    return Page(found, page.printed, page.settings), missing


def wrong(markdown: str, page: Page) -> list[Quote]:
    """Quotes that are not on the page as they should stand there."""
    return [quote for quote in page.quotes if quote.text() not in prose(markdown)]


def gone(markdown: str, page: Page) -> list[str]:
    """Words said to be on the page, as the paper's or as settings, that are not."""
    return [words for words in (*page.printed, *page.settings) if words not in prose(markdown)]


def written(markdown: str, quote: Quote) -> str | None:
    """The page with the numbers of this quote; None unless it has the words once."""
    places = list(quote.pattern().finditer(markdown))
    if len(places) != 1:
        return None
    pieces, last = [], 0
    for group, number in enumerate(quote.numbers(), start=1):
        begin, end = places[0].span(group)
        pieces += [markdown[last:begin], number]
        last = end
    return "".join([*pieces, markdown[last:]])


def look(path: Path, page: Page, *, write: bool) -> list[str]:
    """What is to do on one page; with ``write``, numbers are put into it first."""
    every = page.quotes
    page, missing = computed(page)
    text, said = path.read_text("utf-8"), [f"cannot be computed: {words}" for words in missing]
    for quote in wrong(text, page):
        better = written(text, quote)
        said.append(f"{'words not found once' if better is None else 'should say'}: {quote.text()}")
        text = better if write and better is not None else text
        if write and (claims := written(FILE.read_text("utf-8"), quote)) is not None:
            FILE.write_text(claims, "utf-8")  # accusations.py writes its blocks again
    if write:
        path.write_text(text, "utf-8")
    said += [f"not on the page: {words}" for words in gone(text, page)]
    spoken_of = tuple(found[0] for quote in every for found in quote.pattern().finditer(prose(text)))
    others = Page([], page.printed, (*page.settings, *spoken_of))
    return said + [f"nothing accounts for: {words}" for words in untied(prose(text), others)]


def refuted() -> list[str]:
    """Claims that the stored results do not bear out, or not any more."""
    found = []
    for claim in CLAIMS:
        try:
            held = claim.holds()
        except CANNOT as error:
            found.append(f"{claim.page}: cannot be computed: {claim.words} ({type(error).__name__}: {error})")
        else:
            found += [] if held else [f"{claim.page}: does not hold: {claim.words}"]
    return found


def main() -> None:
    for name, quotes in REPEATED.items():
        for line in look(PAGES.parent / name, Page(quotes), write="--write" in sys.argv):
            if not line.startswith("nothing accounts"):
                print(f"{name}: {line}")
    for name, page in QUOTED.items():
        for line in look(PAGES / name, page, write="--write" in sys.argv):
            print(f"{name}: {line}")
    for line in refuted():
        print(line)


if __name__ == "__main__":
    main()
