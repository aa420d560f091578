"""Topics with a public model's help."""
