"""A quick run: flows over one bottleneck, described by a few words, answered in sentences.

:mod:`.asked` is what was asked for, as an experiment file; :mod:`.facts` what was measured of it; :mod:`.answer` what
that means in words.
"""
