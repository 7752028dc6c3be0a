"""Functions of symmetric matrices that are written by eigenvalues and eigenvectors.

``(v * f(w)) @ v.T`` is smooth in the matrix if f is smooth, and so is ``sum(f(w))``, also where
eigenvalues are equal, although neither v nor w is. Their derivatives (Yu. L. Daleckii and S. G.
Krein, 1951) are sums of ``f[w[k], w[l]]*P[k] @ e @ P[l]``, with the projections ``P[k]`` onto the
vectors and divided differences of f::

    f[x, y] = (f(x) - f(y))/(x - y),    f[x, x] = f'(x)

which are sums over eigenvalues of the same kind. So one analysis serves all orders of derivatives.
It carries forward, for each node that is made of a decomposition, a sum of products with a label
for each axis, as ``einsum`` has letters. Labels along which eigenvalues are counted are
*spectral*. A factor is

- *vectors*, linear in v;
- a *function*, elementwise in the eigenvalues along its spectral labels;
- *data*, a node that does not belong to the decomposition.

A node without spectral labels is such a sum as a whole if each spectral label that is summed over
belongs to two factors of vectors (a projection) or to none (a trace). Its derivatives by the matrix
go past v and w.

Complex vectors come as real and imaginary parts. A part of a projection is no function of the
matrix, since vectors may have any phase: such sums wait for those with the other parts.

Source: N. J. Higham, Functions of Matrices, SIAM 2008, theorem 3.11 and corollary 3.12.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.sizes import as_dim, hint
from ..base.state import within
from ..graph import Literal, Node
from ..op import registry
from ..ops.factorizations import asked_apart, rounding, tied
from ..ops.linear import unit_like
from ..ops.np_common import iota
from ..ops.singular import svd_parts
from ..trace import Traced, as_node, partials
from ._matcher import Way, equal_to
from ._recognition import square_of

OPS = registry.ops
SYMMETRIC, SINGULAR, HERMITIAN = "Eigh", "SVD", "ComplexEigh"
DECOMPOSITIONS = (SYMMETRIC, SINGULAR, HERMITIAN)
#: Sums of more terms, products of more factors are not looked at.
MOST_TERMS, MOST_FACTORS = 8, 24

Label = int | None  # None: of an axis of length one, which repeats
Labels = tuple[Label, ...]


class Factor(NamedTuple):
    """A factor of a product: of what kind it is, its node and the labels of its axes."""

    kind: str  # "vectors", "function", "data"
    node: Node
    axes: Labels
    inverse: bool = False


class Term(NamedTuple):
    """A product of factors, summed over the labels that the result does not have."""

    sign: float
    factors: tuple[Factor, ...]


class Form(NamedTuple):
    """A node as a sum of terms."""

    axes: Labels
    terms: tuple[Term, ...]

    @property
    def function(self) -> bool:
        """Whether it is elementwise in the eigenvalues."""
        if len(self.terms) > 1 or len(self.terms[0].factors) > 1 or self.terms[0].sign != 1.0:
            return False
        [factor] = self.terms[0].factors
        return factor.kind == "function" and not factor.inverse and factor.axes == self.axes


class Base(NamedTuple):
    """Values or vectors as they are read from a decomposition.

    Attributes
    ----------
    node, matrix:
        What is read, and the decomposition.
    side:
        Of vectors "left" or "right", or of complex ones "real" or "imag"; None of values.
    place:
        The axis along which values are counted.
    more:
        Whether there are more vectors than values.
    """

    node: Node
    matrix: Node
    side: str | None
    place: int
    more: bool = False


def _read_from(node: Node, matrix: Node) -> Base | None:
    """Return what is read from eigenvalues above eigenvectors as rows."""
    if node.op.name != "Slice":
        return None
    *lead, rows, columns = node.params["region"]
    n = matrix.shape[-1]
    if not all(_whole(r, d) for r, d in zip(lead, matrix.shape, strict=False)):
        return None
    if rows[0] == 0 and rows[2] is None and _whole(columns, n):
        return Base(node, matrix, None, node.ndim - 1)
    if rows[:2] == (1, 1) and rows[2] == n and columns[2] is not None:
        return Base(node, matrix, "left", node.ndim - 2)
    return None


def _read_from_pairs(node: Node) -> Base | None:
    """Return what is read from real eigenvalues above complex eigenvectors, in pairs."""
    if node.op.name != "Slice":
        return None
    [x] = node.operands
    if x.op.name == HERMITIAN:  # rows and part at once
        matrix, (*lead, rows, columns, part) = x, node.params["region"]
    elif x.op.name == "Slice" and x.operands[0].op.name == HERMITIAN:
        [matrix] = x.operands
        (*all_of, part), (*lead, rows, columns) = x.params["region"], node.params["region"]
        if not all(_whole(r, d) for r, d in zip(all_of, matrix.shape, strict=False)):
            return None
    else:
        return None
    n = matrix.shape[-2]
    whole = all(_whole(r, d) for r, d in zip(lead, matrix.shape, strict=False))
    if not whole or part[2] is not None or not _whole(columns, n):
        return None
    if rows[0] == 0 and rows[2] is None and part[0] == 0:
        return Base(node, matrix, None, node.ndim - 1)
    if rows[:2] == (1, 1) and rows[2] == n:
        return Base(node, matrix, "imag" if part[0] else "real", node.ndim - 2)
    return None


def singular_bases(matrix: Node) -> list[Base]:
    """Return what is read from singular values and vectors, one behind the other."""
    wide, full = matrix.params["wide"], matrix.params["full"]
    m, n = Traced(matrix.operands[0]).shape[-2:]
    u, s, vh = map(as_node, svd_parts(Traced(matrix), m, n, m if wide else n, full))
    return [
        Base(u, matrix, "left", u.ndim - 1, full and not wide),
        Base(s, matrix, None, s.ndim - 1),
        Base(vh, matrix, "right", vh.ndim - 2, full and wide),
    ]


class Other(Exception):  # noqa: N818  no error: what is looked at is nothing of this kind
    """A node is no sum of products."""


# ---------------------------------------------------------------- labelled arrays


@dataclass(frozen=True)
class Labelled:
    """An array with labels for its axes; those of length one have none."""

    value: Any
    axes: tuple[int, ...]

    @classmethod
    def of(cls, value: Any, axes: Labels) -> Labelled:
        """Return an array without its axes of length one."""
        if None in axes:
            kept = tuple(d for d, s in zip(value.shape, axes, strict=True) if s is not None)
            value = np.reshape(value, kept)
        return cls(value, tuple(s for s in axes if s is not None))

    def renamed(self, names: Mapping[int, int]) -> Labelled:
        return Labelled(self.value, tuple(names.get(s, s) for s in self.axes))

    def along(self, axes: Sequence[int]) -> Any:
        """Return the value with axes in this order, of length one where it has none."""
        if not self.axes:
            return self.value
        places = [self.axes.index(s) for s in axes if s in self.axes]
        value = self.value
        if places != list(range(len(places))):
            value = np.transpose(value, places)
        if len(places) == len(axes):
            return value
        sizes = iter(value.shape)
        return np.reshape(value, tuple(next(sizes) if s in self.axes else 1 for s in axes))


def _joint(parts: Iterable[Labelled]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(s for part in parts for s in part.axes))


def mapped(function: Any, *parts: Labelled) -> Labelled:
    """Return an elementwise function of labelled arrays."""
    axes = _joint(parts)
    return Labelled(function(*(part.along(axes) for part in parts)), axes)


def summed(parts: Sequence[Labelled], out: Sequence[int]) -> Labelled:
    """Return the sum of products over all labels but ``out``."""
    names = {s: string.ascii_letters[k] for k, s in enumerate(_joint(parts))}
    numbers = [part.value for part in parts if not part.axes]
    arrays = [part for part in parts if part.axes]
    text = ",".join("".join(names[s] for s in part.axes) for part in arrays)
    value = np.einsum(f"{text}->{''.join(names[s] for s in out)}", *(p.value for p in arrays))
    for number in numbers:
        value = value * number
    return Labelled(value, tuple(out))


# ---------------------------------------------------------------- the analysis


class Analysis:
    """The forms of the nodes of a graph.

    Parameters
    ----------
    order:
        The graph's nodes, operands first.
    fixed:
        Decompositions that are constants.
    """

    def __init__(self, order: Sequence[Node], fixed: Collection[Node] = ()) -> None:
        self.forms: dict[Node, Form] = {}
        #: Eigenvalues or singular values, and vectors, with their kinds and places of labels.
        self.bases: dict[Node, Base] = {}
        #: Labels of all vectors of a side, some of which belong to no singular value.
        self.more: set[int] = set()
        #: Those without spectral labels.
        self.sums: dict[Node, Form] = {}
        self._upper: list[int] = []
        self._matrix: list[Node | None] = []
        #: Those that are gone past, which may be decompositions of what others give.
        self.decompositions = frozenset(
            x for x in order
            if x.op.name in DECOMPOSITIONS and x not in fixed and x.dtype.kind == "f"
            and 1 not in (x.operands[0].shape[:-1] if x.op.name == HERMITIAN
                          else x.operands[0].shape)[-2:]
        )  # fmt: skip
        #: They, and what is made of them.
        self.behind: set[Node] = set(self.decompositions)
        for node in order:
            if self.behind.isdisjoint(node.operands):
                continue
            self.behind.add(node)
            try:
                form = self._form(node)
            except Other:
                continue
            if form is None:
                continue
            if self.spectral(form.axes) or not self._whole(form):
                self.forms[node] = form
            else:  # from here on a number like any other
                self.sums[node] = form

    # ------------------------------------------------ labels

    def label(self, matrix: Node | None = None) -> int:
        """Return a new label, spectral if it counts eigenvalues of a decomposition."""
        self._upper.append(len(self._upper))
        self._matrix.append(matrix)
        return len(self._upper) - 1

    def at(self, label: Label) -> Label:
        """Return the label that one has become."""
        if label is None:
            return None
        while self._upper[label] != label:
            label = self._upper[label]
        return label

    def matrix(self, label: Label) -> Node | None:
        """Return the decomposition whose eigenvalues are counted along a label."""
        found = self.at(label)
        return None if found is None else self._matrix[found]

    def unite(self, a: Label, b: Label) -> Label:
        """Let two labels be one."""
        a, b = self.at(a), self.at(b)
        if a is None or b is None or a == b:
            return b if a is None else a
        one, other = self._matrix[a], self._matrix[b]
        if one is not None and other is not None and one is not other:
            raise Other
        self._upper[b] = a
        self._matrix[a] = one if one is not None else other
        return a

    def _new(self, node: Node) -> Form:
        """Return a node's form with labels of its own."""
        form = self.forms.get(node)
        if form is None:
            axes = tuple(None if d == 1 else self.label() for d in node.shape)
            return Form(axes, (Term(1.0, (Factor("data", node, axes),)),))
        names: dict[Label, Label] = {None: None}

        def renamed(axes: Labels) -> Labels:
            for s in map(self.at, axes):
                if s not in names:
                    names[s] = new = self.label(self.matrix(s))
                    if s in self.more:
                        self.more.add(new)
            return tuple(names[self.at(s)] for s in axes)

        return Form(renamed(form.axes), tuple(
            Term(t.sign, tuple(f._replace(axes=renamed(f.axes)) for f in t.factors))
            for t in form.terms
        ))  # fmt: skip

    def settled(self, axes: Labels) -> Labels:
        return tuple(map(self.at, axes))

    def spectral(self, axes: Labels) -> list[int]:
        """Return the spectral labels among some."""
        found = dict.fromkeys(self.at(s) for s in axes if self.matrix(s) is not None)
        return [s for s in found if s is not None]

    def _whole(self, form: Form) -> bool:
        """Tell whether a sum has no part of a projection: a real one alone, of complex vectors.

        A projection ``v @ v.conj().T`` is the same for vectors of any phase, neither part of v is.
        So with each product of two real parts there is that of the imaginary parts, and with each
        of an imaginary and a real part that of the other two, with the other sign.
        """
        counts: dict[Any, dict[tuple[str, ...], float]] = {}
        for term in form.terms:
            sides, key = self._phased(term, form.axes)
            if sides:
                own = counts.setdefault(key, {})
                own[sides] = own.get(sides, 0.0) + term.sign
        return all(
            own.get(("real", "real"), 0.0) == own.get(("imag", "imag"), 0.0)
            and own.get(("real", "imag"), 0.0) == -own.get(("imag", "real"), 0.0)
            and all(len(sides) == 2 for sides in own)
            for own in counts.values()
        )

    def _phased(self, term: Term, out: Labels) -> tuple[tuple[str, ...], Any]:
        """Return which parts of complex vectors a term has, and all else that it is made of."""
        vectors = []
        for f in term.factors:
            if f.kind == "vectors":
                steps, node = [], f.node
                while node not in self.bases and len(node.operands) == 1:
                    steps.append((node.op.name, node.items))
                    [node] = node.operands
                base = self.bases.get(node)
                if base is None or base.side not in ("real", "imag"):
                    continue
                vectors.append((base.side, tuple(steps), base.matrix, f.axes))
        rest = sorted(
            (f for f in term.factors if f.kind != "vectors"),
            key=lambda f: (f.kind, id(f.node), f.inverse),
        )
        names: dict[Label, int] = {}

        def named(axes: Labels) -> tuple[int, ...]:
            return tuple(names.setdefault(s, len(names)) for s in self.settled(axes))

        named(out)
        key: list[Any] = [(f.kind, f.node, f.inverse, named(f.axes)) for f in rest]
        # Labels that vectors alone have come last, in the order of what is known of the others.
        vectors.sort(key=lambda v: [names.get(s, len(names)) for s in self.settled(v[3])])
        key += [(steps, matrix, named(axes)) for _, steps, matrix, axes in vectors]
        return tuple(side for side, *_ in vectors), tuple(key)

    # ------------------------------------------------ forms

    def _form(self, node: Node) -> Form | None:
        """Return a node's form, None where it has no spectral label: it is a number of its own."""
        base = self._base(node)
        if base is not None:
            return base
        if not any(x in self.forms for x in self.parts(node)):
            return None
        if (squared := self._squared(node)) is not None:
            return self._settled(self._squares(node, squared))
        given = [self._new(x) for x in node.operands]
        kind, name = node.op.kind, node.op.name
        if kind == "map":
            found = self._map(node, given)
        elif name == "Contract":
            found = self._contract(node, given)
        elif kind == "reduce":
            found = self._reduce(node, given[0])
        elif kind == "view" or name == "DiagEmbed":
            found = self._view(node, given[0])
        else:
            raise Other
        return self._settled(found)

    def _settled(self, found: Form) -> Form:
        axes = self.settled(found.axes)
        terms = tuple(
            Term(t.sign, tuple(f._replace(axes=self.settled(f.axes)) for f in t.factors))
            for t in found.terms
        )
        # The imaginary part of what is real is 0: of a diagonal matrix of eigenvalues.
        terms = tuple(t for t in terms if not _vanishes(t)) or terms[:1]
        if len(terms) > MOST_TERMS or any(len(t.factors) > MOST_FACTORS for t in terms):
            raise Other
        return Form(axes, terms)

    def is_function(self, node: Node) -> bool:
        """Tell whether a node is known to be a function of the eigenvalues alone."""
        form = self.forms.get(node)
        return form is not None and form.function

    def _squared(self, node: Node) -> tuple[Node, ...] | None:
        """Return the sums over vectors of which a node is the square, or the sum of squares."""
        parts = _squared(node)
        return None if parts is None or all(map(self.is_function, parts)) else parts

    def parts(self, node: Node) -> tuple[Node, ...]:
        """Return what a node is made of, as its form has it."""
        return self._squared(node) or node.operands

    def _squares(self, node: Node, parts: Sequence[Node]) -> Form:
        """Return the form of a sum of squares: each is a product of two that are summed apart."""
        pairs = [(self._new(x), self._new(x)) for x in parts]
        axes = self._aligned(node, [form for pair in pairs for form in pair])
        return Form(axes, tuple(term for pair in pairs for term in _product(*pair)))

    def _base(self, node: Node) -> Form | None:
        """Return the form of values or vectors that are read from a decomposition."""
        [matrix, *more] = node.operands
        if matrix.op.name == SINGULAR and matrix in self.decompositions and not more:
            for part in singular_bases(matrix):
                self.bases[part.node] = part
        if matrix.op.name == SYMMETRIC and matrix in self.decompositions and not more:
            base = _read_from(node, matrix)
            if base is None:
                raise Other
            self.bases[node] = base
        pairs = _read_from_pairs(node) if node.op.name == "Slice" else None
        if pairs is not None and pairs.matrix in self.decompositions:
            self.bases[node] = pairs
        if node not in self.bases:
            return None
        base = self.bases[node]
        axes: list[Label] = [None if d == 1 else self.label() for d in node.shape]
        axes[base.place] = self.label(base.matrix)
        if base.more:
            self.more.add(axes[base.place])  # type: ignore[arg-type]
        return self._single("function" if base.side is None else "vectors", node, tuple(axes))

    @staticmethod
    def _single(kind: str, node: Node, axes: Labels) -> Form:
        return Form(axes, (Term(1.0, (Factor(kind, node, axes),)),))

    def _aligned(self, node: Node, given: Sequence[Form]) -> Labels:
        """Let labels of the same axes be one, as arrays are broadcast."""
        axes: list[Label] = [None] * node.ndim
        for form in given:
            lead = node.ndim - len(form.axes)
            for k, s in enumerate(form.axes):
                axes[lead + k] = self.unite(axes[lead + k], s)
        return tuple(axes)

    def _map(self, node: Node, given: Sequence[Form]) -> Form:
        name = node.op.name
        own = [f for f, x in zip(given, node.operands, strict=True) if x in self.forms]
        axes = self._aligned(node, given)
        if all(f.function for f in own):
            return self._single("function", node, axes)
        if name == "Cast" or name == "Negative":
            [form] = given
            return Form(axes, _signed(form.terms, -1.0 if name == "Negative" else 1.0))
        if name in ("Add", "Subtract"):
            a, b = given
            if any({*self.settled(f.axes)} != {*self.settled(axes)} for f in given):
                raise Other  # one of them is repeated
            return Form(axes, (*a.terms, *_signed(b.terms, 1.0 if name == "Add" else -1.0)))
        if name == "Multiply":
            return Form(axes, _product(*given))
        if name == "Divide":
            top, bottom = given
            [(sign, factors), *more] = bottom.terms
            if more or len(factors) > 1 or factors[0].kind == "vectors" or factors[0].inverse:
                raise Other
            below = Form(bottom.axes, (Term(sign, (factors[0]._replace(inverse=True),)),))
            return Form(axes, _product(top, below))
        raise Other

    def _contract(self, node: Node, given: Sequence[Form]) -> Form:
        letters: dict[str, Label] = {}
        sizes: dict[str, Any] = {}
        for form, x, text in zip(
            given, node.operands, (node.params["a"], node.params["b"]), strict=True
        ):
            for s, label, size in zip(text, form.axes, x.shape, strict=True):
                if s in letters and (letters[s] is None) != (label is None):
                    raise Other
                letters[s] = self.unite(letters.get(s), label)
                sizes[s] = size
        return Form(tuple(letters[s] for s in node.params["out"]), _product(*given))

    def _reduce(self, node: Node, form: Form) -> Form:
        gone = node.params["axes"]
        rest = tuple(s for k, s in enumerate(form.axes) if k not in gone)
        if node.op.name == "Sum":
            return Form(rest, form.terms)
        if node.dtype.kind == "b" and form.function and self.spectral(rest):
            return self._single("function", node, rest)
        raise Other

    def _view(self, node: Node, form: Form) -> Form:
        name, x, params = node.op.name, node.operands[0], node.params
        if name == "Transpose":
            axes = tuple(form.axes[k] for k in params["axes"])
        elif name == "Reshape":
            if not _plain(node):
                raise Other
            kept = iter([s for s in form.axes if s is not None])
            axes = tuple(None if d == 1 else next(kept) for d in node.shape)
        elif name == "Broadcast":
            lead = node.ndim - x.ndim
            given = (*(None,) * lead, *form.axes)
            if not form.function and any(
                s is None and d != 1 for s, d in zip(given, node.shape, strict=True)
            ):
                raise Other  # sums would be repeated
            axes = tuple(
                self.label() if s is None and d != 1 else s
                for s, d in zip(given, node.shape, strict=True)
            )
        elif name == "DiagEmbed" and params["offset"] == 0 and not form.function:
            raise Other
        elif name == "DiagEmbed" and params["offset"] == 0:
            return Form((*form.axes, form.axes[-1]), form.terms)
        elif name == "Diagonal" and params["offset"] == 0 and len(form.axes) == 2:
            return Form((self.unite(*form.axes),), form.terms)
        elif name == "Slice":
            return self._slice(node, form)
        else:
            raise Other
        return self._single("function", node, axes) if form.function else Form(axes, form.terms)

    def _slice(self, node: Node, form: Form) -> Form:
        """Take parts of what has an axis: of each factor that has it."""
        names: dict[int, Label] = {}
        terms, axes = list(form.terms), []
        for s, entry, d in zip(
            form.axes, node.params["region"], node.operands[0].shape, strict=True
        ):
            if _whole(entry, d):
                axes.append(s)
                continue
            if s is None or form.axes.count(s) > 1:
                raise Other
            matrix = self.matrix(s)
            if matrix is not None and not (self.at(s) in self.more and _with_values(entry, matrix)):
                raise Other
            label = None if entry[2] is None or entry[2] == 1 else self.label(matrix)
            if entry[2] is not None:
                axes.append(label)
            names[s] = label
            terms = [
                t._replace(factors=tuple(_part(f, s, entry, label) for f in t.factors))
                for t in terms
            ]
        if form.function:
            return self._single("function", node, tuple(axes))
        return Form(tuple(axes), tuple(terms))


def _with_values(entry: Any, matrix: Node) -> bool:
    """Tell whether of all vectors those are taken that belong to singular values."""
    m, n = matrix.operands[0].shape[-2:]
    return _whole(entry, m if matrix.params["wide"] else n)


def _whole(entry: Any, size: Any) -> bool:
    return bool(entry[0] == 0 and entry[1] == 1 and entry[2] == size)


def _part(factor: Factor, label: int, entry: Any, new: Label) -> Factor:
    """Return a factor of which a part is taken along an axis."""
    if label not in factor.axes:
        return factor
    region = tuple(
        entry if s == label else (0, 1, d)
        for s, d in zip(factor.axes, factor.node.shape, strict=True)
    )
    axes = tuple(
        new if s == label else s
        for s in factor.axes if s != label or entry[2] is not None
    )  # fmt: skip
    part = as_node(OPS["Slice"](Traced(factor.node), region=region))
    return factor._replace(node=part, axes=axes)


def _vanishes(term: Term) -> bool:
    """Tell whether a factor is 0."""
    for f in term.factors:
        node = f.node
        while f.kind == "data" and node.op.name == "Broadcast":
            [node] = node.operands
        if f.kind == "data" and isinstance(node, Literal) and node.value == 0 and not f.inverse:
            return True
    return False


def _signed(terms: Iterable[Term], sign: float) -> tuple[Term, ...]:
    return tuple(t._replace(sign=sign * t.sign) for t in terms)


def _squared(node: Node) -> tuple[Node, ...] | None:
    """Return of what a node is the square, or the sum of squares; None if it is none.

    The square of an absolute value is that of what it is of, of a complex one of both parts.
    """
    x = square_of(node)
    while x is not None and x.op.name in ("Absolute", "Fabs"):
        [x] = x.operands
    if x is None:
        return None
    return x.operands if x.op.name == "Hypot" else (x,)


def _product(a: Form, b: Form) -> tuple[Term, ...]:
    return tuple(Term(s.sign * t.sign, (*s.factors, *t.factors)) for s in a.terms for t in b.terms)


# ---------------------------------------------------------------- sums as a whole


def spectral_ways(
    order: Sequence[Node], wrt: Collection[Node], ways: Mapping[Node, Way],
    fixed: Collection[Node] = (),
) -> Mapping[Node, Way]:  # fmt: skip
    """Return ways past formulas with those past functions of symmetric matrices.

    Parameters
    ----------
    order:
        The graph's nodes, operands first.
    wrt:
        What is differentiated by; no way leads past it.
    ways:
        Ways past other formulas. None leads to eigenvalues past a function of the matrix.
    fixed:
        Decompositions that are constants.
    """
    if not any(x.op.name in DECOMPOSITIONS for x in order):
        return ways
    analysis = Analysis(order, fixed)
    forms = analysis.forms
    found = {
        node: way for node, way in ways.items()
        if node in forms or forms.keys().isdisjoint(way.operands)
    }  # fmt: skip
    barred = frozenset(x for x in wrt if x.operands)
    for node, form in analysis.sums.items():
        if node.dtype.kind == "f":
            way = _found(analysis, node, form, barred)
            if way is not None:
                found[node] = way
    for node in order:
        if node.op.name == "Prod" and node.operands[0] in forms:
            way = _product_way(analysis, node, barred)
            if way is not None:
                found[node] = way
    return found


def _product_way(analysis: Analysis, node: Node, barred: frozenset[Node]) -> Way | None:
    """Return the way past the product of a function of eigenvalues: that of a determinant."""
    [x] = node.operands
    form = analysis.forms[x]
    inner, outer = _between(node, analysis)
    if not form.function or not barred.isdisjoint(inner) or form.axes[-1] is None:
        return None
    reads = list(_Product.values(analysis, x, form.axes))
    *batch, k = form.axes
    if any(read != (tuple(batch), k) for read in reads) or len(analysis.spectral(form.axes)) > 1:
        return None
    if node.params["axes"] != (x.ndim - 1,) or analysis.matrix(k) is None:
        return None
    matrix = analysis.matrix(k)
    assert matrix is not None
    if matrix.op.name == HERMITIAN:
        return None
    y = Traced(matrix)
    rows = y[..., 1:, :]
    with within(simplify=None):
        whole = np.swapaxes(rows, -1, -2) * Traced(x)[..., None, :] @ rows
        other = as_node(np.linalg.det(whole))
    return equal_to(other, (matrix.operands[0], *outer))


def _found(analysis: Analysis, node: Node, form: Form, barred: frozenset[Node]) -> Way | None:
    """Return the way past a sum, None where it is not smooth or something between is wanted."""
    inner, outer = _between(node, analysis)
    if not barred.isdisjoint(inner):
        return None
    outs = [s for s in form.axes if s is not None]
    if len(set(outs)) < len(outs):
        return None
    matrices = {x for t in form.terms for f in t.factors for x in map(analysis.matrix, f.axes) if x}
    if len(matrices) != 1:
        return None
    [matrix] = matrices
    terms = []
    for term in form.terms:
        try:
            terms.append(_Product.of(analysis, matrix, term, tuple(outs)))
        except Other:
            return None
    rest = tuple(x for x in outer if not isinstance(x, Literal))
    if matrix.op.name == SINGULAR:
        if all(term.is_trace for term in terms):
            traces = _Traces(node, matrix, form.axes, terms)
            return Way(
                (matrix.operands[0],), traces.pull, traces.push, elementwise=False, beside=rest,
                fixed=frozenset((matrix,)),
            )  # fmt: skip
        try:
            with within(simplify=None):  # the matrix stays a step of it
                other = _dilated(node, matrix, form.axes, terms)
        except Other:
            return None
        return equal_to(other, (matrix.operands[0], *rest))
    if matrix.op.name == HERMITIAN:
        if any(len(term.pairs) > 1 for term in terms):
            return None
        try:
            with within(simplify=None):  # the matrix stays a step of it
                other = _doubled(node, matrix, terms)
        except Other:
            return None
        return equal_to(other, (matrix.operands[0], *rest))
    whole = _Sum(node, matrix, form.axes, terms)
    return Way(
        (matrix.operands[0],), whole.pull, whole.push, elementwise=False, beside=rest,
        fixed=frozenset((matrix,)),
    )  # fmt: skip


def _between(node: Node, analysis: Analysis) -> tuple[set[Node], list[Node]]:
    """Return the nodes with a form that a sum is made of, and what else they are made of."""
    inner: set[Node] = set()
    outer: dict[Node, None] = {}
    stack = list(analysis.parts(node))
    while stack:
        x = stack.pop()
        if x in analysis.decompositions:
            inner.add(x)
        elif x in analysis.forms:
            if x not in inner:
                inner.add(x)
                stack.extend(analysis.parts(x))
        else:
            outer[x] = None
    return inner, list(outer)


def _down(node: Node, axes: Labels) -> Iterator[tuple[Node, Labels]]:
    """Yield the operands of a step that is elementwise or a view with the labels of their axes.

    None stands for axes of length one, and for such that are taken a part of.
    """
    params = node.params
    match node.op.name:
        case "Transpose":
            inverse = np.argsort(params["axes"])
            yield node.operands[0], tuple(axes[k] for k in inverse)
        case "Reshape":
            kept = iter([s for s in axes if s is not None])
            [x] = node.operands
            yield x, tuple(None if d == 1 else next(kept) for d in x.shape)
        case "Slice":
            rest, [x] = iter(axes), node.operands
            yield x, tuple(None if e[2] is None else next(rest) for e in params["region"])
        case _:
            for x in node.operands:
                own = axes[len(axes) - x.ndim :]
                yield x, tuple(None if d == 1 else s for s, d in zip(own, x.shape, strict=True))


def _plain(node: Node) -> bool:
    """Tell whether a step is elementwise, or a view that leaves the order of axes to be seen."""
    if node.op.name == "Reshape":
        return [d for d in node.shape if d != 1] == [d for d in node.operands[0].shape if d != 1]
    return node.op.kind == "map" or node.op.name in ("Transpose", "Broadcast", "Slice")


@dataclass(frozen=True)
class _Product:
    """A term of a sum as a whole.

    Attributes
    ----------
    pairs:
        For each spectral label the two factors of vectors, or none.
    batches:
        For each spectral label the labels of the axes before it.
    rest:
        The other factors.
    """

    analysis: Analysis
    sign: float
    pairs: dict[int, tuple[Factor, ...]]
    batches: dict[int, tuple[int, ...]]
    rest: tuple[Factor, ...]
    out: tuple[int, ...]

    @classmethod
    def of(cls, analysis: Analysis, matrix: Node, term: Term, out: tuple[int, ...]) -> _Product:
        labels = dict.fromkeys(s for f in term.factors for s in analysis.spectral(f.axes))
        pairs: dict[int, list[Factor]] = {k: [] for k in labels}
        batches: dict[int, tuple[int, ...]] = {}

        def note(k: Label, batch: Labels) -> None:
            assert k is not None
            own = tuple(s for s in batch if s is not None)
            if batches.setdefault(k, own) != own:
                raise Other

        for f in term.factors:
            if f.kind == "vectors":
                base, axes = cls._base_axes(analysis, f)
                k = axes[base.place]
                if k is None or k in analysis.more:
                    raise Other
                pairs[k].append(f)
                note(k, axes[: len(axes) - 2])
            elif f.kind == "function":
                for batch, k in cls.values(analysis, f.node, f.axes):
                    note(k, batch)
        if any(len(p) not in (0, 2) for p in pairs.values()):
            raise Other
        reached = {s for f in term.factors for s in f.axes}
        if not reached.issuperset(out) or any(k not in batches for k in pairs):
            raise Other
        rest = tuple(f for f in term.factors if f.kind != "vectors")
        return cls(analysis, term.sign, {k: tuple(p) for k, p in pairs.items()}, batches, rest, out)

    @staticmethod
    def _base_axes(analysis: Analysis, factor: Factor) -> tuple[Base, Labels]:
        """Return the vectors that a factor is a part of, and the labels of their axes."""
        node, axes = factor.node, factor.axes
        while node not in analysis.bases:
            if node.op.name not in ("Slice", "Transpose", "Reshape", "Broadcast"):
                raise Other
            [(node, axes)] = _down(node, axes)
        return analysis.bases[node], axes

    @classmethod
    def values(cls, analysis: Analysis, node: Node, axes: Labels) -> Iterator[tuple[Labels, Label]]:
        """Yield where a function reads eigenvalues: the labels before the spectral one, and it."""
        stack, seen = [(node, axes)], set()
        while stack:
            x, own = stack.pop()
            if (x, own) in seen or x not in analysis.forms:
                continue
            seen.add((x, own))
            if x in analysis.bases:
                yield own[:-1], own[-1]
            elif x.op.kind != "reduce":
                stack.extend(_down(x, own))

    @property
    def is_trace(self) -> bool:
        """Whether it is a sum of functions of values, without vectors."""
        return not any(self.pairs.values())

    # ------------------------------------------------ derivatives

    def _factors(self, label: int | None) -> list[Labelled]:
        """Return what does not depend on the eigenvalues along a label."""
        return [_value(f) for f in self.rest if label is None or label not in f.axes]

    def _others(self, label: int) -> list[Labelled]:
        return [
            _value(f) for k, pair in self.pairs.items() if k != label for f in pair
        ] + self._factors(label)

    def slopes(self, w: Any) -> Iterator[tuple[int, list[Labelled]]]:
        """Yield for each label the factors of the derivatives by its values."""
        for k in self.pairs:
            weights = self.weights(w, k, None)
            if weights is not None:
                yield k, [weights, *self._others(k)]

    def weights(self, w: Any, label: int, second: int | None) -> Labelled | None:
        """Return the derivative of the functions along a label, or their divided differences."""
        own = [f for f in self.rest if label in f.axes]
        if not any(f.kind == "function" for f in own) and second is None:
            return None
        if not own:
            return None
        functions = _Functions(self.analysis, own, label, self.batches[label], w)
        return functions.common_slope() if second is None else functions.differences(second)

    def pushed(self, w: Any, c: Any) -> list[Labelled]:
        """Return the tangent for the change ``c`` of the matrix in terms of the vectors."""
        found = []
        for k, pair in self.pairs.items():
            batch = self.batches[k]
            if pair:
                l = self.analysis.label()
                weights = self.weights(w, k, l)
                one, other = _value(pair[0]), _value(pair[1]).renamed({k: l})
                parts = [one, Labelled(c, (*batch, k, l)), other]
            else:
                weights = self.weights(w, k, None)
                parts = [Labelled(np.diagonal(c, axis1=-2, axis2=-1), (*batch, k))]
            if weights is not None:
                found.append(summed([*parts, weights, *self._others(k)], self.out))
        return found

    def pulled(self, w: Any, ct: Labelled) -> list[tuple[bool, Labelled]]:
        """Return the cotangents of the change of the matrix in terms of the vectors.

        Of each it is said whether it is of the diagonal alone.
        """
        found = []
        for k, pair in self.pairs.items():
            batch = self.batches[k]
            if pair:
                l = self.analysis.label()
                weights = self.weights(w, k, l)
                parts = [_value(pair[0]), _value(pair[1]).renamed({k: l})]
                out: tuple[int, ...] = (*batch, k, l)
            else:
                weights, parts, out = self.weights(w, k, None), [], (*batch, k)
            if weights is not None:
                whole = summed([ct, *parts, weights, *self._others(k)], out)
                found.append((not pair, whole))
        return found

    def with_others(
        self, w: Any, sides: Mapping[str, Any], sign: Any, weight: Callable[[set[str | None]], Any]
    ) -> Labelled:
        """Return the term with other values and vectors.

        Parameters
        ----------
        w:
            The values.
        sides:
            The vectors of each side.
        sign:
            Of the values; 0 for those at whose place functions are not looked at.
        weight:
            By what products are weighted with vectors of these sides: of none in a trace.
        """
        analysis, places, parts = self.analysis, {}, []
        for k, pair in self.pairs.items():
            batch = self.batches[k]
            own = [self._base_axes(analysis, f) for f in pair]
            for f, (base, _) in zip(pair, own, strict=True):
                parts.append(self._of_side(f, base, sides))
            parts.append(Labelled(weight({base.side for base, _ in own}), (k,)))
            places[k] = mapped(
                lambda c, w: np.where(c == 0, 1.0, c * w), Labelled(sign, (k,)),
                Labelled(np.reshape(w, _squeezed(w.shape)), (*batch, k)),
            )  # fmt: skip
        return summed([*parts, *(_replaced(analysis, f, places) for f in self.rest)], self.out)

    @staticmethod
    def _of_side(f: Factor, base: Base, sides: Mapping[str, Any]) -> Labelled:
        """Return the vectors of a side in the place of a factor."""
        assert base.side is not None
        steps, node = [], f.node
        while node is not base.node:
            steps.append(node)
            [node] = node.operands
        value, place = sides[base.side], base.place
        if place != base.node.ndim - 1:
            value = np.swapaxes(value, -1, -2)
        for step in reversed(steps):
            if step.op.name == "Transpose":
                order = step.params["axes"]
                value, place = np.transpose(value, order), order.index(place)
            elif step.op.name == "Slice":
                region = list(step.params["region"])
                region[place] = (0, 1, as_dim(value.shape[place]))
                value = OPS["Slice"](value, region=tuple(region))
                place -= sum(e[2] is None for e in region[:place])
            else:
                raise Other
        return Labelled.of(value, f.axes)


def _replaced(analysis: Analysis, factor: Factor, places: Mapping[int, Labelled]) -> Labelled:
    """Return a factor with other values along spectral labels."""
    done: dict[tuple[Node, Labels], Labelled] = {}
    stack = [(factor.node, factor.axes)]
    while stack:
        key = node, axes = stack[-1]
        if key in done:
            stack.pop()
            continue
        if node in analysis.bases:
            label = axes[-1]
            assert label is not None
            done[key] = places[label]
        elif node not in analysis.forms:
            if not places.keys().isdisjoint(axes):
                raise Other  # data for each value
            done[key] = Labelled.of(Traced(node), axes)
        elif node.op.kind not in ("map", "view"):
            raise Other
        else:
            below = list(_down(node, axes))
            missing = [b for b in below if b not in done]
            if missing:
                stack.extend(missing)
                continue
            given = [done[b] for b in below]
            done[key] = given[0] if node.op.kind == "view" else mapped(
                lambda *xs, node=node: node.op(*xs, **node.params), *given
            )  # fmt: skip
        stack.pop()
    value = done[factor.node, factor.axes]
    return mapped(lambda x: 1.0 / x, value) if factor.inverse else value


def _value(f: Factor) -> Labelled:
    value = Traced(f.node)
    return Labelled.of(np.reciprocal(value) if f.inverse else value, f.axes)


@dataclass(frozen=True)
class _Sum:
    """A function of a symmetric matrix, and its derivatives."""

    node: Node
    matrix: Node
    axes: Labels
    terms: Sequence[_Product]

    def _parts(self) -> tuple[Any, Any]:
        y = Traced(self.matrix)
        return y[..., 0, :], np.swapaxes(y[..., 1:, :], -1, -2)

    def push(self, tangents: Sequence[Any]) -> Any:
        w, v = self._parts()
        vt = np.swapaxes(v, -1, -2)
        e = 0.5 * (tangents[0] + np.swapaxes(tangents[0], -1, -2))
        c = vt @ e @ v
        total: Any = 0.0
        for term in self.terms:
            for part in term.pushed(w, c):
                total = total + term.sign * part.value if term.sign != 1.0 else total + part.value
        if isinstance(total, float):
            return np.zeros_like(Traced(self.node))
        return np.reshape(total, Traced(self.node).shape)

    def pull(self, ct: Any) -> list[Any]:
        w, v = self._parts()
        vt = np.swapaxes(v, -1, -2)
        given = Labelled.of(ct, self.axes)
        total: Any = 0.0
        for term in self.terms:
            for diagonal, part in term.pulled(w, given):
                inner = np.reshape(part.value, w.shape if diagonal else v.shape)
                back = (v * inner[..., None, :]) @ vt if diagonal else v @ inner @ vt
                total = total + (back if term.sign == 1.0 else term.sign * back)
        if isinstance(total, float):
            return [np.zeros_like(Traced(self.matrix.operands[0]))]
        return [0.5 * (total + np.swapaxes(total, -1, -2))]


# ---------------------------------------------------------------- singular values

# The symmetric matrix [[0, a], [a.T, 0]] has the eigenvalues s and -s, with the vectors u above v
# and u above -v, divided by sqrt(2), and zeros (C. Jordan, 1874). Sums over singular values are
# sums over its eigenvalues, and their derivatives are those.


@dataclass(frozen=True)
class _Traces:
    """A sum of functions of singular values, without vectors: the derivative is ``u f'(s) v``."""

    node: Node
    matrix: Node
    axes: Labels
    terms: Sequence[_Product]

    def _parts(self) -> tuple[Any, Any, Any]:
        u, s, vh = (Traced(base.node) for base in singular_bases(self.matrix))
        k = s.shape[-1]
        return u[..., :k], s, vh[..., :k, :]

    def push(self, tangents: Sequence[Any]) -> Any:
        u, s, vh = self._parts()
        moved = np.sum((np.swapaxes(u, -1, -2) @ tangents[0]) * vh, axis=-1)
        total: Any = 0.0
        for term in self.terms:
            for k, (weights, *factors) in term.slopes(s):
                factors.append(_without_kinks(weights, s, k, term.batches[k]))
                change = Labelled(np.reshape(moved, _squeezed(moved.shape)), (*term.batches[k], k))
                total = total + term.sign * summed([change, *factors], term.out).value
        return np.reshape(total + np.zeros_like(Traced(self.node)), Traced(self.node).shape)

    def pull(self, ct: Any) -> list[Any]:
        u, s, vh = self._parts()
        given, total = Labelled.of(ct, self.axes), 0.0 * s
        for term in self.terms:
            for k, (weights, *factors) in term.slopes(s):
                factors.append(_without_kinks(weights, s, k, term.batches[k]))
                part = summed([given, *factors], (*term.batches[k], k)).value
                total = total + term.sign * np.reshape(part, s.shape)
        return [(u * total[..., None, :]) @ vh]


def _without_kinks(weights: Labelled, s: Any, label: int, batch: tuple[int, ...]) -> Labelled:
    """Return derivatives by singular values, 0 at kinks: a value of 0 is that of an ``abs``.

    Those of smooth functions are small there, and those that grow without bound are large.
    """
    none = s <= rounding(s)
    zero = Labelled(np.reshape(none, _squeezed(none.shape)), (*batch, label))

    def smooth(slope: Any, zero: Any) -> Any:
        size = np.abs(slope)
        most = np.max(np.where(zero, 0.0, size), axis=-1, keepdims=True)
        most = np.where(most == 0, np.max(size, axis=-1, keepdims=True), most)
        return np.where(zero & (size > 1e-6 * most) & (size <= 1e3 * most), 0.0, slope)

    axes = (*(x for x in _joint((weights, zero)) if x != label), label)
    return Labelled(smooth(weights.along(axes), zero.along(axes)), axes)


#: Of this many times as many rows as columns the triangular factor is decomposed.
TALL = 2


def _dilated(node: Node, matrix: Node, axes: Labels, terms: Sequence[_Product]) -> Node:
    """Return a sum over singular values as one over eigenvalues of a symmetric matrix."""
    a = Traced(matrix.operands[0])
    q = None
    if hint(as_dim(a.shape[-2])) > TALL * hint(as_dim(a.shape[-1])):
        q, a = np.linalg.qr(a)
    elif hint(as_dim(a.shape[-1])) > TALL * hint(as_dim(a.shape[-2])):
        q, low = np.linalg.qr(np.swapaxes(a, -1, -2))
        a = np.swapaxes(low, -1, -2)
    m, n = a.shape[-2:]
    whole = np.pad(a, [(0, 0)] * (a.ndim - 2) + [(0, n), (m, 0)])
    w, v = np.linalg.eigh(whole + np.swapaxes(whole, -1, -2))
    k = Traced(singular_bases(matrix)[1].node).shape[-1]
    place, size = iota(m + n, a), m + n
    sign = (place >= size - k).astype(a.dtype) - (place < k).astype(a.dtype)
    sides = {"left": v[..., :m, :], "right": v[..., m:, :]}
    if q is not None:
        tall = "left" if matrix.params["wide"] is False else "right"
        sides[tall] = q @ sides[tall]
    some = np.abs(sign)

    def weight(sides: set[str | None]) -> Any:
        return sign if len(sides) == 2 else some if sides else 0.5 * some

    return _total(node, [(term, term.with_others(w, sides, sign, weight)) for term in terms])


def _total(node: Node, parts: Iterable[tuple[_Product, Labelled]]) -> Node:
    """Return the sum of terms in the shape of a node."""
    total: Any = 0.0
    for term, part in parts:
        total = total + (part.value if term.sign == 1.0 else term.sign * part.value)
    return as_node(np.reshape(total, Traced(node).shape))


# ---------------------------------------------------------------- Hermitian matrices

# The symmetric matrix [[A, -B], [B, A]] has the eigenvalues of A + iB twice, with the vectors
# x above y and -y above x for each x + iy. A function of it is [[re, -im], [im, re]] of that of
# the Hermitian matrix, so a sum of products of two parts of vectors is half of that over all of
# its vectors, if vectors of another phase have the same sum.


def _doubled(node: Node, matrix: Node, terms: Sequence[_Product]) -> Node:
    """Return a sum over eigenvalues of a Hermitian matrix as one over those of a symmetric one."""
    pairs = Traced(matrix.operands[0])
    re, im = (np.swapaxes(x, -1, -2) for x in (pairs[..., 0], pairs[..., 1]))
    re, im = _hermitian(re, 1.0), _hermitian(im, -1.0)
    whole = np.concatenate(
        [np.concatenate([re, -im], axis=-1), np.concatenate([im, re], axis=-1)], axis=-2
    )
    w, v = np.linalg.eigh(whole)
    n, ones = re.shape[-1], iota(2 * re.shape[-1], re) * 0 + 1.0
    sides, half = {"real": v[..., :n, :], "imag": v[..., n:, :]}, 0.5 * ones
    parts = ((term, term.with_others(w, sides, ones, lambda _: half)) for term in terms)
    return _total(node, parts)


def _hermitian(x: Any, sign: float) -> Any:
    """Return a part of a matrix as its lower triangle says, and its change as both do."""
    both = 0.5 * (x + sign * np.swapaxes(x, -1, -2))
    own = np.tril(x, -1)
    own = own + sign * np.swapaxes(own, -1, -2)
    if sign > 0:
        own = own + np.tril(x) * unit_like(x)
    return both + OPS["StopGradient"](own - both)


# ---------------------------------------------------------------- divided differences

#: Lobatto's rule of five nodes: those within (0, 1), and all weights but the last.
_INNER = (0.5 - 0.5 * (3 / 7) ** 0.5, 0.5, 0.5 + 0.5 * (3 / 7) ** 0.5)
_SHARES = (1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20)


@dataclass(frozen=True)
class _Functions:
    """A product of functions of the eigenvalues along one label."""

    analysis: Analysis
    factors: Sequence[Factor]
    label: int
    batch: tuple[int, ...]
    w: Any

    def value(self) -> Labelled:
        return mapped(_times, *map(_value, self.factors))

    def slope(self) -> Labelled:
        """Return the derivatives at the eigenvalues."""
        found = self._slope_at(self._x)
        if self.label in found.axes:
            return found
        return mapped(_times, found, Labelled(np.ones_like(self._x.value), self._x.axes))

    def common_slope(self) -> Labelled:
        """Return the derivatives at the eigenvalues, nan where those at equal ones differ."""
        found = self.slope()
        if not any(True for _ in self._data()):
            return found
        axes = (*(s for s in found.axes if s != self.label), self.label)
        slope, w = found.along(axes), self._x.along(axes)
        return Labelled(np.where(asked_apart(tied(w), slope), np.nan, slope), axes)

    @property
    def _x(self) -> Labelled:
        """The eigenvalues."""
        axes = (*self.batch, self.label)
        return Labelled(np.reshape(self.w, _squeezed(self.w.shape)), axes)

    def _slope_at(self, x: Labelled) -> Labelled:
        """Return the derivative at other places, one for each along the label."""
        found = [self._at(f, x) for f in self.factors]
        terms = [
            mapped(_times, t, *(y for n, (y, _) in enumerate(found) if n != k))
            for k, (_, t) in enumerate(found) if t is not None
        ]  # fmt: skip
        if not terms:
            return Labelled(0.0 * self.w, (*self.batch, self.label))
        return mapped(_plus, *terms)

    def differences(self, second: int) -> Labelled:
        """Return the divided differences of eigenvalues along the label and a second one.

        They are the integral of the derivative between the two: by Lobatto's rule, where that
        loses fewer digits than the difference of values does.
        """
        k, l = self.label, second
        other = {k: l}
        x, y = self._x, self._x.renamed(other)
        gap = mapped(np.subtract, x, y)
        value, slope = self.value(), self.slope()
        ends = [slope.renamed(other), slope]
        inner = [self._slope_at(mapped(lambda a, b, t=t: b + t * (a - b), x, y)) for t in _INNER]
        nodes = [ends[0], *inner, ends[1]]
        five = mapped(lambda *p: _weighted(_SHARES, p), *nodes)
        three = mapped(
            lambda a, b, c: _weighted((1 / 6, 2 / 3, 1 / 6), (a, b, c)), ends[0], inner[1], ends[1]
        )
        eps = float(np.finfo(self.w.dtype).eps)
        back = value.renamed(other)

        def smooth(five: Any, three: Any, gap: Any, a: Any, b: Any) -> Any:
            size = np.abs(five)
            off = np.abs(five - three) / np.where(size == 0, 1.0, size)
            return off * np.sqrt(off) * np.abs(gap) * size <= 4 * eps * (np.abs(a) + np.abs(b))

        near = mapped(smooth, five, three, gap, value, back)
        same = self._same(second)
        if same is None:
            return mapped(_chosen, near, five, gap, value, back)
        size = np.abs(x.value)
        if 0 not in size.shape:
            size = np.max(size, axis=-1, keepdims=True)
        room = Labelled((8 + self.w.shape[-1]) * eps * size[..., 0], self.batch)
        most = np.abs(slope.value)
        if 0 not in most.shape:
            most = np.max(most)
        found = mapped(_chosen, mapped(np.logical_and, near, same), five, gap, value, back)

        def settled(found: Any, same: Any, gap: Any, room: Any, *ends: Any) -> Any:
            a, b, s, t = ends
            # Two functions that touch are one; otherwise there is a jump. The decisions are the
            # same for values that are near, or differences of these differences were taken.
            touch = np.abs(a - b) <= 4 * room * (np.abs(s) + np.abs(t))
            touch = touch & (np.abs(s - t) <= eps**0.75 * most)
            tied = (np.abs(gap) <= room) & ~same
            found = np.where(tied & touch, 0.5 * (s + t), found)
            return np.where(tied & ~touch, np.nan, found)

        return mapped(settled, found, same, gap, room, value, back, *ends)

    def _same(self, second: int) -> Labelled | None:
        """Return where what is read but eigenvalues is the same; None where nothing is."""
        found = []
        other = {self.label: second}
        for node, axes in self._data():
            value = Labelled.of(Traced(node), axes)
            if node in self.analysis.behind and not self.analysis.is_function(node):
                # It may change as eigenvalues do, in a way of its own.
                order = (*self.batch, self.label, second)
                one = unit_like(mapped(np.subtract, self._x, self._x.renamed(other)).along(order))
                found.append(Labelled(one != 0, order))
            else:
                found.append(mapped(np.equal, value, value.renamed(other)))
        return mapped(_all, *found) if found else None

    def _data(self) -> Iterator[tuple[Node, Labels]]:
        """Yield what else depends on the label: data, and decisions by eigenvalues."""
        stack = [(f.node, f.axes) for f in self.factors]
        seen = set()
        while stack:
            node, axes = stack.pop()
            if self.label not in axes or (node, axes) in seen:
                continue
            seen.add((node, axes))
            known = node in self.analysis.forms
            if self.analysis.is_function(node) and node.dtype.kind == "f":
                if node not in self.analysis.bases:
                    stack.extend(_down(node, axes))
            elif not known and node in self.analysis.behind and _plain(node):
                stack.extend(_down(node, axes))  # one number for all may be repeated
            else:
                yield node, axes

    def _at(self, factor: Factor, x: Labelled) -> tuple[Labelled, Labelled | None]:
        """Return a factor and its derivative with other eigenvalues ``x`` along the label."""
        done: dict[tuple[Node, Labels], tuple[Labelled, Labelled | None]] = {}
        stack = [(factor.node, factor.axes)]
        while stack:
            key = node, axes = stack[-1]
            if key in done:
                stack.pop()
                continue
            fixed = (
                node not in self.analysis.forms or self.label not in axes or node.dtype.kind != "f"
            )
            if fixed:
                done[key] = Labelled.of(Traced(node), axes), None
            elif node in self.analysis.bases:
                done[key] = x, Labelled(1.0, ())
            else:
                below = list(_down(node, axes))
                missing = [b for b in below if b not in done]
                if missing:
                    stack.extend(missing)
                    continue
                done[key] = _step(node, axes, [done[b] for b in below])
            stack.pop()
        value, slope = done[factor.node, factor.axes]
        if factor.inverse:
            over = mapped(lambda v: 1.0 / v, value)
            if slope is not None:
                slope = mapped(lambda t, r: -t * (r * r), slope, over)
            value = over
        return value, slope


def _step(
    node: Node, axes: Labels, below: Sequence[tuple[Labelled, Labelled | None]]
) -> tuple[Labelled, Labelled | None]:
    """Return a step of a function, and its derivative, at other operands."""
    if node.op.kind == "view":
        return below[0]
    order = _joint([v for v, _ in below])
    xs = [v.along(order) for v, _ in below]
    y = node.op(*xs, **node.params)
    value = Labelled(y, order)
    if all(t is None for _, t in below):
        return value, None
    if node.op.name == "Cast":
        return value, below[0][1]
    slopes = partials(node.op, y, xs, node.params)
    taken = node.op.taken(y, *xs, **node.params) if node.op.taken is not None else [None] * len(xs)
    terms = []
    for (_, t), slope, chosen in zip(below, slopes, taken, strict=True):
        if t is None or slope is None:
            continue
        part = slope * t.along(order)
        if chosen is not None:
            condition, truth = chosen
            part = np.where(condition, part, 0.0) if truth else np.where(condition, 0.0, part)
        terms.append(part)
    if not terms:
        return value, None
    total = sum(terms[1:], start=terms[0])
    if isinstance(total, (int, float)):
        return value, Labelled(total, ())
    return value, Labelled(total, order[len(order) - total.ndim :])


def _squeezed(shape: Sequence[Any]) -> tuple[Any, ...]:
    *lead, n = shape
    return (*(d for d in lead if not (isinstance(d, int) and d == 1)), n)


def _times(*xs: Any) -> Any:
    found = xs[0]
    for x in xs[1:]:
        found = found * x
    return found


def _plus(*xs: Any) -> Any:
    return sum(xs[1:], start=xs[0])


def _all(*xs: Any) -> Any:
    found = xs[0]
    for x in xs[1:]:
        found = found & x
    return found


def _weighted(weights: Sequence[float], xs: Sequence[Any]) -> Any:
    return _plus(*(w * x for w, x in zip(weights, xs, strict=True)))


def _chosen(near: Any, smooth: Any, gap: Any, a: Any, b: Any) -> Any:
    return np.where(near, smooth, (a - b) / np.where(near, 1.0, gap))
