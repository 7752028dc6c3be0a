"""The benchmarks compute what they say; how fast is not tested."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "benchmarks"
SHORT = ["rosen", "scalar_dag", "sincos", "nbody"]
LONG = [
    "black_scholes",
    "gmm",
    "ba",
    "mlp",
    "kinematics",
    "logistic",
    "lorenz",
    "lstm",
]  # to compile
NAMES = SHORT + LONG


#: Above these sizes a workload takes more than a minute to compile.
LARGEST = {"scalar_dag": 10_000}

#: Scripts whose results are not compared by ``checks()``, and why.
UNCHECKED = {
    **dict.fromkeys(NAMES, "test_symgrad_at_the_sizes_that_are_measured"),
    "__main__": "the workloads' command",
    "bridges": "the function is a sum of squares; the bridges have tests of their own",
    "design_notes": "each section compares ways of compiling one function, whose tests are others'",
    "eager_overhead": "25 numbers; tests/unit/tensor has the operations",
    "first_results": "tests/test_first_results.py",
    "nutpie_draws": "needs nutpie, and compares before it draws",
    "ode_problems": "the solutions that `ode` is compared with",
    "stamps": "no benchmark",
}

#: What scripts with checks need besides symgrad.
NEEDS = {"dask_chunks": "distributed"}


pytestmark = pytest.mark.usefixtures("scripts")


def errors(name: str, peer: str, *, small: bool = True) -> dict[str, float]:
    """Return the error of a peer on the quick cases of a workload."""
    import peers
    from harness._workload import error, load

    workload = load(name).for_peer(peer)
    adapter = peers.load(peer)
    found = {}
    for case in [c for c in workload.cases if c.quick][: 1 if small else None]:
        given = workload.arguments(case)
        call, arguments = adapter.build(workload, case, given)
        results = adapter.canonical(workload, case, call(*arguments))
        found[case.label] = error(results, workload.exact(case, *given))
    return found


def test_every_workload_is_here() -> None:
    from harness._workload import NAMES as there

    assert sorted(NAMES) == sorted(there)


@pytest.mark.parametrize("name", [*SHORT, *(pytest.param(n, marks=pytest.mark.slow) for n in LONG)])
def test_symgrad(name: str) -> None:
    worst = errors(name, "symgrad")
    assert worst
    assert max(worst.values()) < 1e-9, worst


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_symgrad_at_the_sizes_that_are_measured(name: str) -> None:
    """Long arrays run in chunks, long programs in parts: other code than for short ones."""
    import peers
    from harness._workload import error, load

    workload, adapter = load(name).for_peer("symgrad"), peers.load("symgrad")
    for case in workload.cases:
        if case.size > LARGEST.get(name, case.size):
            continue
        given = workload.arguments(case)
        call, arguments = adapter.build(workload, case, given)
        results = adapter.canonical(workload, case, call(*arguments))
        limit = 1e-5 if case.dtype == "float32" else workload.tolerance
        assert error(results, workload.exact(case, *given)) < limit, case.label


def scripts_with_checks() -> list[str]:
    """The scripts' names, read without importing what they need."""
    found = []
    for path in sorted(FOLDER.glob("[!_]*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if any(isinstance(x, ast.FunctionDef) and x.name == "checks" for x in body):
            found.append(path.stem)
    return found


def test_every_script_is_checked() -> None:
    there = {path.stem for path in FOLDER.glob("*.py") if path.stem != "_right"}
    assert there == set(scripts_with_checks()) | UNCHECKED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", scripts_with_checks())
def test_what_a_script_measures_is_right(name: str) -> None:
    """Each script in a process of its own: some set what libraries read when they are imported."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    command = [sys.executable, str(FOLDER / "_right.py"), name]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_wrong_is_seen() -> None:
    from _right import along, equal

    x = np.array([1.0, 2.0, 3.0])
    equal(x, x)
    with pytest.raises(AssertionError):
        equal(x + 1e-9, x)
    with pytest.raises(AssertionError):
        equal(x * [1, 1, np.nan], x)
    along(lambda x, y: np.sum(x**3 * y), [3 * x**2, x**3], x, np.ones(3))
    with pytest.raises(AssertionError):
        along(lambda x, y: np.sum(x**3 * y), [3 * x**2, x**3 + [0, 1e-5, 0]], x, np.ones(3))


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["numpy", "numba", "C", "differences"])
@pytest.mark.parametrize("name", NAMES)
def test_by_hand(name: str, peer: str) -> None:
    import peers

    if peers.kind(peer).missing():
        pytest.skip(str(peers.kind(peer).missing()))
    try:
        worst = errors(name, peer)
    except peers.UnfitError as reason:
        pytest.skip(str(reason))
    assert max(worst.values()) < (1e-4 if peer == "differences" else 1e-9), worst


@pytest.mark.slow
@pytest.mark.parametrize(
    "peer", ["jax", "torch", "casadi", "heyoka", "autograd", "pytensor", "sympy", "symengine"]
)
def test_peer(peer: str, tmp_path: Path) -> None:
    import peers

    if peers.kind(peer).missing():
        pytest.skip(str(peers.kind(peer).missing()))
    run(tmp_path, "sincos", "--peers", peer, "--rounds", "1")
    record = json.loads((tmp_path / "record.json").read_text())
    assert all(r["right"] for r in record["results"] if not r.get("unfit")), record["results"]


def run(out: Path, *arguments: str) -> str:
    command = [sys.executable, str(FOLDER), *arguments]
    if arguments[0] in NAMES:
        command += ["--quick", "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # the checkout, installed or not
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_command(tmp_path: Path) -> None:
    printed = run(tmp_path, "sincos", "--peers", "symgrad,copy", "--rounds", "2")
    assert "sum(sin(a) + cos(a))" in printed
    assert "gradient/function below 3" in printed
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["machine"]["cores"] > 0
    assert record["versions"]["numpy"] == np.__version__
    for result in record["results"]:
        assert "failed" not in result, result
        assert result["low"] <= result["call"] <= result["high"]
        assert result["first"] > 0
        assert len(result["times"]) == 2


@pytest.mark.slow
def test_help_is_the_scripts() -> None:
    assert "--peers" in run(Path(), "--help")


def test_threads_are_not_timed() -> None:
    from harness._run import QUICK, repeats

    class Fake:
        def __init__(self, cores: float) -> None:
            self.cores = cores

        def ask(self, limit: float, name: str, *given: Any) -> dict[str, Any]:
            return {"ratio": None} if name == "ratio" else {"seconds": 1.0, "cores": self.cores}

    alone: dict[str, Any] = {}
    many: dict[str, Any] = {}
    repeats([(Fake(1.01), alone), (Fake(1.9), many)], QUICK)  # type: ignore[list-item]
    assert alone["call"] == 1.0
    assert "failed" not in alone
    assert "1.9 cores" in many["failed"]
    assert "call" not in many


def test_wrong_results_are_not_timed() -> None:
    from harness._workload import error

    exact = np.array([2.0, 1.0, -4.0])
    assert error(exact, exact) == 0
    assert error(np.array([2.0, 1.0, -4.1]), exact) == pytest.approx(0.1 / 4)
    assert error(np.array([2.2, 1.0, -4.0]), exact) == pytest.approx(0.1)
    assert error(np.array([2.0, np.nan, -4.0]), exact) == np.inf
    with pytest.raises(ValueError, match="shape"):
        error(exact[:2], exact)


def test_aims() -> None:
    from harness._aims import verdict
    from harness._workload import Aim

    def results(ours: float, theirs: float) -> list[dict[str, Any]]:
        common = {"workload": "w", "case": "10"}
        return [
            common | {"peer": "symgrad", "call": ours, "first": 1.0},
            common | {"peer": "jax", "call": theirs, "first": 1.0},
        ]

    assert verdict("w", Aim("10", ("jax",), 5.0), results(1.0, 5.0)).met is True
    assert verdict("w", Aim("10", ("jax",), 5.0), results(1.0, 4.9)).met is False
    assert verdict("w", Aim("10", ("jax",), 1.0, extra=0.5), results(1.5, 1.0)).met is True
    assert verdict("w", Aim("10", ("C",), 5.0), results(1.0, 4.9)).met is None


def test_aims_beside_peers_that_were_stopped() -> None:
    from harness._aims import verdict
    from harness._workload import Aim

    common = {"workload": "w", "case": "10"}
    results = [
        common | {"peer": "symgrad", "call": 1.0, "first": 2.0},
        common | {"peer": "jax", "failed": "over 20 s"},
        common | {"peer": "heyoka", "failed": "not tried: over 20 s at 5 already"},
        common | {"peer": "C", "call": 1.0, "first": 9.0},
        common | {"peer": "autograd", "failed": "RecursionError"},
    ]

    def judged(peers: tuple[str, ...], factor: float, quantity: str = "first") -> Any:
        found = verdict("w", Aim("10", peers, factor, quantity), results)
        return found.met, found.reached

    assert judged(("jax", "heyoka"), 10.0) == (True, "over 10.00 (heyoka)")
    assert judged(("jax",), 10.1) == (None, "not measured")
    assert judged(("jax", "C"), 4.0) == (True, "4.50 (C)")
    assert judged(("jax", "C"), 5.0) == (False, "4.50 (C)")
    assert judged(("autograd",), 1.0) == (None, "not measured")
    assert judged(("jax",), 1.0, "call") == (None, "not measured")


def test_page() -> None:
    """A record fills the page; all else in it stays."""
    from harness import _page

    result = {"workload": "sincos", "case": "25", "size": 25, "variant": "", "peer": "symgrad"}
    result |= {"first": 0.01, "call": 1e-6, "low": 9e-7, "high": 1.1e-6, "error": 1e-16}
    found = {
        "date": "2026-01-02T00:00:00+00:00",
        "quick": False,
        "machine": dict.fromkeys(("processor", "cores", "vectors", "system", "libc"), "m"),
        "python": "3",
        "commit": "c",
        "versions": {"numpy": "2", "symgrad": "0.1.0"},
        "missing": {},
        "results": [result],
    }
    pages = {path: path.read_text() for path in _page.PAGES}
    filled = _page.fill(pages, found)
    assert "| 25 | symgrad | 10 ms | 1 us |" in filled[ROOT / "docs/performance/elementwise.md"]
    assert "2026-01-02" in filled[ROOT / "docs" / "performance.md"]
    stamp = "Measured on 2026-01-02 at commit c, symgrad 0.1, on m, m cores, m"
    assert {path.stem: page.count(stamp) for path, page in filled.items() if stamp in page} == {
        "performance": 1, "elementwise": 1, "aims": 1,
    }  # fmt: skip
    for path, page in filled.items():
        tables = [line for line in page.splitlines() if line.startswith("| lorenz |")]
        assert tables == [x for x in pages[path].splitlines() if x.startswith("| lorenz |")]
        assert page.partition("<!-- measured")[0] == pages[path].partition("<!-- measured")[0]
    assert _page.fill(filled, found) == filled
    with pytest.raises(ValueError, match="machine"):
        _page.fill({ROOT: "nothing"}, found)


def test_workloads_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite for airspeed velocity runs; its settings lead to the repository."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SYMGRAD_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    settings = json.loads((FOLDER / "asv" / "asv.conf.json").read_text())
    assert (FOLDER / "asv" / settings["repo"]).resolve() == ROOT
    monkeypatch.syspath_prepend(FOLDER / "asv" / settings["benchmark_dir"])
    import workloads

    assert sorted(workloads.Calls.params) == sorted(NAMES)
    for kind in (workloads.Calls(), workloads.FirstCalls()):
        kind.setup("rosen")
        kind.time_call("rosen") if hasattr(kind, "time_call") else kind.time_first("rosen")
