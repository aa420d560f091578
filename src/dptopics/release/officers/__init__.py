"""For privacy officers: a release's registry entry, decision record, signature and verification."""
