"""Membership inference: how well an attacker finds whose documents trained a topic model. Not for release."""
