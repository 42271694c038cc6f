"""Whether results bear something out: published claims, published rows, another engine, another set of results."""
