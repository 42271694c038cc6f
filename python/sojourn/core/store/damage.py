"""What is wrong with a file of a results folder, in words."""

import json


def why(error: Exception) -> str:
    """Return what an exception says of the file that was read.

    >>> why(KeyError("version"))
    "it has no 'version'"
    >>> why(FileNotFoundError(2, "No such file or directory", "x"))
    'No such file or directory'
    """
    match error:
        case json.JSONDecodeError():
            return f"it is no JSON: {error}"
        case KeyError():
            return f"it has no {error}"
        case OSError(strerror=str(said)):
            return said
        case UnicodeDecodeError():
            return "it is no text in UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return f"it is not as it was written: {error}"
