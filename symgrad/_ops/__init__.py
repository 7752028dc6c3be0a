"""The op records: importing this package fills the registry."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

from .indexing import getitem  # noqa: E402
from .logic import CAST  # noqa: E402
from .movement import (  # noqa: E402
    ASSEMBLE,
    BROADCAST,
    DIAG_EMBED,
    RESHAPE,
    SLICE,
    TRANSPOSE,
    unbroadcast,
)

__all__ = [
    "ASSEMBLE",
    "BROADCAST",
    "CAST",
    "DIAG_EMBED",
    "RESHAPE",
    "SLICE",
    "TRANSPOSE",
    "getitem",
    "unbroadcast",
]
