"""What stands in a copied function for its global names, its classes and compiled functions."""

from __future__ import annotations

import builtins
from abc import ABCMeta
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from types import FunctionType, MethodType
from typing import Any, NoReturn

import numpy as np

from .._core.base.providers import provided
from .._core.base.stand_in_types import class_of
from .._core.trace import flatten
from ..errors import UnsupportedError
from ._user_code import announced


class Scope(dict[str, Any]):
    """Global names of a copied function, each as ``look(name, value)`` makes it of its value now.

    What is assigned to them is handed on as ``back(value)``.

    Python reads global names from a dictionary's subclass by ``__getitem__``, and assigns to
    them past it. Before 3.13 the body of a class reads them past it, too.
    """

    def __init__(
        self, names: dict[str, Any], look: Callable[[str, Any], Any], back: Callable[[Any], Any],
        again: Callable[[Any, Any], Any] = lambda _, value: value,
    ) -> None:  # fmt: skip
        special = {k: v for k, v in names.items() if k.startswith("__")}
        own = names.get("__builtins__", builtins)
        own = own if isinstance(own, dict) else vars(own)
        special["__builtins__"] = own | {"__build_class__": self._class}
        super().__init__(special)
        self._given, self._names, self._look, self._back = frozenset(special), names, look, back
        self._again = again

    @property
    def real(self) -> dict[str, Any]:
        """The user's own names."""
        return self._names.real if isinstance(self._names, Scope) else self._names

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._names

    def __getitem__(self, name: str) -> Any:
        if super().__contains__(name):
            return super().__getitem__(name)
        return self._look(name, self._names[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return what a name stands for; ``globals().get(name)``."""
        return self[name] if name in self else default  # noqa: SIM401  # it is this one

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return what a name stands for, which it is given if it has nothing."""
        if name not in self:
            self[name] = default
        return self[name]

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield from [name for name in self._names if not super(Scope, self).__contains__(name)]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def keys(self) -> Any:
        """Return all names."""
        return KeysView(self)

    def items(self) -> Any:
        """Return all names, each with what it stands for."""
        return ItemsView(self)

    def values(self) -> Any:
        """Return what all names stand for."""
        return ValuesView(self)

    def _own(self) -> set[str]:
        """Return the names that code has assigned to."""
        return {*super().__iter__()} - self._given

    def _class(self, body: FunctionType, *args: Any, **options: Any) -> Any:
        """Make a class, with the global names that its body reads lent to it."""
        read = body.__code__.co_names
        lent = [n for n in read if not super(Scope, self).__contains__(n) and n in self._names]
        self.update({n: self[n] for n in lent})
        try:
            return builtins.__build_class__(body, *args, **options)
        finally:
            for name in lent:
                self.pop(name, None)

    def assigned(self) -> bool:
        """Tell whether code has assigned to any of these."""
        return bool(self._own())

    def assigned_to(self) -> list[tuple[Any, Any]]:
        """Return what code has assigned to these."""
        return [(name, super(Scope, self).__getitem__(name)) for name in self._own()]

    def hand_on(self) -> None:
        """Assign to the real names what code has assigned to these."""
        for name in self._own():
            value = self._back(self.pop(name))
            before = self._look(name, self._names[name]) if name in self._names else None
            self._names[name] = value if value is before else self._again(before, value)


#: Where a twin keeps the class that it is the twin of.
ORIGINAL = "__symgrad_original__"


class Twin(ABCMeta):
    """Classes of adapted functions, to which the objects of the original classes belong, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        kind = vars(cls).get(ORIGINAL)
        return (kind is not None and isinstance(value, kind)) or super().__instancecheck__(value)

    def __subclasscheck__(cls, other: type) -> bool:
        kind = vars(cls).get(ORIGINAL)
        return (kind is not None and issubclass(other, kind)) or super().__subclasscheck__(other)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is vars(cls).get(ORIGINAL, cls)

    def __hash__(cls) -> int:  # a table by classes has the original ones
        return type.__hash__(vars(cls).get(ORIGINAL, cls))


class _Apart:
    """A base that is exchanged for others."""


def twin_of(kind: type, bases: tuple[type, ...], names: dict[str, Any]) -> Any:
    """Return a second class for the objects of a class.

    Where a base has ``__init_subclass__``, which has seen the first, it must not see this one.
    """
    quiet = announced(kind)
    made: Any = Twin(kind.__name__, (_Apart,) if quiet else bases, names | {ORIGINAL: kind})
    if quiet:
        made.__bases__ = bases
    return made


def has_array(kind: type) -> bool:
    """Tell whether NumPy's functions ask objects of a class for their array, and no more."""
    own = getattr(kind, "__array__", None)
    others = "__array_ufunc__", "__array_priority__"
    return type(own) is FunctionType and not any(hasattr(kind, name) for name in others)


def of_arrays(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Call a universal function with the arrays of such objects.

    NumPy itself takes none that is traced from ``__array__``.
    """
    given = (x.__array__() if type(x) is type(self) else x for x in inputs)
    return getattr(ufunc, method)(*given, **options)


class Followed:
    """A compiled function that is the Python function in it where it is given traced values."""

    def __init__(self, compiled: Any, python: Callable[..., Any]) -> None:
        self._compiled = compiled
        self._python = python if hasattr(compiled, "py_func") else _of_elements(compiled, python)

    def by(self, change: Callable[[Any], Any]) -> Followed:
        """Return what is another Python function where it is given traced values."""
        found = Followed.__new__(Followed)
        found._compiled, found._python = self._compiled, change(self._python)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = flatten((args, kwargs))[0]
        traced = any(class_of(x) is not type(x) for x in leaves)
        return (self._python if traced else self._compiled)(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def _of_elements(compiled: Any, python: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of arrays that ``np.vectorize`` or Numba makes of one of elements."""
    if type(compiled) is np.vectorize:
        excluded, signature = compiled.excluded, compiled.signature
        made = python, compiled.otypes, None, excluded, False, signature
        return provided("vectorize", *made)  # type: ignore[no-any-return]
    if compiled.signature is None:
        results = {t.rpartition(">")[2] for t in compiled.types}
        of = results.pop() if len(results) == 1 else None
        return provided("vectorize", python, of)  # type: ignore[no-any-return]

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            f"{python.__name__} is made by Numba's @guvectorize: it writes its result to an "
            "argument, in machine code, which takes numbers. Write instead: the same loops in a "
            "function that returns the result (@njit or plain), and sg.vmap over the other axes"
        )

    return refuse
