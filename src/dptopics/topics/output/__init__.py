"""Noise on the output of any learner (TopicDP)."""
