"""Publish what sensitive text is about, with a differential-privacy guarantee that you can check."""
