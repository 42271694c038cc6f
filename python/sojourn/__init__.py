"""A laboratory for congestion control and queue management."""
