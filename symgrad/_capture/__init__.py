"""Captures: what a Python function reads and writes besides its arguments, and whether it changed.

A call looks at what its trace has read (``_watch`` in memory, ``_comparison`` by value). Functions
that find NumPy, SciPy or ``math`` by name are given symgrad's versions of these (``_versions``,
``_substitutes``).
"""
