"""What names in a formula mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from ..errors import ArgumentError
from ._vocabulary import CONSTANTS, FUNCTIONS, RESERVED, SPECIAL

Symbols: TypeAlias = str | Iterable[str | sp.Symbol] | Mapping[str, sp.Expr] | None


@dataclass(frozen=True)
class Names:
    """What names mean: those declared by the caller, or any (``declared`` is None)."""

    declared: dict[str, sp.Expr] | None

    @staticmethod
    def of(symbols: Symbols) -> Names:
        """Read the ``symbols`` argument of ``parse``; raises ArgumentError."""
        if symbols is None:
            return Names(None)
        declared: dict[str, sp.Expr] = {}
        if isinstance(symbols, Mapping):
            for name, meaning in symbols.items():
                if not isinstance(name, str) or not isinstance(meaning, sp.Expr):
                    raise ArgumentError(f"symbols maps names to expressions, got {name!r}")
                declared[name] = meaning
            return Names(declared)
        if isinstance(symbols, str):
            symbols = symbols.replace(",", " ").split()
        if not isinstance(symbols, Iterable):
            raise ArgumentError(f"symbols holds names or SymPy symbols, got {symbols!r}")
        for entry in symbols:
            if isinstance(entry, sp.Symbol):
                declared[entry.name] = entry
            elif isinstance(entry, str):
                declared[entry] = sp.Symbol(entry, real=True)
            else:
                raise ArgumentError(f"symbols holds names or SymPy symbols, got {entry!r}")
        return Names(declared)

    def look_up(self, name: str) -> sp.Expr | str:
        """The expression that a name stands for, or why it is refused."""
        if self.declared is not None and name in self.declared:
            return self.declared[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS or name in SPECIAL:
            return f"{name} is a function: write {name}(x), or declare the name in symbols="
        if name in RESERVED or name.startswith("__"):
            return f"the name {name} is refused in a formula"
        if self.declared is None:
            return sp.Symbol(name, real=True)
        near = difflib.get_close_matches(name, [*self.declared, *CONSTANTS], n=3)
        known = "did you mean " + " or ".join(near) if near else "known: "
        return f"unknown name {name!r}; {known if near else known + ', '.join(self.declared)}"
