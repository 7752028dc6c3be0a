"""Derivatives of published libraries' functions as they stand, compared with finite differences.

``python examples/downstream`` tries the libraries that are installed, or those that are named;
``--list`` prints them, ``--only NAME`` tries functions whose names contain one, ``--json FILE``
writes each function's outcome. A library runs in processes apart, so that neither a crash nor a
hang ends the run. Ends with 1 if a derivative is silently wrong.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import json
import os
import pickle
import queue
import resource
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

from functions import LIBRARIES, Entry, collected, imported
from judge import NAN, NO_DERIVATIVE, NOT_JUDGED, REFUSED, RIGHT, WARNED, WRONG, judge

CRASHED, LATE = "crashed", "late"
#: From the outcome that decides over the others, if a function has several points.
OUTCOMES = (CRASHED, WRONG, NAN, WARNED, LATE, REFUSED, RIGHT, NO_DERIVATIVE, NOT_JUDGED)
MEMORY = 6 * 2**30
STARTING = 600.0  # seconds until the first function


def work(library: str, file: Path, start: int, out: TextIO) -> None:
    """Judge the functions of a file, from one on; print a line before and after each."""
    imported(library)
    chosen: list[Entry] = pickle.loads(file.read_bytes())  # noqa: S301 (our own)
    for place in range(start, len(chosen)):
        entry = chosen[place]
        print(json.dumps([place]), file=out, flush=True)
        verdicts = [judge(entry.function(), call) for call in entry.calls]
        first = min(verdicts, key=lambda v: OUTCOMES.index(v.outcome))
        print(json.dumps([place, first.outcome, first.reason, first.text]), file=out, flush=True)


def worker(arguments: list[str]) -> None:
    """Do a part of the work of a library: collect its functions, or judge them."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # functions print
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    job, name, file, *rest = arguments
    if job == "collect":
        only = rest[0].split(",") if rest and rest[0] else []
        chosen = collected(name)
        if only:
            chosen = [e for e in chosen if any(part in f"{e.module}.{e.name}" for part in only)]
        Path(file).write_bytes(pickle.dumps(chosen))
    else:
        work(name, Path(file), int(rest[0]), out)


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve().parent), "--worker", *arguments]


def run_worker(library: str, file: Path, start: int, limit: float) -> list[list[Any]]:
    """Run a worker until it ends, hangs or crashes; return its rows."""
    process = subprocess.Popen(
        command("judge", library, str(file), str(start)), cwd=file.parent,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    said: list[str] = []

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            del said[:-20]

    threading.Thread(target=read, daemon=True).start()
    ear = threading.Thread(target=listen, daemon=True)
    ear.start()
    rows: list[list[Any]] = []
    pending = None
    while True:
        try:
            # To import a library takes as long as the machine is busy.
            line = lines.get(timeout=limit if pending is not None else STARTING)
        except queue.Empty:
            process.kill()
            rows.append(
                [start if pending is None else pending, LATE, f"longer than {limit:g} s", ""]
            )
            break
        if line is None:
            break
        row = json.loads(line)
        pending = row[0] if len(row) == 1 else None
        if len(row) > 1:
            rows.append(row)
    status = process.wait()
    ear.join(timeout=5)
    if pending is not None and (not rows or rows[-1][0] != pending):
        rows.append([pending, CRASHED, f"exit status {status}", "".join(said)])
    return rows


def tried(library: str, only: str, limit: float) -> list[dict[str, str]]:
    """Judge the functions of a library; return a row for each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "functions")
        done = subprocess.run(
            command("collect", library, str(file), only),
            check=False, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            print(f"{library}: its functions cannot be listed")
            return []
        chosen: list[Entry] = pickle.loads(file.read_bytes())  # noqa: S301 (our own)
        rows: list[dict[str, str]] = []
        while len(rows) < len(chosen):
            for place, outcome, reason, text in run_worker(library, file, len(rows), limit):
                entry = chosen[place]
                row = {
                    "function": f"{entry.module}.{entry.name}", "points": entry.source,
                    "outcome": outcome, "reason": reason, "text": text,
                    "calls": repr([(c.args, c.kwargs) for c in entry.calls])[:2000],
                }  # fmt: skip
                rows.append(row)
                if outcome in (WRONG, NAN, WARNED, CRASHED):
                    print(f"    {row['function']}: {outcome}, {reason}: {text[:200]}", flush=True)
    return rows


def run_now() -> str:
    """Return the day, and the commit that is here with whether it is changed."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    folder = Path(__file__).resolve().parent
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    day = dt.date.today()  # noqa: DTZ011 (for people: the day where it was run)
    return f"{day:%Y-%m-%d}, {done.stdout.strip()}"


def installed(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(prog="python examples/downstream", description=__doc__)
    parser.add_argument("libraries", nargs="*", help="names, as pip has them")
    parser.add_argument("--list", action="store_true", help="print the libraries")
    parser.add_argument("--only", default="", help="parts of functions' names, with commas")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each function")
    parser.add_argument("--json", type=Path, help="a file for all outcomes")
    options = parser.parse_args()
    if options.list:
        for name, told in LIBRARIES.items():
            print(f"{name:20} {told.field:20} {installed(name) or 'not installed'}")
        return 0
    wrong, report, run = 0, {}, run_now()
    for library in options.libraries or LIBRARIES:
        version = installed(library)
        if version is None:
            print(f"{library}: not installed")
            continue
        rows = tried(library, options.only, options.limit)
        counts = Counter(row["outcome"] for row in rows)
        report[library] = {
            "version": version, "field": LIBRARIES[library].field, "run": run,
            "functions": rows,
        }  # fmt: skip
        parts = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
        print(f"{library} {version}: {len(rows)} functions, {parts}", flush=True)
        reasons = Counter(row["reason"] for row in rows if row["outcome"] == REFUSED)
        for reason, count in reasons.most_common():
            print(f"    {count:4} refused: {reason[:160]}")
        if options.json:
            options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
        wrong += counts[WRONG] + counts[CRASHED]
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
