"""Run the tests where docs/versions.md says that they pass, and write the rows of its table.

``python docs/build_versions.py`` lists the rows, ``python docs/build_versions.py NAME ...`` runs
some and writes them, with the versions found, the commit and the day. A row for another Python,
or for other versions of the dependencies, gets a new virtual environment; the others run in the
environment of the script. Nothing else writes the table.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- runs: docs/build_versions.py -->", "<!-- end -->"
HEAD = """\
| row | where | versions | tests | result | run |
| --- | --- | --- | --- | --- | --- |"""
SMOKE = [
    "tests/test_captures.py",
    "tests/test_gufunc.py",
    "tests/test_inside_numba.py",
    "tests/test_kernels.py",
    "tests/unit/codegen/test_cache.py",
    "tests/unit/lowering/test_products.py",
    "tests/unit/lowering/test_simd.py",
    "tests/unit/runtime",
    "tests/unit/test_forks.py",
]
#: What symgrad/_core/base/platform.py can take for absent.
LACKS = "advice,fork,libmvec,limits,long,near,owners,structures,words"


@dataclass(frozen=True)
class Row:
    """Where the tests are run, and which of them.

    Attributes
    ----------
    where:
        Where, in words.
    python:
        The interpreter of a new environment, which has symgrad and its tests; None: this one.
    constraints:
        Further arguments of ``pip install``.
    environment:
        Variables that the tests are run with.
    tests:
        Arguments of pytest; none: the quick suite.
    """

    where: str
    python: str | None = None
    constraints: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()


LOWEST = ("-c", ".ci/lowest.txt")
OLD_LLVM = ("numba==0.65.1", "llvmlite==0.47.*")
ROWS = {
    "newest": Row("newest versions", "python3.11"),
    "all": Row("newest versions, every test", "python3.11", tests=("--all",)),
    "lowest": Row("lowest versions of all dependencies", "python3.11", LOWEST),
    "pytensor": Row("newest Numba that PyTensor admits", "python3.11", OLD_LLVM),
    "3.12": Row("Python 3.12", "python3.12"),
    "3.13": Row("Python 3.13", "python3.13"),
    "3.14": Row("Python 3.14", "python3.14"),
    "avx2": Row(
        "code for a processor with AVX2 and FMA, without AVX-512",
        environment={"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""},
    ),
    "sse": Row(
        "code for a processor with SSE4.2 alone",
        environment={"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
    ),
    "generic": Row(
        "code for any x86-64", environment={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    ),
    "scalar": Row("without vector mathematics", environment={"SYMGRAD_VECTOR_MATH": "0"}),
    "lacks": Row(
        "without what only some systems have, all at once",
        environment={"SYMGRAD_PRETEND": LACKS},
        tests=tuple(SMOKE),
    ),
}


def interpreter(row: Row, folder: Path) -> Path | str:
    """Return the interpreter for a row, in a new environment if it asks for one."""
    if row.python is None:
        return sys.executable
    found = shutil.which(row.python)
    if found is None:
        sys.exit(f"there is no {row.python} here")
    subprocess.run([found, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "-e", ".[test]", *row.constraints]
    subprocess.run(install, check=True, cwd=ROOT)
    return python


def versions(python: Path | str) -> str:
    """Return the versions that an interpreter has."""
    code = """
import platform
from importlib.metadata import version
names = {"NumPy": "numpy", "SciPy": "scipy", "SymPy": "sympy", "Numba": "numba",
         "llvmlite": "llvmlite"}
import symgrad
print(", ".join([f"symgrad {symgrad.__version__}", f"Python {platform.python_version()}",
                 *(f"{name} {version(package)}" for name, package in names.items())]))
"""
    done = subprocess.run(
        [python, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def minor(row: str) -> str:
    """Return the minor version of symgrad that a row was run with; none: an empty text."""
    found = re.search(r"symgrad (\d+\.\d+)", row)
    return found[1] if found else ""


def described() -> str:
    """Return the commit that is here, and whether it is changed."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(name: str, commit: str) -> str:
    """Run the tests of a row; return the row as it is now."""
    row = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        python = interpreter(row, Path(folder))
        environment = os.environ | row.environment
        command = [python, "-m", "pytest", "-q", *row.tests]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        sys.stderr.write(done.stdout[-20000:])
        counts = re.findall(r"(\d+) (passed|failed|errors?)", done.stdout.splitlines()[-1])
        found = versions(python)
    result = ", ".join(f"{count} {word}" for count, word in counts) or f"exit {done.returncode}"
    tests = "all" if "--all" in row.tests else "smoke set" if row.tests else "quick suite"
    return stamped(name, found, tests, result, f"{dt.date.today():%Y-%m-%d}, {commit}")  # noqa: DTZ011 (a page for people says the day where it was made)


def stamped(name: str, found: str, tests: str, result: str, stamp: str) -> str:
    return f"| {name} | {ROWS[name].where} | {found} | {tests} | {result} | {stamp} |"


def rows(text: str) -> dict[str, str]:
    """Return the rows of the page by their names."""
    table = text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    return {line.split("|")[1].strip(): line for line in table}


def table(known: dict[str, str], current: str) -> Iterator[str]:
    """Yield the lines of the table; a row of another minor version than the current says so."""
    yield HEAD
    for name in ROWS:
        row = known.get(name, "")
        if minor(row) == current:
            yield row
        else:
            stamp = row.split("|")[6].strip() if row else ""
            since = f"not run since {minor(row)}" if minor(row) else "not run"
            yield stamped(name, row.split("|")[3].strip() if row else "", "", since, stamp)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ROWS, []], help="rows to run")
    names = parser.parse_args().names
    if not names:
        print(*(f"{name:10} {row.where}" for name, row in ROWS.items()), sep="\n")
        return
    commit = described()  # before the first row changes the page
    for name in names:
        line = run(name, commit)
        print(line)
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        body = "\n".join(table(rows(text) | {name: line}, minor(line)))
        PAGE.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
