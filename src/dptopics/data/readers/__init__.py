"""How tables become rows of texts, authors and columns."""
