"""Write docs/downstream.md: derivatives of published libraries' functions as they stand.

``python docs/build_downstream.py NAME ...`` runs ``examples/downstream`` on libraries and writes
their rows, with the versions found, the commit and the day; ``--all`` runs all of them.
``--install`` does so in a new environment, which gets symgrad and the libraries from PyPI. With
``--from FILE`` the rows are those of a run that is there. Other rows stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "downstream"
PAGE = ROOT / "docs" / "downstream.md"
LIBRARIES, FUNCTIONS = "<!-- libraries: docs/build_downstream.py -->", "<!-- functions -->"
END = "<!-- end -->"
HEAD = """\
| library | all | right | wrong | refused | warned, nan | no derivative | not judged | \
field | version | run |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |"""
FUNCTION_HEAD = """\
| library | function | outcome | reason |
| --- | --- | --- | --- |"""
SHOWN = ("refused", "late", "warned", "nan", "wrong", "crashed")

STOPPED = "Newton's method, stopped at 1e-3; the derivative is that of the root"
INFINITE = "0 by an infinite argument, where differences have no steps"
COMPLEX = "a negative Python float to a fraction is complex"
ROUNDING = "pairs of floats: a derivative of rounding errors"
#: Functions that a person has looked at, where numbers differ by no fault: not judged.
NO_FAULT = {
    "chemicals.Rachford_Rice_solution_binary_dd": ROUNDING,
    "chemicals.rachford_rice.Rachford_Rice_err_fprime_Leibovici_Neoschil_dd": ROUNDING,
    "fluids.time_v_terminal_Stokes": "with tol=1e-30, the logarithm of a rounding error",
    "fluids.numerics.roots_quartic": "the sign of a rounding error chooses the branch of a root",
    "pymap3d.ned2geodetic": "6,000 km cancel; steps of 1 to 1,000 m confirm the derivative",
    "pythermalcomfort.models.heat_index_rothfusz": "rounded: steps too close for differences",
    "pvlib.ivtools.sdm.pvsyst.bishop88_mpp": STOPPED,
    "pvlib.singlediode.bishop88": INFINITE,
    "pvlib.singlediode.bishop88_i_from_v": INFINITE,
    "pvlib.singlediode.bishop88_v_from_i": STOPPED,
    "pvlib.pvarray.fit_pvefficiency_adr": "one made-up point for five parameters",
    "pytransform3d.coordinates.cartesian_from_cylindrical": "of four numbers it leaves one unset",
    "spatialmath.base.angle_std": "the root of a rounding error",
    "spatialmath.base.removesmall": "numbers below 4e-15, closer than any step, are set to 0",
    "ht.temperature_effectiveness_air_cooler": "a value that its docstring calls numerical noise",
}
#: Reasons for other functions.
REASONS = {
    "chemicals.iapws97_region3_l": "values of 1e-217: a product in the chain rule underflows",
    "chemicals.iapws97_region3_s": "values of 1e-217: a product in the chain rule underflows",
    "chemicals.remove_zeros": "zeros are singled out, and replaced",
    "fluids.SA_ellipsoidal_head": "a sphere is singled out; its series has a root of the distance",
    "fluids.SA_partial_horiz_torispherical_head": "an error is caught in an integrand",
    "fluids.V_horiz_conical": "infinite terms that cancel, at the end of an arc cosine",
    "fluids.V_tank": "infinite terms that cancel, at the end of an arc cosine",
    "colossus.cosmology.power_spectrum.modelEisenstein98": COMPLEX,
    "colossus.cosmology.power_spectrum.transferFunction": COMPLEX,
    "filterpy.gh.optimal_noise_smoothing": COMPLEX,
    "pvlib.transformer.simple_efficiency": COMPLEX,
    "skrf.media.mline.hammerstad_ab": COMPLEX,
    "spatialmath.base.trinterp": "the sign of a number beside its length, at 0: a length's 0",
}


def run(names: list[str], install: bool) -> dict[str, Any]:
    """Run the script on libraries; return its report."""
    with tempfile.TemporaryDirectory() as folder:
        python = sys.executable
        if install:
            subprocess.run([python, "-m", "venv", folder], check=True)
            python = f"{folder}/bin/python"
            packages = ["-e", ".[test]", *(names or listed())]
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, cwd=ROOT)
        file = Path(folder, "report.json")
        command = [python, str(SCRIPT), *names, "--json", str(file)]
        subprocess.run(command, check=False, cwd=ROOT)  # 1: a wrong number, which the page shows
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return report


def listed() -> list[str]:
    """Return the names of all libraries."""
    command = [sys.executable, str(SCRIPT), "--list"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def outcome(one: dict[str, str]) -> str:
    """Return the outcome of a function, or that of the person who has looked at it."""
    fault = one["outcome"] in ("wrong", "warned", "nan")
    return "not judged" if fault and one["function"] in NO_FAULT else one["outcome"]


def row(library: str, told: dict[str, Any]) -> str:
    """Return the row of a library."""
    counts = Counter(outcome(one) for one in told["functions"])
    shown = [
        counts["right"],
        counts["wrong"] + counts["crashed"],
        counts["refused"] + counts["late"],
        counts["warned"] + counts["nan"],
        counts["not differentiable"],
        counts["not judged"],
    ]
    cells = [library, len(told["functions"]), *shown, told["field"], told["version"], told["run"]]
    return f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in cells)} |"


def functions(library: str, told: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of functions that are not right, by outcome and reason."""
    rows = [one for one in told["functions"] if one["outcome"] in SHOWN]
    for one in sorted(rows, key=lambda one: (-SHOWN.index(one["outcome"]), one["reason"])):
        name = one["function"]
        reason = NO_FAULT.get(name, REASONS.get(name, one["reason"]))
        reason = re.split(r"[.:] [Ww]rite ", re.sub(r"\s+", " ", reason))[0]
        reason = re.sub(r"^[A-Z]\w+Error: ", "", reason).replace("|", "\\|")[:100]
        yield f"| {library} | `{one['function']}` | {outcome(one)} | {reason} |"


def known(text: str, begin: str) -> dict[str, list[str]]:
    """Return the rows of a table of the page, by libraries."""
    found: dict[str, list[str]] = {}
    for line in text.partition(begin)[2].partition(END)[0].strip().splitlines()[2:]:
        found.setdefault(line.split("|")[1].strip(), []).append(line)
    return found


def total(rows: dict[str, list[str]]) -> str:
    """Return the row of sums."""
    cells = [[cell.strip() for cell in lines[0].strip("|").split("|")] for lines in rows.values()]
    sums = [sum(int(line[k].replace(",", "")) for line in cells) for k in range(1, 8)]
    return f"| **all** | {' | '.join(f'**{n:,}**' for n in sums)} | | | |"


def written(text: str, report: dict[str, Any]) -> str:
    """Return the page with the rows of a report."""
    table, single = known(text, LIBRARIES), known(text, FUNCTIONS)
    table.pop("**all**", None)
    for library, told in report.items():
        if told["functions"]:
            table[library] = [row(library, told)]
            single[library] = [*functions(library, told)]
    order = sorted(table, key=str.lower)
    libraries = "\n".join([HEAD, *(table[name][0] for name in order), total(table)])
    rest = "\n".join([FUNCTION_HEAD, *(line for name in order for line in single.get(name, []))])
    for begin, body in ((LIBRARIES, libraries), (FUNCTIONS, rest)):
        before, _, after = text.partition(begin)
        text = f"{before}{begin}\n{body}\n{END}{after.partition(END)[2]}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", help="names, as pip has them")
    parser.add_argument("--all", action="store_true", help="run all libraries")
    parser.add_argument("--install", action="store_true", help="in a new environment")
    parser.add_argument("--from", dest="file", type=Path, action="append", help="of earlier runs")
    options = parser.parse_args()
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in options.file or []]
    if options.all or options.libraries:
        reports.append(run(options.libraries, options.install))
    if not reports:
        parser.error("name libraries, or give --all or --from")
    for report in reports:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    main()
