"""Captures: what a Python function reads and writes besides its arguments, and whether it changed.

A trace is made with copies in which traced values stand for what was read (``_substitutes``), and
leaves the user's objects as they were (``_effects``); what the function assigns, its calls write
back (``_assignments``). Random numbers are drawn in each call (``_draws``).

A call looks at what its trace has read (``_watch`` in memory, ``_comparison`` by value). Functions
that find NumPy, SciPy or ``math`` by name are given symgrad's versions of these (``_versions``,
``_substitutes``).
"""
