"""The parts of a guarantee: events, their price, and noise."""
