"""The certificate: what a function's derivatives are worth over a domain."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .._core.base.argument_checks import as_path
from .._core.graph import Node, element_count, topological
from .._core.op import Placing
from ..errors import DataError
from ._compare import Entry, figures
from ._kinks import Kink
from ._report import Table, _plain, _ulp
from ._steps import Loss

FORMAT, VERSION = "symgrad certificate", 2

HEADINGS = ("", "max ulp", "median", "/cond", "condition", "compared", "by", "worst at")


@dataclass(frozen=True)
class Row:
    """One result by one input, or one result's value, over all points.

    Attributes
    ----------
    name:
        ``"value"`` or ``"d/d x"``, with the result's number if there are several.
    max_ulp, median_ulp:
        The errors in units in the last place of the exact value.
    max_scaled:
        The largest error divided by the condition number, where that is above 1.
    worst, point:
        The entry with the largest error, and where it was: arguments by name.
    compared:
        How many numbers were compared, derivatives that are 0 by construction included; the
        median is of the others.
    enclosed:
        How many of the exact ones were confirmed by ball arithmetic, which is a proof.
    proved:
        Whether the program's formula was shown to be identically the derivative.
    nans, first_nan:
        How many of the kernel's numbers are nan, as the chain rule's are, and the first's point.
    """

    name: str
    max_ulp: float
    median_ulp: float
    max_scaled: float
    worst: Entry | None
    point: Mapping[str, Any]
    compared: int
    enclosed: int = 0
    proved: bool = False
    nans: int = 0
    first_nan: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tier(self) -> str:
        """What stands behind the row, the strongest first."""
        found = ["identity"] if self.proved else []
        found += ["enclosure"] if self.enclosed else []
        return " + ".join([*found, "sampling"])

    @property
    def place(self) -> str:
        """Where the largest error is, in words: of an array with its element."""
        if self.worst is None or self.max_ulp == 0:
            return ""
        inside = "[" in self.worst.place or not self.point
        parts = [self.worst.place] * inside + [_places(self.point)] * bool(self.point)
        return ", ".join(parts)


@dataclass(frozen=True)
class Certificate:
    """What :func:`symgrad.verify` found over a domain.

    Attributes
    ----------
    function:
        Its name.
    domain:
        For each argument that was sampled its interval, ``[low, high]``.
    points:
        How many points were looked at, ends of the domain included.
    digits, limit:
        Digits of the exact values; the allowed error in ulp.
    rows:
        One row for each result and input.
    loss:
        The step that loses most digits at the worst point, or None if that is not known.
    kinks:
        Where within the domain a derivative does not exist or a convention is used.
    cost:
        Operations of the gradient and of the function.
    program:
        The function as a saved program, so that the certificate can be checked again.
    versions:
        What it was made with.
    fixed:
        The values of the other arguments.
    seed:
        Of the random points.
    """

    function: str
    domain: Mapping[str, Any]
    points: int
    digits: int
    limit: float
    rows: tuple[Row, ...]
    loss: Loss | None
    kinks: tuple[Kink, ...]
    cost: Cost | None
    program: str = field(repr=False, default="")
    versions: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def max_ulp(self) -> float:
        """The largest error of any row, in ulp."""
        return max((r.max_ulp for r in self.rows), default=0.0)

    def __getitem__(self, name: str) -> Row:
        """Return a row by its name; ``"x"`` means ``"d/d x"``."""
        for row in self.rows:
            if name in (row.name, row.name.removeprefix("d/d ")):
                return row
        raise KeyError(f"{name!r}: the rows are {', '.join(r.name for r in self.rows)}")

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> Table:
        """Return what the text is laid out from."""
        rows = []
        for r in self.rows:
            condition = "-" if r.worst is None else f"{r.worst.condition:.2g}"
            rows.append((r.name, _ulp(r.max_ulp), _ulp(r.median_ulp), _ulp(r.max_scaled),
                         condition, str(r.compared), r.tier, r.place or "-"))  # fmt: skip
        remarks = [] if self.loss is None else [f"loses digits: {self.loss}"]
        remarks += [f"kink: {kink}" for kink in self.kinks]
        remarks += [
            f"nan: {r.name} at {r.nans} of {r.compared} places, {_places(r.first_nan)}"
            for r in self.rows
            if r.nans
        ]
        remarks += [] if self.cost is None else [f"cost: {self.cost}"]
        sampled = f"{self.function} on {_domain(self.domain)}: {self.points} points"
        return Table(
            f"{sampled}, exact values to {self.digits} digits",
            HEADINGS, tuple(rows), tuple(remarks), 6,
            tuple((r.max_ulp, r.max_scaled) for r in self.rows),
        )  # fmt: skip

    def to_json(self) -> str:
        """Return the certificate as JSON text; infinities and nan are strings."""
        data = {"format": FORMAT, "version": VERSION, **asdict(self)}
        data["program"] = json.loads(self.program) if self.program else None
        return json.dumps(_plain(data), indent=1, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file, for :func:`symgrad.recheck`."""
        as_path(path, "save: path").write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that :meth:`save` wrote; the file is data, no code runs.

        Raises
        ------
        DataError
            If the file is no certificate.
        """
        try:
            data = json.loads(
                as_path(path, "recheck: path").read_text(encoding="utf-8"), parse_constant=float
            )
            if data.pop("format") != FORMAT or data.pop("version") != VERSION:
                raise ValueError("another format")
            rows = tuple(_row(r) for r in data.pop("rows"))
            loss, cost = data.pop("loss"), data.pop("cost")
            kinks = tuple(Kink(**k) for k in data.pop("kinks"))
            program = data.pop("program")
            data["limit"] = float(data["limit"])
            for name in ("points", "digits", "seed"):
                if type(data[name]) is not int:
                    raise TypeError(f"{name} is {data[name]!r}, not a whole number")
            return cls(
                rows=rows, loss=Loss(**_floats(loss)) if loss else None, kinks=kinks,
                cost=Cost(**cost) if cost else None,
                program=json.dumps(program) if program else "", **data,
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: no symgrad certificate: {error}") from None


def _row(data: dict[str, Any]) -> Row:
    worst = data.pop("worst")
    entry = Entry(**_floats(worst)) if worst else None
    return Row(worst=entry, **_floats(data))


def _floats(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with infinities and nan read back from their names."""
    names = ("inf", "-inf", "nan")
    return {k: float(v) if isinstance(v, str) and v in names else v for k, v in data.items()}


def _domain(domain: Mapping[str, Any]) -> str:
    parts = [f"{name} in [{low:g}, {high:g}]" for name, (low, high) in domain.items()]
    return ", ".join(parts) or "one point"


def _places(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_short(value, 6)}" for name, value in point.items())


def _short(value: Any, digits: int = 4) -> str:
    """Return a number or the beginning of an array as text."""
    if not isinstance(value, list):
        return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    parts = [_short(v) for v in value[:3]] + ["..."] * (len(value) > 3)
    return f"[{', '.join(parts)}]"


def combined(
    names: Sequence[str], entries: Sequence[Sequence[tuple[Entry, Mapping[str, Any]]]],
    zeros: Sequence[int],
) -> list[Row]:  # fmt: skip
    """Return the rows for entries of all points, each with its point; ``zeros`` are right, too."""
    rows = []
    for name, found, more in zip(names, entries, zeros, strict=True):
        counted = [pair for pair in found if not pair[0].doubtful]
        worst, point = max(counted, key=lambda pair: pair[0].ulp, default=(None, {}))
        nans = [place for entry, place in found if math.isnan(entry.computed)]
        rows.append(Row(
            name, *figures(entry for entry, _ in found), worst=worst, point=point,
            compared=len(found) + more, nans=len(nans), first_nan=next(iter(nans), {}),
        ))  # fmt: skip
    return rows


# ---------------------------------------------------------------- cost


#: The cheap-gradient principle: a gradient costs at most about this many functions, whatever
#: the number of inputs. A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008,
#: section 3.3: between 3 and 4 for programs of additions, products and elementary functions.
BOUND = 4.0

#: The bound compares costs; a count of so few operations of different cost says nothing of it.
SHORT = 10


@dataclass(frozen=True)
class Cost:
    """Operations on single numbers, counted in the programs.

    Attributes
    ----------
    function, gradient:
        Operations of the function; of the function with its gradient.
    """

    function: int
    gradient: int

    @property
    def ratio(self) -> float:
        """How many functions the value and the gradient cost."""
        return self.gradient / max(self.function, 1)

    def __str__(self) -> str:
        counted = (
            f"{self.gradient} operation{'s' * (self.gradient != 1)} for value and gradient, "
            f"{self.function} for the value: {self.ratio:.2f} times"
        )
        bound = f"the cheap-gradient bound of {BOUND:g}"
        if self.ratio <= BOUND:
            return f"{counted}, within {bound}"
        # One power is one operation, and its derivatives are several cheaper ones.
        short = ", which is for longer functions" if self.function < SHORT else ""
        return f"{counted}, above {bound}{short}"


def operations(outputs: Sequence[Node]) -> int:
    """Return the operations on single numbers behind ``outputs``; sizes must be numbers."""
    return sum(_operations(node) for node in topological(outputs))


def _operations(node: Node) -> int:
    kind = node.op.kind
    if kind == "map":
        return element_count(node)
    if kind in ("reduce", "scan"):
        return element_count(node.operands[0])
    if kind == "contract":
        sizes: dict[str, int] = {}
        for letters, x in zip((node.params["a"], node.params["b"]), node.operands, strict=True):
            sizes |= {letter: int(d) for letter, d in zip(letters, x.shape, strict=True)}
        return 2 * math.prod(sizes.values())
    if kind == "scatter":
        assert isinstance(node.op, Placing)
        return sum(element_count(x) for x in node.operands[: node.op.parts_of(node.operands)])
    return 0  # moves elements
