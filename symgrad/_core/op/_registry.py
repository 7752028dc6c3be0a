"""The registry: all records, by name and by the functions they answer to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import sympy as sp

from ...errors import DefinitionError, UnsupportedError
from ..base.class_modules import module_of
from ..base.fork_safety import free_in_children, late_module
from ..base.scipy_names import LateFields, LateFunction, loaded, resolved, special
from ..base.state import now
from ._facets import Code, Evidence, Facet
from ._kinds import Map, Op, Routine


@dataclass(frozen=True, eq=False)
class Composite(LateFields):
    """A NumPy function that is written in terms of others: no node of its own."""

    name: str
    function: Callable[..., Any]
    functions: tuple[Callable[..., Any], ...]
    doc: str = ""
    convention: str | None = None
    differentiable: bool = True

    LATE: ClassVar = ("functions",)


class Ops(dict[str, Op]):
    """Ops by name. Those of special functions come when one is asked for that is not there."""

    def __missing__(self, name: str) -> Op:
        registry.complete()
        if name not in self:
            raise KeyError(name)
        return self[name]


@dataclass(eq=False)
class Registry:
    """All records, by name and by the functions they answer to.

    ``steps`` are those that only kernels have: programs are not written in them. ``formulas`` are
    those that only graphs have which are traced to be read, as long as these live. ``users`` are
    the ops that users define; their rules may change while symgrad stays. ``changes`` counts what
    has been entered or taken out from outside: what was compiled before may have another meaning.
    """

    ops: dict[str, Op] = field(default_factory=Ops)
    users: dict[str, Op] = field(default_factory=dict)
    steps: dict[str, Op] = field(default_factory=dict)
    formulas: WeakValueDictionary[str, Op] = field(default_factory=WeakValueDictionary)
    composites: dict[str, Composite] = field(default_factory=dict)
    changes: int = 0
    _handlers: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    #: Those of functions whose module may not be imported yet.
    _late: dict[LateFunction, Callable[..., Any]] = field(default_factory=dict)
    _lock: Any = field(default_factory=lambda: free_in_children(Lock()))

    def add(self, record: Op | Composite) -> None:
        """Enter a record; a name or a function can be taken only once."""
        if record.name in self.ops or record.name in self.composites:
            raise DefinitionError(f"op {record.name!r} is defined twice")
        handler = record if isinstance(record, Op) else record.function
        answers = isinstance(record, (Map, Composite))
        fresh = dict.fromkeys(record.given("functions") if answers else ())
        for function in fresh:
            if function in self._handlers or function in self._late:
                raise DefinitionError(f"{_name(function)} is claimed twice, by {record.name}")
        for function in fresh:
            self.enter(function, handler)
        if isinstance(record, Op):
            self.ops[record.name] = record
        else:
            self.composites[record.name] = record

    def enter(self, function: Callable[..., Any], handler: Callable[..., Any]) -> None:
        """Let ``handler`` carry out ``function``, if nothing does so far."""
        if isinstance(function, LateFunction):
            self._late.setdefault(function, handler)
        else:
            self._handlers.setdefault(function, handler)

    def remove(self, name: str) -> None:
        """Take an op or a composite out again, with the functions that it answers to."""
        self.changes += 1
        composed = self.composites.pop(name, None)
        gone = self.ops.pop(name, None) if composed is None else composed.function
        for function in [f for f, handler in self._handlers.items() if handler is gone]:
            del self._handlers[function]
        for late in [f for f, handler in self._late.items() if handler is gone]:
            del self._late[late]

    def _settle(self, load: bool = False) -> None:
        """Enter the functions of modules that are imported by now; of all modules with ``load``."""
        with self._lock:
            for late in list(self._late):
                function = late.real if load else late.loaded
                if function is None:
                    continue
                handler = self._late[late]
                if self._handlers.setdefault(function, handler) is not handler:
                    raise DefinitionError(f"{_name(function)} is claimed twice, as {late!r}")
                del self._late[late]

    @property
    def handlers(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """What carries out each function that is known: all of SciPy's are imported for it."""
        self.complete()
        if self._late:
            self._settle(load=True)
        return MappingProxyType(self._handlers)

    def find(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return what carries out ``function`` on traced or eager values; None if nothing does."""
        try:
            return self._handlers[function]
        except KeyError:
            pass
        except TypeError:  # not hashable
            return None
        found = self._known(function)
        if found is None and not self.is_complete:
            self.complete()
            found = self._known(function)
        if found is None and isinstance(function, LateFunction):  # it may have another name, too
            found = self._known(function.real)
        return found

    def _known(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return what carries out ``function``, of what is loaded by now."""
        if isinstance(function, LateFunction):
            return self._late.get(function) or self._handlers.get(function.loaded)
        if self._late:  # who has a function of SciPy's has imported its module
            self._settle()
        return self._handlers.get(function)

    def named(self, name: str) -> Op | None:
        """Return the op of a name, as a saved program has it; None if there is none."""
        if name not in self.ops:
            for home in HOMES:
                late_module(home)
            self.complete()
        return self.ops.get(name)

    def is_own(self, op: Op) -> bool:
        """Tell whether an op is symgrad's: its rules are what the source files say."""
        return self.ops.get(op.name) is op and op.name not in self.users

    @property
    def is_complete(self) -> bool:
        """Whether the special functions are loaded."""
        return loaded(SPECIAL) is not None

    def complete(self) -> None:
        """Load the special functions."""
        if not self.is_complete:
            with sp.evaluate(True):  # who asks may be writing formulas down as they are
                late_module(SPECIAL)

    def handler(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what carries out ``function`` on traced or eager values."""
        try:
            return self._handlers[function]
        except (KeyError, TypeError):
            return self.find(function) or refuse(function)


#: The packages that define ops. Reading a program may be the first thing that a process does.
HOMES = ("symgrad._core.ops", "symgrad._core.control")
#: The one that waits until an op or a function is asked for that the others do not know.
SPECIAL = "symgrad.special"

registry = Registry()


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__name__", repr(function))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.at
        return f"{_name(owner)}.{name}"
    if isinstance(function, np.ufunc):
        ours = getattr(special, name, None) is function
        module = "scipy.special" if ours else "numpy" if hasattr(np, name) else None
    if module and module.startswith("scipy."):  # as users import it
        parts = [part for part in module.split(".") if part[0] != "_"]
        homes = (".".join(parts[:k]) for k in range(2, len(parts)))
        module = next((h for h in homes if hasattr(sys.modules.get(h), name)), ".".join(parts))
        title = getattr(owner, "name", None)
        if isinstance(title, str):  # a distribution's method
            module = f"{module}.{title}"
    return f"{module}.{name}" if module else name


def needed(node: Any) -> None:
    """Note in the trace that a value was asked for its number."""
    examples = now().examples
    if examples is not None:
        examples.is_needed(node)


def refuse(function: Callable[..., Any], why: str = "", of: Any = None) -> NoReturn:
    """Raise the error for a function that symgrad does not differentiate.

    Parameters
    ----------
    function:
        The function that was called.
    why:
        The reason, and the replacement to write.
    of : any
        Its argument, whose numbers are put in place where no argument of the trace decides.

    Raises
    ------
    UnsupportedError
        Always.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.extend import refuse
    >>> refuse(np.unique, "its shape depends on values. Write instead: np.sort")
    Traceback (most recent call last):
    symgrad.errors.UnsupportedError: numpy.unique cannot be traced: its shape depends on ...
    """
    if module_of(type(function)).startswith("numba."):
        name = getattr(function, "__name__", "f")
        raise UnsupportedError(
            f"{name} is a function of Numba's, whose machine code takes numbers. Write instead: "
            f"{name}.__wrapped__, the Python function in it, with np.where for its branches"
        )
    said = f"{_name(resolved(function))} cannot be traced{': ' + why if why else ''}"
    if "Write instead" not in why:
        said += (
            ". Write it with functions of the op table (docs/ops.md), or keep it outside of the "
            "differentiated function."
        )
    needed(getattr(of, "node", None))
    raise UnsupportedError(said)


Real = sp.Reals
Positive = sp.Interval.open(0, sp.oo)
# Simplified as it stands; to find that out SymPy takes as long as importing a large module.
NonZero = sp.Union(sp.Interval.open(-sp.oo, 0), Positive, evaluate=False)


K = TypeVar("K", bound=Op)


def define(op: K, *facets: Facet) -> K:
    """Enter an op in the registry, and what stands beside its record.

    Raises
    ------
    DefinitionError
        If a facet that ops of this kind need is missing, or the name or a function is taken.
    """
    given = {type(facet): facet for facet in facets}
    code, evidence = given.get(Code), given.get(Evidence)
    if isinstance(op, (Map, Routine)) and not (isinstance(code, Code) and code.lower):
        raise DefinitionError(f"{op.name}: give Code, how it is lowered")
    if isinstance(op, Map):
        if not (isinstance(evidence, Evidence) and evidence.samples):
            raise DefinitionError(f"{op.name}: give Evidence, where it is sampled")
        given[Evidence] = evidence.over(op.arity)
    registry.add(op)
    for facet in given.values():
        facet.put(op)
    return op


def define_step(op: K, code: Code) -> K:
    """Enter an op that only kernels have: programs are not written in it."""
    registry.steps[op.name] = op
    code.put(op)
    return op


def define_formula(op: K) -> K:
    """Enter an op of a graph that is traced to be read; its name is used once."""
    registry.formulas[op.name] = op
    return op


def composite(
    *functions: Callable[..., Any],
    name: str | None = None,
    convention: str | None = None,
    differentiable: bool = True,
    textbook: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as symgrad's version of NumPy's ``functions``.

    The function has NumPy's signature (the parts of it that make sense for traced values)
    and is written in NumPy and in ops. ``textbook`` is the same as people define it, without care
    for overflow: for formulas that are read.
    """

    def enter(computed: Callable[..., Any]) -> Callable[..., Any]:
        function = computed
        if textbook is not None:

            @wraps(computed)
            def function(*args: Any, **kwargs: Any) -> Any:
                return (textbook if now().reading else computed)(*args, **kwargs)

        doc = (function.__doc__ or "").strip().split("\n")[0]
        registry.add(
            Composite(
                name or function.__name__.strip("_"),
                function,
                functions,
                doc,
                convention,
                differentiable,
            )
        )
        return function

    return enter
