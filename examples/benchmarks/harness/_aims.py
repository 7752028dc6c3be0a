"""Whether the aims of a workload are met in a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._workload import Aim, Workload

#: What a gradient may cost beside its function, for every workload.
RATIO = 3.0


@dataclass(frozen=True)
class Verdict:
    """An aim, what was reached, and whether it is met; None: not measured."""

    workload: str
    aim: str
    reached: str
    met: bool | None


def verdicts(workload: Workload, results: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Compare a run with the aims."""
    found = [verdict(workload.name, aim, results) for aim in workload.aims]
    text = f"gradient/function below {RATIO:g}"
    for r in results:
        if r["workload"] == workload.name and r["peer"] == "symgrad" and r.get("ratio"):
            case = f"{r['case']}: {text}"
            found.append(Verdict(workload.name, case, f"{r['ratio']:.1f}", r["ratio"] < RATIO))
    return found


def verdict(name: str, aim: Aim, results: Sequence[dict[str, Any]]) -> Verdict:
    """Compare a run with one aim.

    Of a peer that was stopped at the limit is known that its first result takes longer.
    """
    mine = [r for r in results if r["workload"] == name and r["case"] == aim.case]
    times = {r["peer"]: r[aim.quantity] for r in mine if r.get("call")}
    late = {r["peer"]: stopped_at(r) for r in mine} if aim.quantity == "first" else {}
    ours = times.get("symgrad")
    theirs = [(times[p], p, "") for p in aim.peers if p in times]
    theirs += [(late[p] or 0.0, p, "over ") for p in aim.peers if late.get(p)]
    text = described(aim)
    if ours is None or not theirs:
        return Verdict(name, text, "not measured", None)
    best, peer, bound = min(theirs)
    met = best >= aim.factor * (ours - aim.extra)
    if bound and not met:
        return Verdict(name, text, "not measured", None)
    return Verdict(name, text, f"{bound}{best / ours:.2f} ({peer})", met)


def stopped_at(result: dict[str, Any]) -> float | None:
    """Return after how many seconds a peer without a first result was stopped."""
    found = re.search(r"\bover ([0-9.]+) s\b", result.get("failed") or "")
    return float(found[1]) if found else None


def described(aim: Aim) -> str:
    """The aim in words."""
    what = "time to first gradient" if aim.quantity == "first" else "call"
    peers = " and ".join(aim.peers)
    if aim.factor == 1:
        words = f"no slower than {peers}"
    elif aim.factor < 1:
        words = f"within {1 / aim.factor:.2g} x {peers}"
    else:
        words = f"{aim.factor:g} x as fast as {peers}"
    extra = f" + {aim.extra * 1e6:g} us" if aim.extra else ""
    return f"{aim.case}, {what}: {words}{extra}"
