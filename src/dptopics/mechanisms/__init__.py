"""Mechanisms: the queries they are made of, and one folder for each kind of release."""
