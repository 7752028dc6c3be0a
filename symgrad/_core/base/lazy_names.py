"""Names that are imported when they are first used, declared in a stub beside the package.

Type checkers read ``__init__.pyi`` in place of ``__init__.py``. At run time its lines say where
each name is, so that a public name is declared once: ``from .home import name as name``, and
``from . import module as module`` for a module. So do Scientific Python's SPEC 1 and its
``lazy_loader``; here, imports also wait for processes that are forking.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from .fork_safety import late_module


def declared(stub: str) -> tuple[dict[str, str], list[str]]:
    """Return the names that a stub declares, each with the module that it is in, and the modules.

    Parameters
    ----------
    stub:
        The file, of which each declaration is a line.
    """
    homes: dict[str, str] = {}
    modules: list[str] = []
    with open(stub, encoding="utf-8") as lines:  # noqa: PTH123 - pathlib takes longer than all this
        for line in lines:
            match line.split():
                case ["from", ".", "import", name, "as", _]:
                    modules.append(name)
                case ["from", home, "import", name, "as", _]:
                    homes[name] = home
    return homes, modules


def attach(
    package: str, file: str, elsewhere: Callable[[str], str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package, file:
        Its ``__name__`` and ``__file__``.
    elsewhere:
        Says of a name that is not there what there is in its place.
    """
    homes, modules = declared(file.rpartition(".")[0] + ".pyi")
    module = sys.modules[package]

    def get(name: str) -> Any:
        if name in modules:
            return late_module(f".{name}", package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{elsewhere(name)}")
        # The collector would look through SymPy's objects again and again, a fifth of the time.
        paused = gc.isenabled()
        gc.disable()
        try:
            value = getattr(late_module(homes[name], package), name)
        finally:
            if paused:
                gc.enable()
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return [*homes, *modules, *(n for n in vars(module) if n.startswith("__"))]

    return get, names, list(homes)
