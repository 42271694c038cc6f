"""A quick run: flows over one bottleneck, described by a few words, answered in sentences.

:mod:`.asked` turns the words into an experiment file; :mod:`.facts` measures it; :mod:`.answer` puts the result in
words.
"""
