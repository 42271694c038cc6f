"""Pictures of results.

:mod:`.draw` draws lines, bars and curves and knows of no experiment; :mod:`.kinds` says
what of runs each kind of figure shows; :mod:`.figures` has the kinds by name.
"""
