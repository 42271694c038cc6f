"""Kernels for the Linux engine: built once, kept in the user's cache, found by the engine.

A kernel is the distribution's own source with User-Mode Linux as its machine (``ARCH=um``), configured by
``fragment.config`` and built outside of its tree, which stays as it is. A finished one is a folder named by
version and configuration with the program (``linux``), its whole configuration (``config``) and what it can do
(``kernel.json``), written last: a folder without it is not finished. docs/linux-engine.md says the rest.
"""
