"""Membership inference: how well an attacker tells whose documents made a topic model. Not for release."""
