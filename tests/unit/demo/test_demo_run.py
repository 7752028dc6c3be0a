"""The demo's output, on lambdified Jacobians verified with mpmath."""

from __future__ import annotations

import io
import itertools
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from rich.console import Console

import symgrad.demo
from symgrad.demo import Problem, load, run
from symgrad.demo._kernels import Kernels, derivatives, lambdify_kernels
from symgrad.demo._measure import interleaved, measure
from symgrad.demo._report import HEADINGS, floor, ulps
from symgrad.errors import DataError, MissingExtraError

PACKAGED = Path(symgrad.demo.__file__).parent / "data"


@dataclass(frozen=True)
class Entry:
    place: str
    condition: float


@dataclass(frozen=True)
class Check:
    name: str
    max_ulp: float
    worst: Entry | None


@dataclass(frozen=True)
class Report:
    checks: tuple[Check, ...]


def lambdified(problem: Problem) -> Kernels:
    """Stands in for ``compile_kernels``: the same functions without the compiler."""
    residual, jacobian = lambdify_kernels(problem)

    def verify(b: np.ndarray) -> Report:
        exact = sp.lambdify(problem.symbols, list(derivatives(problem).values()), "mpmath")
        worst = 0.0
        with mpmath.workdps(30):
            for row, *x in zip(jacobian(b), *problem.x, strict=True):
                for got, want in zip(row, exact(*x, *b), strict=True):
                    error = abs(mpmath.mpf(float(got)) + want)
                    worst = max(worst, float(error / np.spacing(abs(float(want)))))
        checks = Check("value", 1e9, None), Check("b", worst, Entry("d f[0] / d b[0]", 7.5))
        return Report(checks)

    return Kernels(residual, jacobian, verify)


def output(problem: str | None, data: Path | None = None, **options: object) -> tuple[int, str]:
    stream = io.StringIO()
    console = Console(file=stream, width=80, **options)
    return run(problem, console, data, make=lambdified), stream.getvalue()


@pytest.fixture
def few(tmp_path: Path) -> Path:
    for name in ("BoxBOD", "DanWood", "Rat42"):
        (tmp_path / f"{name}.dat").write_bytes((PACKAGED / f"{name}.dat").read_bytes())
    return tmp_path


def test_table_in_a_pipe_is_plain_text(few: Path) -> None:
    code, text = output(None, few)
    assert code == 0
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[1].split() == ["problem", *["start1", "start2"] * 3, "ulp", "µs", "takes", "dify"]
    assert [line.split()[0] for line in lines[2:7]] == [
        "lower", "DanWood", "higher", "BoxBOD", "Rat42",
    ]  # fmt: skip
    assert max(map(len, lines[:7])) <= 79
    danwood, boxbod = lines[3].split(), lines[5].split()
    assert len(danwood) == len(HEADINGS)
    assert danwood[1:3] == ["11.0", "11.0"]
    assert boxbod[1:3] == ["0.0", "11.0"]
    assert "from start 2 3 of 3 (least: 11.0" in text
    assert "from start 1 2 of 3" in text
    assert re.search(r"within 4 ulp of the exact one: [123] of 3. Worst: \d\.\d ulp \(", text)
    assert "d f[0] / d b[0]), where the model's own operations amplify rounding 7.5 times" in text
    assert "BoxBOD from start 1: MINPACK's Levenberg-Marquardt ends at b1 = 172.5, b2 = " in text
    assert "no longer depends on b2" in text
    assert "reaches 11.0 digits" in text


def test_table_on_a_terminal(few: Path) -> None:
    _, plain = output(None, few)
    code, text = output(None, few, force_terminal=True)
    assert code == 0
    assert "\x1b[32m11.0\x1b[0m" in text
    assert "\x1b[31m0.0\x1b[0m" in text
    assert "…" not in text
    # The progress bar.
    assert "0/3" in text
    assert "0/3" not in plain


def test_one_problem_in_full() -> None:
    code, text = output("rat42")
    assert code == 0
    assert text.startswith("Rat42: Exponential model, higher level of difficulty, 9 observations")
    for part in (
        "Model in the file:  y = b1 / (1+exp[b2-b3*x]) + e",
        "y = ─────────────",
        "∂f/∂b3 =",
        "From start 1 (",
        "7.2462237576e+01    11.0",
        "Report(checks=",
        "One Jacobian (9 by 3):",
        "sympy.lambdify of the symbolic derivatives",
    ):
        assert part in text


@pytest.mark.parametrize("problem", [None, "DanWood"])
def test_output_that_cannot_hold_unicode(problem: str | None, few: Path) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    assert run(problem, Console(file=stream, width=80), few, make=lambdified) == 0
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert ("df/db1 =" if problem else " us ") in text


def test_a_fit_that_fails_makes_the_code_1(few: Path) -> None:
    file = few / "DanWood.dat"
    text = file.read_text()
    assert text.count("2.138E0") == 1
    file.write_text(text.replace("2.138E0", "2.139E0"))
    code, text = output(None, few)
    assert code == 1
    assert "from start 2 2 of 3" in text


def test_errors_reach_the_caller(few: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no problem 'Rat99'"):
        output("Rat99")
    (few / "bad.dat").write_text("nothing")
    with pytest.raises(DataError, match=r"bad.dat, line 1: expected 'NIST/ITL StRD'"):
        output(None, few)


def test_without_rich_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(MissingExtraError, match=r"symgrad\[cli\]"):
        run("DanWood", make=lambdified)


def test_measure_reports_the_steps_and_what_it_is_given() -> None:
    problem = load("Misra1a")
    steps: list[str] = []
    outcome = measure(problem, lambdified, repeats=1, step=steps.append)
    assert steps == ["compiling", "fitting", "verifying", "timing"]
    assert min(outcome.reached) >= 9.5
    # Differences may come close (9.55 digits with NumPy 2.5): what counts is the gap.
    assert max(outcome.reached_roughly) < min(outcome.reached) - 0.2
    assert outcome.worst.name == "b"
    assert 0 < outcome.worst.max_ulp < 1000
    times = (outcome.times.symgrad, outcome.times.two_point, outcome.times.lambdify)
    assert all(0 < seconds < 1 for seconds in times)
    wrong = replace(problem, certified=problem.certified * 1.01)
    assert max(measure(wrong, lambdified, repeats=1).reached) < 2.1


def test_interleaved_times_tell_functions_apart() -> None:
    calls: list[str] = []

    def slow(_: np.ndarray) -> None:
        calls.append("slow")
        sum(range(100_000))

    def fast(_: np.ndarray) -> None:
        calls.append("fast")

    slow_seconds, fast_seconds = interleaved([slow, fast], np.zeros(1), repeats=3)
    assert slow_seconds > 10 * fast_seconds
    changes = sum(a != b for a, b in itertools.pairwise(calls))
    assert changes == 7


def test_numbers_as_text() -> None:
    assert [floor(value) for value in (9.49, 10.99, 11.0, 0.0)] == ["9.4", "10.9", "11.0", "0.0"]
    assert [ulps(value) for value in (0.5, 123.44, 12790.0, 1.3e42)] == [
        "0.5", "123.4", "1.3e+04", "1.3e+42",
    ]  # fmt: skip
