"""What a guarantee is made of: events and their price, noise, mechanisms, the ledger."""
