"""The peers: one adapter each, with the same four methods."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness._workload import Call, Case, Workload

#: Names as given to ``--peers``: module, class.
PEERS = {
    "symgrad": ("symgrad_", "Symgrad"),
    "jax": ("jax_", "Jax"),
    "torch": ("torch_", "Eager"),
    "torch.compile": ("torch_", "Compiled"),
    "casadi": ("casadi_", "Machine"),
    "casadi C": ("casadi_", "Generated"),
    "heyoka": ("heyoka_", "Default"),
    "heyoka compact": ("heyoka_", "Compact"),
    "autograd": ("autograd_", "Autograd"),
    "pytensor": ("pytensor_", "PyTensor"),
    "sympy": ("sympy_", "Lambdify"),
    "symengine": ("symengine_", "SymEngine"),
    "numba": ("hand_", "Numba"),
    "numpy": ("hand_", "NumPy"),
    "C": ("hand_", "C"),
    "copy": ("hand_", "Copy"),
    "differences": ("differences_", "Differences"),
}


#: The variant of a case whose arrays have a column for each row of the others.
COLUMNS = "columns"


class UnfitError(Exception):
    """A peer has no way to do this case; the text says why."""


class Peer:
    """One peer.

    ``build`` and ``cost`` make calls; ``canonical`` gives their results the layout of
    ``Workload.exact``.
    """

    package: str | None = None
    program: str | None = None  # one that has to be installed
    tolerance = 0.0
    environment: dict[str, str] = {}  # noqa: RUF012 - read only

    @classmethod
    def missing(cls) -> str | None:
        """Return what has to be installed, or None."""
        if cls.package and importlib.util.find_spec(cls.package) is None:
            return f"{cls.package} is not installed"
        if cls.program and shutil.which(cls.program) is None:
            return f"{cls.program} is not installed"
        return None

    def version(self) -> str:
        """Return the version of the peer's package."""
        return importlib.metadata.version(self.package) if self.package else ""

    def start(self) -> None:
        """Import the peer, set it to one thread, have it compile something small."""

    def release(self) -> None:
        """Give back memory that is kept from call to call, before that of a call is measured."""

    def build(self, workload: Workload, case: Case, arguments: tuple[Any, ...]) -> Call:
        """Return the call that computes what the workload asks for."""
        own = workload.by_hand(self.name, case)
        if own is not None:
            return own(case, arguments)
        if self.name in workload.without:
            raise UnfitError(workload.without[self.name])
        columns = case.variant == COLUMNS
        if case.variant and not columns and not case.variant.startswith("float"):
            raise UnfitError("no such variant")
        method = getattr(self, f"{workload.kind}_columns" if columns else workload.kind, None)
        if method is None:
            raise UnfitError("not written for this peer")
        call: Call = method(workload, arguments)
        return call

    def canonical(self, workload: Workload, case: Case, results: Any) -> np.ndarray[Any, Any]:
        """Return results in the layout of the exact ones."""
        parts = [np.asarray(r) for r in leaves(results)]
        if workload.by_hand(self.name, case) or workload.kind in ("gradient", "hessian"):
            return parts[0] if len(parts) == 1 else np.concatenate([p.ravel() for p in parts])
        if workload.kind == "derivatives":
            return np.stack(parts)
        if case.variant == COLUMNS:
            return np.concatenate(parts, axis=1)
        rows = len(parts[0])
        blocks = [p.reshape(rows, p.shape[1], -1) for p in parts]
        return np.moveaxis(np.concatenate(blocks, axis=2), 0, 2)

    def cost(
        self, workload: Workload, case: Case, arguments: tuple[Any, ...]
    ) -> tuple[Call, Call] | None:
        """Return the calls of the value alone and of value and gradient, or None."""
        return None

    name = ""


def leaves(tree: Any) -> list[Any]:
    """Return what is in nested tuples and lists."""
    if not isinstance(tree, tuple | list):
        return [tree]
    return [leaf for branch in tree for leaf in leaves(branch)]


def kind(name: str) -> type[Peer]:
    """Return the class of a peer."""
    module, member = PEERS[name]
    found: type[Peer] = getattr(importlib.import_module(f"peers.{module}"), member)
    return found


def load(name: str) -> Peer:
    """Return a peer."""
    peer = kind(name)()
    peer.name = name
    return peer
