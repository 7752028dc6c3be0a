"""The record of a run: machine, versions, results, as JSON."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ._workload import FOLDER

PACKAGES = ("symgrad", "numpy", "scipy", "sympy", "numba", "llvmlite")
FORMAT = 1


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def vectors() -> str:
    """The widest vector instructions that the processor says it has."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "unknown"
    return next((n for f, n in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if f in flags), "none")


def commit() -> str:
    """The checkout's commit, and whether files have changed since."""
    git = ["git", "-C", str(FOLDER), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


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
            "system": f"{platform.system()} {platform.release()}",
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
