"""Does a mechanism satisfy the guarantee that it claims? Not for release."""
