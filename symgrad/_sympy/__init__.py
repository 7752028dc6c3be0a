"""From SymPy: formulas as functions that are computed, compiled and differentiated.

:mod:`._builder` writes a formula as a tape (:mod:`symgrad._core.trace.formula`); what SymPy's
classes mean is in tables: functions of numbers in :mod:`._functions`, sums, integrals and
derivatives in :mod:`._bodies`, matrices and arrays in :mod:`._arrays`, and what is refused in
:mod:`._refusals`.
"""
