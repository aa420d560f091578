"""Private counts of n-grams, with what public text tells beforehand, and language models made from them."""
