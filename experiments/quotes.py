"""Numbers in the prose of docs/papers, from the stored results: a test holds the pages to them.

    python experiments/quotes.py             what the pages should say, and numbers that nothing accounts for
    python experiments/quotes.py --write     put the numbers into the pages; then read each sentence that is shown

Each page has quotes (its words with ``{}`` for each number, and the function that computes it), the words that quote
what the paper prints, and those that hold settings: ``quotes_*.py``. Tables are written by ``tables.py``.
"""

import sys
from itertools import chain

from quote_parts import Page, Quote, prose, untied
from quotes_fdptm import FDPTM
from quotes_gibbs import GIBBS
from quotes_index import INDEX
from quotes_membership import MEMBERSHIP
from quotes_ngrams import NGRAMS
from quotes_spectral import SPECTRAL
from quotes_topicdp import TOPICDP
from tables import PAGES

QUOTED: dict[str, Page] = {
    "README.md": INDEX,
    "fdptm.md": FDPTM,
    "gibbs-and-local.md": GIBBS,
    "membership-inference.md": MEMBERSHIP,
    "ngrams.md": NGRAMS,
    "spectral.md": SPECTRAL,
    "topicdp.md": TOPICDP,
}


def wrong(markdown: str, page: Page) -> list[Quote]:
    """Quotes that are not on the page as they should stand there."""
    return [quote for quote in page.quotes if quote.text() not in prose(markdown)]


def gone(markdown: str, page: Page) -> list[str]:
    """Words said to be on the page, as the paper's or as settings, that are not."""
    return [words for words in (*page.printed, *page.settings) if words not in prose(markdown)]


def written(markdown: str, quote: Quote) -> str:
    """The page with the numbers of this quote; it must have the words, once."""
    places = list(quote.pattern().finditer(markdown))
    if len(places) != 1:
        raise SystemExit(f"{len(places)} places have the words: {quote.words}")
    pieces, last = [], 0
    for group, number in enumerate(quote.numbers(), start=1):
        begin, end = places[0].span(group)
        pieces += [markdown[last:begin], number]
        last = end
    return "".join([*pieces, markdown[last:]])


def main() -> None:
    for name, page in QUOTED.items():
        path = PAGES / name
        for quote in wrong(path.read_text("utf-8"), page):
            print(f"{name} should say: {quote.text()}")
            if "--write" in sys.argv:
                path.write_text(written(path.read_text("utf-8"), quote), "utf-8")
        text = path.read_text("utf-8")
        for words in chain(gone(text, page), untied(prose(text), page)):
            print(f"{name}: nothing accounts for: {words}")


if __name__ == "__main__":
    main()
