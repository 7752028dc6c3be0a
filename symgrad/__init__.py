"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked.

The public names are declared in ``__init__.pyi``. Everything is imported when it is first used:
``import symgrad`` takes milliseconds.
"""

from ._lazy import attach as _attach
from ._lazy import late_module as _late_module

__version__ = "0.1.0"


def _elsewhere(name: str) -> str:
    """Say where a name is that was here before PyTorch's names had a module of their own."""
    if name.startswith("_") or not hasattr(_late_module(".torch", __name__), name):
        return ""
    return f": moved to symgrad.torch: import symgrad.torch as torch; torch.{name}"


__getattr__, __dir__, __all__ = _attach(__name__, __file__, _elsewhere)
