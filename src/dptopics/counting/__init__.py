"""The doors for counts of released topics: one table, and a series of periods."""
