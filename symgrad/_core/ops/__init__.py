"""The op records: importing this package fills the registry."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

# After the loop: what these modules define is registered in the order of their names.
from .indexing import getitem  # noqa: E402
from .logic import CAST, unknown  # noqa: E402
from .movement import BROADCAST, DIAG_EMBED, RESHAPE, TRANSPOSE, unbroadcast  # noqa: E402
from .regions import ASSEMBLE, SLICE  # noqa: E402
