"""The record of a run: machine, versions, results, as JSON."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from stamps import commit, processor, vectors

PACKAGES = ("symgrad", "numpy", "scipy", "sympy", "numba", "llvmlite")
FORMAT = 1


def record(
    results: Sequence[dict[str, Any]], missing: dict[str, str], quick: bool
) -> dict[str, Any]:
    """Return all there is to say about a run."""
    versions = {name: metadata.version(name) for name in PACKAGES}
    versions |= {r["peer"]: r["version"] for r in results if r.get("version")}
    return {
        "format": FORMAT,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "vectors": vectors(),
            "system": platform.system(),
            "libc": "-".join(platform.libc_ver()),
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        },
        "python": platform.python_version(),
        "commit": commit(),
        "versions": versions,
        "missing": missing,
        "results": list(results),
    }


def write(path: Path, found: dict[str, Any]) -> None:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def read(paths: Sequence[Path]) -> dict[str, Any]:
    """Read records; of results for the same peer and case the last file's counts."""
    merged: dict[str, Any] = {}
    results: dict[tuple[str, str, str], dict[str, Any]] = {}
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"{path} has format {found['format']}, not {FORMAT}")
        merged = {**merged, **found, "versions": merged.get("versions", {}) | found["versions"]}
        results |= {(r["workload"], r["case"], r["peer"]): r for r in found["results"]}
    return merged | {"results": list(results.values())}
