"""Results as pages: a generic page of every run, the page of parity, and templates."""
