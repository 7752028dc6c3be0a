"""Whether the aims of a workload are met in a run."""

from __future__ import annotations

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
    """Compare a run with one aim."""
    times = {
        r["peer"]: r[aim.quantity]
        for r in results
        if r["workload"] == name and r["case"] == aim.case and r.get("call")
    }
    ours = times.get(aim.whose)
    theirs = [(times[p], p) for p in aim.peers if p in times]
    text = described(aim)
    if ours is None or not theirs:
        return Verdict(name, text, "not measured", None)
    best, peer = min(theirs)
    met = best >= aim.factor * (ours - aim.extra)
    return Verdict(name, text, f"{best / ours:.2f} ({peer})", met)


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
    whose = "" if aim.whose == "symgrad" else f"{aim.whose}, "
    return f"{whose}{aim.case}, {what}: {words}{extra}"
