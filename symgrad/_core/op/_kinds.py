"""The records: what an op is, by kind. Each pass treats a kind in one way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Literal, overload

import numpy as np
import sympy as sp

from ...errors import DefinitionError
from ..base.scipy_names import LateFields, LateFunction, resolved
from ._params import Param, optional, up_to
from ._rules import Linear, NoRule, Partials, Products, Rule

Kind = Literal[
    "map", "view", "reduce", "scan", "contract", "assemble", "gather", "scatter",
    "routine", "loop", "branch", "result", "tape", "leaf",
]  # fmt: skip

#: Kinds of ops that take one result out of a loop or a branch.
PROJECTIONS = ("result", "tape")


class _Faceted:
    #: What stands beside the record, by type; see :class:`symgrad._core.op._facets.Facet`.
    beside: dict[type, Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Op(LateFields, _Faceted):
    """The record of one operation, of whatever kind.

    Parameters
    ----------
    name:
        CamelCase name, unique in the registry; the class name of its nodes.
    evaluate:
        The NumPy reference: ``evaluate(*arrays, **params) -> ndarray``.
    params:
        The types of the static parameters by name; no node has others.
    types:
        ``types(*dtypes, **params) -> result dtype`` (default: first operand's). For maps that are
        no ufunc: ``types(*dtypes) -> (operand dtypes, result dtype)``.
    rule:
        How it is differentiated. None, for maps alone: by the derivative of the SymPy form.
    """

    name: str = field(kw_only=False)
    evaluate: Callable[..., Any]
    params: Mapping[str, Param] = field(default_factory=dict)
    types: Callable[..., Any] | None = None
    rule: Rule | None = None

    kind: ClassVar[Kind]
    LATE: ClassVar[tuple[str, ...]] = ("evaluate",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.__dict__["beside"] = {}
        if self.rule is None and self.kind != "map":
            raise DefinitionError(
                f"{self.name}: a {self.kind} op needs rule=: Linear, Products, or NoRule"
            )

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the op: to traced or eager operands through their hook, else with NumPy."""
        for operand in operands:
            bind = getattr(type(operand), "__symgrad_bind__", None)
            if bind is not None:
                return bind(self, operands, params)
        return self.reference(*operands, **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    @property
    def reference(self) -> Callable[..., Any]:
        """Return the function that tensors compute with."""
        return self.evaluate

    @property
    def reason(self) -> str | None:
        """Why there is no derivative; None if there is one."""
        return self.rule.reason if isinstance(self.rule, NoRule) else None

    @property
    def differentiable(self) -> bool:
        """Whether there is a derivative."""
        return not isinstance(self.rule, NoRule)

    @property
    def linear(self) -> Linear | None:
        """The rule of an op that is linear in its operands, or some of them."""
        return self.rule if isinstance(self.rule, Linear) else None

    @property
    def aside(self) -> tuple[int, ...]:
        """The operands through which no derivatives go: see :class:`Products`."""
        return self.rule.aside if isinstance(self.rule, Products) else ()

    @property
    def products(self) -> Products:
        """The rule of an op whose rule is the products with its Jacobian."""
        assert isinstance(self.rule, Products), self
        return self.rule

    def means(self, function: Callable[..., Any]) -> bool:
        """Tell whether ``function`` of NumPy is the first that a map answers to."""
        return False

    # ------------------------------------------------ what ops of some kinds say, others not

    @property
    def sympy(self) -> Callable[..., Any] | None:
        """The SymPy form of a map, a function of SymPy expressions."""
        return None

    @property
    def parts(self) -> Callable[..., Any] | None:
        """``parts(*operands, **params)``: the op on operands of which one is complex.

        It is written in real operations on ``real`` and ``imag``; a tuple ``(real, imag)`` is a
        complex result. Linear ops need none: they act on each part.
        """
        return None

    @property
    def taken(self) -> Callable[..., Any] | None:
        """``taken(y, *operands, **params)``, of ops that choose.

        It gives for each operand None, or ``(condition, truth)``: the operand reaches the result
        only where ``condition`` is ``truth``. The partials need to hold only there, and
        derivatives are cut off elsewhere by selection, so that nan and infinities of the side not
        taken never get through.
        """
        return None

    @property
    def support(self) -> Callable[..., Any] | None:
        """``support(mask, *operands, **params)``: where cotangents of operands can differ from 0.

        That of the result is 0 outside of the boolean ``mask``. Ops that only move elements need
        none.
        """
        return None

    @property
    def merge(self) -> Callable[..., Any] | None:
        """``merge([(operands, params), ...]) -> (operands, params)``: a sum of results as one op.

        The reverse pass uses it so that a thousand reads of ``x[i]`` cost one array, not a
        thousand.
        """
        return None

    @property
    def alias(self) -> bool:
        """Whether the result has the operand's elements in the same (C) order: the same memory."""
        return False

    @property
    def over(self) -> bool:
        """Whether the second operand is an array that the elements are written over or added to."""
        return False


#: Domains that leave nothing out.
_ALL = (sp.Reals, sp.Integers, sp.FiniteSet(sp.true, sp.false))


#: In the place of what a map evaluates: the first of its functions.
def _first(*_: Any, **__: Any) -> Any:
    raise AssertionError


#: The highest derivative of families of maps.
HIGHEST = 16


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Map(Op):
    """Elementwise with broadcasting.

    Parameters
    ----------
    functions:
        NumPy and SciPy functions that mean exactly this op.
    evaluate:
        By default the first of the functions.
    domain:
        One SymPy set for each operand, where the rule holds.
    orders:
        For families that are closed under differentiation: the highest ``order``, a static
        parameter of the op and of its functions.
    slopes:
        For maps that compute their first derivatives better than rules can write them: of how many
        operands. The op and its functions have a static parameter ``slope``: 0, or the number of
        the operand, from 1, by which it is differentiated.
    sympy, parts, taken:
        See :class:`Op`.
    fixed:
        Whether ``taken`` holds only for a condition that does not depend on what is differentiated
        by; else the derivative is that of the operand everywhere.
    """

    # By factories: where a late function was given, the class must not have a default.
    functions: tuple[Callable[..., Any], ...] = field(default_factory=tuple)
    evaluate: Callable[..., Any] = field(default_factory=lambda: _first)
    sympy: Callable[..., Any] | None = None
    domain: tuple[sp.Set, ...]
    parts: Callable[..., Any] | None = None
    taken: Callable[..., Any] | None = None
    orders: int = 0
    slopes: int = 0
    fixed: bool = False

    kind = "map"
    LATE: ClassVar[tuple[str, ...]] = ("evaluate", "functions")

    def __post_init__(self) -> None:
        own = self.__dict__
        if self.evaluate is _first:
            if not self.functions:
                raise DefinitionError(f"{self.name}: give evaluate= or a NumPy function")
            own["evaluate"] = self.functions[0]
        if self.rule is None and self.sympy is None:
            raise DefinitionError(
                f"{self.name}: give rule=, or a SymPy form to derive it from, or say in NoRule "
                "why it has no derivative"
            )
        if isinstance(self.rule, Linear) and self.taken is None:
            raise DefinitionError(f"{self.name}: a linear map chooses: give taken=")
        if not self.domain:
            raise DefinitionError(f"{self.name}: give domain=")
        named = {"order": self.orders, "slope": self.slopes}
        family = {name: optional(up_to(highest)) for name, highest in named.items() if highest}
        own["params"] = {**family, **self.params}
        super().__post_init__()

    @property
    def arity(self) -> int:
        """Number of operands."""
        return len(self.domain)

    @property
    def edges(self) -> tuple[bool, ...]:
        """For each operand whether the op is undefined somewhere, or has no derivative there."""
        found: tuple[bool, ...] | None = self.__dict__.get("_edges")
        if found is None:
            found = self.__dict__["_edges"] = tuple(d not in _ALL for d in self.domain)
        return found

    @property
    def partials(self) -> Callable[..., Any] | None:
        """The rule's derivatives by the operands; None if they are those of the SymPy form."""
        match self.rule:
            case Partials(of):
                return of
            case Linear():
                places = self.rule.places(self.arity)
                return lambda *_, **__: tuple(1 if k in places else None for k in range(self.arity))
        return None

    @property
    def ufunc(self) -> np.ufunc | None:
        """The NumPy ufunc whose type rules the op follows, if it has one."""
        head = self.head
        return head if isinstance(head, np.ufunc) else None

    @property
    def head(self) -> Callable[..., Any] | None:
        """The first of the functions, None if there is none; no other is imported for it."""
        given = self.given("functions")
        return resolved(given[0]) if given else None

    @property
    def is_late(self) -> bool:
        """Tell whether the first of the functions is one whose module may not be imported yet."""
        given = self.given("functions")
        return bool(given) and isinstance(given[0], LateFunction)

    def means(self, function: Callable[..., Any]) -> bool:
        """Tell whether ``function`` of NumPy is the first that a map answers to."""
        given = self.given("functions")
        return bool(given) and given[0] is function


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ArrayOp(Op):
    """An op on whole arrays.

    Parameters
    ----------
    shape:
        ``shape(*operand_shapes, **params) -> shape``.
    element:
        ``element(index, *operands, **params) -> SymPy``: the element formula;
        ``operands[k][i, j]`` stands for an element. None: only kernels have it.
    batch:
        ``batch(size, batched, *operands, **params)``: the op with a leading batch axis on
        the operands flagged in ``batched``; the result has it in front. None: only kernels have
        it.
    fits:
        ``fits(node)`` says how operands and parameters do not go together, or returns None; where
        the shape rule takes operands as they come.
    support:
        See :class:`Op`.
    """

    shape: Callable[..., Any]
    element: Callable[..., Any]
    batch: Callable[..., Any]
    fits: Callable[..., str | None] | None = None
    support: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Reader:
    """An operand in an element formula: its element at an index is what ``at(index)`` says."""

    shape: Any
    at: Callable[[tuple[Any, ...]], Any]

    def __getitem__(self, index: Any) -> Any:
        return self.at(index if isinstance(index, tuple) else (index,))


class Readers(Sequence[Reader]):
    """The operands of an element formula, each made when it is asked for.

    Of the thousands that an assembly has, the place of a part asks for none or one. ``at`` is told
    the operand's number as well.
    """

    def __init__(
        self, operands: Sequence[Any], at: Callable[[int, tuple[Any, ...]], Any],
        shape: Callable[[Any], Any] = attrgetter("shape"),
    ) -> None:  # fmt: skip
        self._operands, self._at, self._shape = operands, at, shape

    def __len__(self) -> int:
        return len(self._operands)

    @overload
    def __getitem__(self, k: int) -> Reader: ...
    @overload
    def __getitem__(self, k: slice) -> list[Reader]: ...
    def __getitem__(self, k: int | slice) -> Reader | list[Reader]:
        if isinstance(k, slice):
            return [self[j] for j in range(len(self))[k]]
        j = range(len(self._operands))[k]
        return Reader(self._shape(self._operands[j]), partial(self._at, j))

    def __iter__(self) -> Iterator[Reader]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class View(ArrayOp):
    """One operand, each result element is one operand element; linear."""

    alias: bool = False
    kind = "view"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reduce(ArrayOp):
    """Folds axes away.

    Parameters
    ----------
    combine:
        Name of the combining step ("add", "multiply", "maximum", ...).
    place:
        Whether the result is where the first extremum stands along the one axis.
    parts, taken:
        See :class:`Op`.
    """

    combine: str
    place: bool = False
    parts: Callable[..., Any] | None = None
    taken: Callable[..., Any] | None = None
    kind = "reduce"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Scan(ArrayOp):
    """Runs along one axis, each result element depends on the one before.

    Parameters
    ----------
    combine:
        Name of the combining step.
    parts:
        See :class:`Op`.
    """

    combine: str
    parts: Callable[..., Any] | None = None
    kind = "scan"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Contract(ArrayOp):
    """Sums products over named indices (pairwise einsum).

    Parameters
    ----------
    in_order:
        As ``evaluate``, whose bits depend on how arrays lie in memory: what tensors compute with,
        and programs whose rounding is promised.
    """

    in_order: Callable[..., Any]
    kind = "contract"

    @property
    def reference(self) -> Callable[..., Any]:
        """Return the function that tensors compute with."""
        return self.in_order


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Placing(ArrayOp):
    """An op that puts elements of operands at places of its result.

    Parameters
    ----------
    place:
        ``place(part, index, operands, **params)``: where the element ``index`` of operand
        ``part`` goes in the result. The operands are a sequence, since there may be thousands.
    last:
        Whether elements are written over instead of added.
    """

    place: Callable[..., Any]
    last: bool = False

    @abstractmethod
    def parts_of(self, operands: Sequence[Any]) -> int:
        """Return how many of the operands, the first ones, are put at places."""

    def alone(self, part: int, params: Mapping[str, Any]) -> bool:
        """Tell whether no other element goes to the places of a part's elements."""
        return False

    def begins(self, part: int, params: Mapping[str, Any]) -> bool:
        """Tell whether a part is written everywhere before all others, in place of zeros."""
        return False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assemble(Placing):
    """Writes its operands into regions of a zero array; linear.

    Where parts overlap they are added, in their order; what is added to a first part that goes
    everywhere leaves its zeros their sign.

    Parameters
    ----------
    merge:
        See :class:`Op`.
    """

    merge: Callable[..., Any] | None = None
    kind = "assemble"

    def parts_of(self, operands: Sequence[Any]) -> int:
        """All of them."""
        return len(operands)

    def alone(self, part: int, params: Mapping[str, Any]) -> bool:
        """Tell it by the parameter; of parts that are written over, as if it were so."""
        return bool(params.get("disjoint", True))

    def begins(self, part: int, params: Mapping[str, Any]) -> bool:
        """Tell whether it is the first of parts that meet, and fills the whole."""
        if part or params.get("disjoint", False) or "regions" not in params:
            return False
        pairs = zip(params["regions"][0], params["shape"], strict=True)
        return all(size == extent for (_, _, size), extent in pairs)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Gather(ArrayOp):
    """Reads elements at computed positions; linear in its first operand."""

    kind = "gather"

    def places_of(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the operands that are places."""
        return operands[1:]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Scatter(Placing):
    """Adds elements at computed positions; the transpose of gather.

    Parameters
    ----------
    stacked:
        ``stacked(*operands, **params)``: the sum of the results for operands with a leading axis
        more.
    over:
        Whether the second operand is an array that the elements are written over, or added to; else
        it is zeros.
    """

    stacked: Callable[..., Any] | None = None
    over: bool = False
    kind = "scatter"

    @property
    def several(self) -> bool:
        """Tell whether the first half of the operands are values, and the second their places.

        Of the first ``alone``, a parameter, no place is another's.
        """
        return "alone" in self.params

    def parts_of(self, operands: Sequence[Any]) -> int:
        """One, unless there are several."""
        return len(operands) // 2 if self.several else 1

    def places_of(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the operands that are places."""
        return operands[self.parts_of(operands) + self.over :]

    def alone(self, part: int, params: Mapping[str, Any]) -> bool:
        """Tell it by the parameter: so many parts have places of their own."""
        return self.several and part < params["alone"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Routine(ArrayOp):
    """A library's computation on whole vectors or matrices (the last axes)."""

    parts: Callable[..., Any] | None = None
    kind = "routine"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Bodied(Op):
    """Runs bodies; its results are projected out of it. Its rules work on nodes.

    Parameters
    ----------
    batch:
        ``batch(size, operands, flags, node, last)``: a function from a result node to its
        counterpart, and whether that has a batch axis: the first one, or the ``last``.
    spread:
        ``spread(node, flags)``: which of its results differ between examples where the flagged
        operands do, and whether each example then ends at a step of its own.
    results:
        ``results(node, index, kind)``: shape and element type of a result, as a projection of
        ``kind`` ("result" or "tape") gives it.
    fits:
        ``fits(node)`` says how operands, bodies and parameters do not go together, or returns
        None.
    """

    batch: Callable[..., Any]
    spread: Callable[..., tuple[list[bool], bool]]
    results: Callable[..., Any]
    fits: Callable[..., str | None]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LoopOp(Bodied):
    """Runs a body again and again."""

    kind = "loop"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BranchOp(Bodied):
    """Runs one of several bodies."""

    kind = "branch"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Op):
    """One result of a loop or a branch."""

    kind = "result"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Tape(Op):
    """What a loop wrote down in each step, for another loop to read."""

    merge: Callable[..., Any] | None = None
    kind = "tape"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Leaf(Op):
    """Inputs, literals, constants, sizes."""

    kind = "leaf"
