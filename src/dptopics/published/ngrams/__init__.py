"""N-gram mechanisms as published."""
