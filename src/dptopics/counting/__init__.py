"""Counts of topics and answers to questions, by group and time, and groups to count by: the doors, in Python."""
