"""Write docs/reliability.md: what tries to break symgrad, how often, and how it ended.

``python docs/build_reliability.py`` runs every case of every attack (hours on two cores) and
writes the page; with tally files of earlier runs (``pytest tests/attacks --whole --tally FILE``,
whole or of single attacks with ``-k``) as arguments it adds these up instead, and leaves the rows
of attacks that are not in them as they are.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ATTACKS = ROOT / "tests" / "attacks"
PAGE = ROOT / "docs" / "reliability.md"

HEAD = """\
# Reliability

<!-- Made by docs/build_reliability.py; do not edit. -->

A silent wrong answer is the worst that a derivative can do. So generators try to break \
symgrad, each at one of its edges, and each case is judged by something that is not symgrad. A \
small part of each runs with every test run, always the same cases. The table counts the cases \
that were run when this page was made, of all that there are.

A case that is *refused* ends in the error that the docs promise, before anything is computed or \
written. *Failed* is anything else: a wrong number, a crash, a hang, an error of the wrong kind. \
Each finding of an attack became a separate test beside the fixed code. One case alone runs \
by `python -m pytest tests/attacks -k NAME --cases N:N+1`.

Generators write programs as we imagine them. [Published libraries](downstream.md) are \
differentiated as their authors wrote them, too.

| attack | what it varies | judged by | cases run | ended | failed |
| --- | --- | --- | ---: | --- | ---: |
"""


@dataclass(frozen=True)
class Attack:
    """A generator of cases, as its test describes it."""

    name: str
    varies: str
    judge: str
    whole: int


def attacks() -> list[Attack]:
    """Return the attacks in the order of their files; those that test the machinery are none."""
    found = []
    for path in sorted(ATTACKS.glob("test_*.py")):
        if path.stem == "test_attacks":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for mark in node.decorator_list:
                    if not (
                        isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith(".attack")
                    ):
                        continue
                    given = {k.arg: ast.literal_eval(k.value) for k in mark.keywords}
                    varies = (ast.get_docstring(node) or "").split("\n\n")[0]
                    found.append(
                        Attack(
                            node.name.removeprefix("test_"),
                            " ".join(varies.split()),
                            given["judge"],
                            given["whole"],
                        )
                    )
    return found


def tried(files: list[Path]) -> dict[str, Counter[str]]:
    """Return how many cases of each attack ended how."""
    total: dict[str, Counter[str]] = {}
    for file in files:
        for name, outcomes in json.loads(file.read_text()).items():
            for how, count in outcomes.items():  # "refused: why"
                total.setdefault(name, Counter())[how.partition(":")[0]] += count
    return total


def known_rows() -> dict[str, str]:
    """Return the rows that the page has, by the names of the attacks."""
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}


def page(total: dict[str, Counter[str]], known: dict[str, str], stamp: str = "") -> str:
    """Return the page's text, with known rows for attacks of which nothing was run."""
    rows = []
    for attack in attacks():
        name = attack.name.replace("_", " ")
        if attack.name not in total and name in known:
            rows.append(known[name])
            continue
        outcomes = Counter(total.get(attack.name, {}))
        cases, failed = sum(outcomes.values()), outcomes.pop("failed", 0)
        ended = ", ".join(f"{count:,} {how}" for how, count in outcomes.most_common())
        rows.append(
            f"| {name} | {attack.varies.rstrip('.')} | {attack.judge} "
            f"| {cases:,} of {attack.whole:,} | {ended} | {failed:,} |\n"
        )
    head, _, table = HEAD.rpartition("\n\n")
    return f"{head}\n\n{stamp}\n\n{table}" + "".join(rows)


def main() -> None:
    """Run the attacks, or add up tallies, and write the page."""
    files = [Path(name) for name in sys.argv[1:]]
    known = known_rows() if files else {}
    with tempfile.TemporaryDirectory() as folder:
        if not files:
            files = [Path(folder, "tally.json")]
            command = [sys.executable, "-m", "pytest", str(ATTACKS), "--whole"]
            # Failures are counted on the page, too.
            subprocess.run([*command, "--tally", str(files[0])], cwd=ROOT, check=False)
        sys.path.insert(0, str(ROOT / "examples" / "benchmarks"))
        import stamps

        # Where some attacks were run, the stamp stays that of the others.
        made = stamps.kept(PAGE.read_text(encoding="utf-8")) if known else None
        text = page(tried(files), known, made or stamps.stamp())
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
