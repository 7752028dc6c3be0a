"""The report of a verification: what was compared, and how far off the worst was."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from ._compare import Entry, figures


@dataclass(frozen=True)
class Check:
    """The comparison of one thing: the value, or the derivatives by one input.

    Attributes
    ----------
    name:
        ``"value"``, or the input's name.
    max_ulp, median_ulp:
        Of the compared entries in ulp of the exact value. Entries that are zero because
        nothing depends on them are compared, too, but not part of the median.
    max_scaled:
        The largest error divided by the condition number (where that is above 1): what is
        left for the code to answer for.
    worst:
        The entry with the largest error; None if there is none.
    checked, total:
        How many entries were compared, of how many.
    kinks, doubtful:
        How many of them lie where the derivative does not exist, and where rounding has
        decided for another branch than the exact value.
    blurred:
        How many are so ill-conditioned that rounding may leave no correct digit.
    nans:
        How many of the kernel's numbers are nan, as the chain rule's are.
    tier:
        ``"symbolic"`` if entries were also confirmed by differentiating the whole
        expression with SymPy, else ``"chain rule"`` (SymPy's derivative of every
        operation, accumulated exactly).
    """

    name: str
    max_ulp: float
    median_ulp: float
    max_scaled: float
    worst: Entry | None
    checked: int
    total: int
    kinks: int
    doubtful: int
    blurred: int
    nans: int
    tier: str


NOTES = {
    "kinks": "at kinks, compared with the stated convention",
    "doubtful": "where rounding decides for another branch",
    "blurred": "so ill-conditioned that no digit need be right",
    "nans": "nan, as the chain rule is there",
}

#: A condition number with which a double's digits are all lost.
BLURRED = 2.0**52

HEADINGS = ("", "max ulp", "median", "/cond", "checked", "tier", "condition", "worst place")


@dataclass(frozen=True)
class Table:
    """A report to be laid out: its title, the rows below the headings, and remarks.

    Attributes
    ----------
    title, headings, rows, remarks:
        Texts.
    right:
        The first column after those that are aligned to the right; the first is not.
    errors:
        For each row the largest error in ulp, and that divided by the condition number.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    right: int
    errors: tuple[tuple[float, float], ...]

    def __str__(self) -> str:
        rows = (self.headings, *self.rows)
        wide = [max(len(row[k]) for row in rows) for k in range(len(self.headings))]
        lines = [self.title]
        for row in rows:
            cells = [c.rjust(w) if 0 < k < self.right else c.ljust(w)
                     for k, (c, w) in enumerate(zip(row, wide, strict=True))]  # fmt: skip
            lines.append(("  " + "  ".join(cells)).rstrip())
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks)])

    def html(self) -> str:
        """Return the report for a page: a table with its title, and the remarks."""

        def row(tag: str, cells: tuple[str, ...]) -> str:
            kinds = ["", *[" class=n"] * (self.right - 1), *[" class=words"] * len(cells)]
            marked = zip(cells, kinds, strict=False)
            return f"<tr>{''.join(f'<{tag}{k}>{escape(c)}</{tag}>' for c, k in marked)}</tr>"

        body = "\n".join([row("th", self.headings), *(row("td", cells) for cells in self.rows)])
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return f"<table>\n<caption>{escape(self.title)}</caption>\n{body}\n</table>\n{remarks}"


@dataclass(frozen=True)
class Report:
    """What :func:`symgrad.verify` found.

    Attributes
    ----------
    function:
        Name of the function.
    checks:
        One for the value, then one for each input that was differentiated by.
    digits:
        Digits of the exact values.
    limit:
        The allowed error in ulp, where the condition number is at most 1.
    confirmed:
        How many derivative entries were confirmed by whole-expression differentiation.
    notes:
        What to know about this verification.
    """

    function: str
    checks: tuple[Check, ...]
    digits: int
    limit: float
    confirmed: int
    notes: tuple[str, ...] = ()

    @property
    def max_ulp(self) -> float:
        """The largest error of any compared entry, in ulp."""
        return max((c.max_ulp for c in self.checks), default=0.0)

    @property
    def max_scaled(self) -> float:
        """The largest error in ulp, divided by the condition number where that is above 1."""
        return max((c.max_scaled for c in self.checks), default=0.0)

    @property
    def median_ulp(self) -> float:
        """The largest median of the checks, in ulp."""
        return max((c.median_ulp for c in self.checks), default=0.0)

    def __getitem__(self, name: str) -> Check:
        """Return the check of the value or of an input by its name."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r}: the report is on {', '.join(c.name for c in self.checks)}")

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> Table:
        """Return what the text is laid out from."""
        rows = []
        for c in self.checks:
            place, condition = "-", "-"
            if c.worst is not None and c.max_ulp > 0:
                place, condition = c.worst.place, f"{c.worst.condition:.2g}"
            label = c.name if c.name == "value" else f"d/d {c.name}"
            rows.append((label, _ulp(c.max_ulp), _ulp(c.median_ulp), _ulp(c.max_scaled),
                         f"{c.checked}/{c.total}", c.tier, condition, place))  # fmt: skip
        return Table(
            f"{self.function}: kernel against exact values to {self.digits} digits",
            HEADINGS, tuple(rows), tuple(f"note: {note}" for note in self._notes()), 5,
            tuple((c.max_ulp, c.max_scaled) for c in self.checks),
        )  # fmt: skip

    def _notes(self) -> list[str]:
        notes = list(self.notes)
        for field, meaning in NOTES.items():
            count = sum(getattr(c, field) for c in self.checks)
            if count:
                notes.append(f"{count} {'entry' if count == 1 else 'entries'} {meaning}")
        return notes

    def to_json(self) -> str:
        """Return the report as JSON text; infinities and nan are strings."""
        data = asdict(self)
        data["max_ulp"], data["median_ulp"] = self.max_ulp, self.median_ulp
        return json.dumps(_plain(data), indent=2, allow_nan=False)


def _ulp(value: float) -> str:
    return f"{value:.2f}" if value < 1e4 else f"{value:.1e}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def summarize(name: str, entries: Sequence[Entry], zeros: int, total: int, confirmed: int) -> Check:
    """Return the check of compared ``entries`` and ``zeros`` more that are exactly right."""
    counted = [e for e in entries if not e.doubtful]
    return Check(
        name,
        *figures(entries),
        worst=max(counted, key=lambda e: (not e.allowed, e.ulp), default=None),
        checked=len(entries) + zeros,
        total=total,
        kinks=sum(e.kink for e in entries),
        doubtful=len(entries) - len(counted),
        blurred=sum(e.condition >= BLURRED for e in entries),
        nans=sum(math.isnan(e.computed) for e in entries),
        tier="symbolic" if confirmed else "chain rule",
    )
