"""Tables of counts, once and period by period."""
