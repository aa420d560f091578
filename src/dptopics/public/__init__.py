"""What is known beforehand: word lists, n-grams, embeddings, how texts become words. Costs no privacy."""
