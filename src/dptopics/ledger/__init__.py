"""What was spent: ledgers, series of periods, and releases that nobody counts."""
