"""The special functions of ``scipy.special``: records, formulas, tables of coefficients.

Loaded when the first of them is asked for (``symgrad._core.op.registry``): programs of NumPy's
functions go without. Importing this package fills the registry.
"""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
