"""Attacks and measurements on the raw data, for its owner: nothing is charged, and everything is NOT FOR RELEASE."""
