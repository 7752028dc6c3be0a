"""The registry: all records, by name and by the functions they answer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

import numpy as np
import scipy.special as sc

from ..errors import DefinitionError, UnsupportedError
from ._record import Op


@dataclass(frozen=True, eq=False)
class Composite:
    """A NumPy function that is written in terms of others: no node of its own.

    ``samples`` yields ``(args, kwargs)`` examples for the tests that run over the registry.
    """

    name: str
    function: Callable[..., Any]
    functions: tuple[Callable[..., Any], ...]
    samples: Callable[[np.random.Generator], Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]
    doc: str = ""
    convention: str | None = None
    differentiable: bool = True


@dataclass(eq=False)
class Registry:
    """All records, by name and by the functions they answer to.

    ``steps`` are those that only kernels have: programs are not written in them.
    """

    ops: dict[str, Op] = field(default_factory=dict)
    steps: dict[str, Op] = field(default_factory=dict)
    composites: dict[str, Composite] = field(default_factory=dict)
    handlers: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)

    def add(self, record: Op | Composite) -> None:
        """Enter a record; a name or a function can be taken only once."""
        if record.name in self.ops or record.name in self.composites:
            raise DefinitionError(f"op {record.name!r} is defined twice")
        handler = record if isinstance(record, Op) else record.function
        fresh = dict.fromkeys(record.functions)
        for function in fresh:
            if function in self.handlers:
                raise DefinitionError(f"{_name(function)} is claimed twice, by {record.name}")
        for function in fresh:
            self.handlers[function] = handler
        if isinstance(record, Op):
            self.ops[record.name] = record
        else:
            self.composites[record.name] = record

    def named(self, name: str) -> Op | None:
        """Return the op of a name, as a saved program has it; None if there is none."""
        if name not in self.ops:
            for home in HOMES:
                import_module(home)
        return self.ops.get(name)

    def handler(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what carries out ``function`` on traced or eager values."""
        try:
            return self.handlers[function]
        except (KeyError, TypeError):
            refuse(function)


#: The packages that define ops. Reading a program may be the first thing that a process does.
HOMES = ("symgrad._ops", "symgrad._control")

registry = Registry()


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__name__", repr(function))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.at
        return f"{_name(owner)}.{name}"
    if isinstance(function, np.ufunc):
        module = "scipy.special" if getattr(sc, name, None) is function else "numpy"
    return f"{module}.{name}" if module else name


def refuse(function: Callable[..., Any], why: str = "") -> NoReturn:
    """Raise the error for a function that symgrad does not differentiate."""
    raise UnsupportedError(
        f"{_name(function)} cannot be traced{': ' + why if why else ''}. "
        "Write it with functions of the op table (docs/ops.md), or keep it outside of the "
        "differentiated function."
    )
