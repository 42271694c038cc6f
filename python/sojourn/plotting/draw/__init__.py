"""Pictures of results: SVG for the report, characters for the terminal."""
