"""The examiner of a claim: does a mechanism keep what it promises? Not for release."""
