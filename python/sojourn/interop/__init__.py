"""Other programs' files: Flent's data files and its batch files, and qlog."""
