"""Topics by the method of moments."""
