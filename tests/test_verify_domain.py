"""Certificates: verification over a domain, saved and checked again."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, DataError, VerificationError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def numpy_backend() -> Any:
    with sg.backend("numpy"):
        yield


def wobbly(x: Any, y: Any) -> Any:
    return np.log(1 + np.exp(x)) * np.abs(y) + np.sqrt(x - y + 10)


def test_a_certificate_has_a_row_for_each_input() -> None:
    found = sg.verify(wobbly, domain={"x": (-5.0, 5.0), "y": (-2.0, 2.0)}, points=8)
    assert [row.name for row in found.rows] == ["value", "d/d x", "d/d y"]
    assert found.max_ulp < 8
    assert found["x"].proved
    assert found["x"].compared == found.points
    assert found["x"].median_ulp <= found["x"].max_ulp
    assert found["x"].point.keys() == {"x", "y"}
    assert "sampling" in str(found)


def test_corners_ends_and_zero_are_among_the_points() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y

    found = sg.verify(f, domain={"x": (-1.0, 3.0), "y": (2.0, 5.0)}, points=2)
    worst = {(r.point["x"], r.point["y"]) for r in found.rows if r.point}
    assert worst
    # 4 corners; 6 near the ends of each, 2 of x and 2 of y being new; 0 and its sides; 2.
    assert found.points == 4 + 6 + 6 + 3 + 2


def test_the_step_that_loses_the_digits_is_named() -> None:
    def f(x: Any) -> Any:
        return (np.exp(x) - 1 - x) * 2.0

    found = sg.verify(f, domain=(1e-9, 1e-7), points=4, limit=math.inf)
    assert found.loss is not None
    assert "exp(x)" in found.loss.step
    assert found.loss.after > 1e5 > 10 > found.loss.before
    assert Path(__file__).name in str(found.loss)
    assert found["value"].max_scaled < 2  # the problem is ill-conditioned: said beside it


def test_kinks_are_found_with_the_line() -> None:
    def f(x: Any) -> Any:
        a = np.abs(x - 0.25)
        b = np.where(x > 0.5, x, 2 * x)
        return a + b + np.sqrt(x + 1) + np.floor(4 * x)

    found = sg.verify(f, domain=(-1.0, 1.0), points=4, limit=math.inf)
    kinds = {kink.step: kink for kink in found.kinks}
    assert kinds["Abs(x - 0.25)"].convention == "derivative 0 at 0"
    assert any(step.startswith("floor") for step in kinds)
    assert any(">" in step for step in kinds)
    assert [k.what for step, k in kinds.items() if step.startswith("sqrt")] == ["edge"]
    line = f.__code__.co_firstlineno + 1
    assert kinds["Abs(x - 0.25)"].where == f"{Path(__file__).name}:{line}"
    smooth = sg.verify(lambda x: np.abs(x) + np.sqrt(x), domain=(1.0, 2.0), points=4)
    assert smooth.kinks == ()


def test_cost_is_compared_with_the_bound() -> None:
    found = sg.verify(lambda x: np.sin(x) * np.exp(x), domain=(0.0, 1.0), points=1)
    assert found.cost is not None
    assert found.cost.function == 3
    assert found.cost.ratio <= 4
    assert "within" in str(found.cost)


def test_identities_are_told_from_samples() -> None:
    found = sg.verify(lambda x: np.sin(x) ** 2 / x, domain=(1.0, 2.0), points=2)
    assert found["x"].tier.startswith("identity")
    arrays = sg.verify(lambda x: np.sum(x**2), np.ones(3), domain=(1.0, 2.0), points=2)
    assert "identity" not in arrays["x"].tier


def test_a_wrong_rule_is_found_with_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from symgrad._core.op import Partials, registry

    op = registry.ops["Sinh"]
    wrong = Partials(lambda y, x: (np.cosh(x) + 1e-9,))
    monkeypatch.setitem(op.__dict__, "rule", wrong)
    with pytest.raises(VerificationError, match=r"at x = .*the derivative by x is wrong"):
        sg.verify(lambda x: np.sinh(x), domain=(0.5, 1.0), points=2)


@pytest.mark.slow
def test_save_and_recheck(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    found = sg.verify(wobbly, domain={"x": (-5.0, 5.0), "y": (-2.0, 2.0)}, points=4)
    found.save(file)
    again = sg.recheck(file)
    assert again.rows == found.rows
    assert sg.recheck(file, wobbly).max_ulp == found.max_ulp
    with pytest.raises(VerificationError, match="the certificate says"):
        sg.recheck(file, lambda x, y: wobbly(x, y) + 1e-7 * x)
    assert json.loads(file.read_text())["rows"][1]["name"] == "d/d x"


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    for text in ("", "[]", '{"format": "symgrad program"}', "\xff"):
        file.write_text(text, encoding="latin-1")
        with pytest.raises(DataError, match="no symgrad certificate"):
            sg.recheck(file)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ((1.0, 0.0), "low <= high"), ((0.0, math.inf), "finite"), (3.0, "a domain is"),
        ({"x": (0.0, 1.0)}, "a value or an interval for y"),
        ({"z": (0.0, 1.0), "x": (0.0, 1.0), "y": (0.0, 1.0)}, "no argument is called 'z'"),
    ],
)  # fmt: skip
def test_mistakes_are_told(domain: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        sg.verify(wobbly, domain=domain)


def test_arrays_and_fixed_arguments() -> None:
    found = sg.verify(
        lambda x, w: np.sum(w * np.tanh(x)), np.ones(3), np.array([1.0, -2.0, 3.0]),
        domain={"x": (-4.0, 4.0)}, wrt="x", points=3,
    )  # fmt: skip
    assert found["x"].compared == 3 * found.points
    assert found.fixed["w"] == [1.0, -2.0, 3.0]


def test_one_interval_serves_all_arguments() -> None:
    found = sg.verify(lambda x, y: x * y, domain=(0.5, 1.0), points=2)
    assert found.domain == {"x": [0.5, 1.0], "y": [0.5, 1.0]}


def test_what_lies_outside_of_the_reals_is_told() -> None:
    found = sg.verify(lambda x: np.log(x), domain=(-1.0, 1.0), points=4)
    assert [kink.what for kink in found.kinks] == ["outside"]
    assert "no real number" in str(found.kinks[0])


@pytest.mark.slow
def test_a_length_may_be_zero_in_the_domain() -> None:
    """Its derivative at 0 is a convention, and no mistake of the kernel."""
    for f in (lambda x, y: np.sqrt(x**2 + y**2), lambda x, y: np.linalg.norm(np.stack([x, y]))):
        found = sg.verify(f, domain=(-1.0, 1.0), points=2)
        assert found.max_ulp < 4
        [kink] = found.kinks
        assert kink.what == "edge"
        assert kink.convention == "derivative 0 at 0"


def test_decisions_of_python_are_kinks() -> None:
    def f(x: Any) -> Any:
        if x > 0.25:
            return x * x
        return 2 * x

    found = sg.verify(f, domain=(-1.0, 1.0), points=4)
    assert [kink.what for kink in found.kinks] == ["branch"]
    assert str(f.__code__.co_firstlineno + 1) in str(found.kinks[0])


def test_a_domain_names_arguments() -> None:
    with pytest.raises(ArgumentError, match="no argument is called 'z': x"):
        sg.verify(lambda x: x**2, 1.0, domain={"z": (0, 1)})
    assert sg.verify(np.sin, domain={"x": (0.0, 1.0)}).max_ulp < 4


GUARDED: dict[str, Any] = {
    "scalar": lambda x: np.where(x[0] > 0, np.sqrt(x[0]), 0.0),
    "nested": lambda x: np.sum(np.where(x > 0, np.where(x > 1, np.log(x - 1), 1 / x), 0.0)),
    "broadcast": lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None] * x, 0.0)),
    "select": lambda x: np.sum(np.select([x > 1, x > 0], [np.log(x), np.sqrt(x)], 0.0)),
    "views": lambda x: np.sum(np.where(x.reshape(1, 2).T > 0, np.log(x)[::-1][::-1, None], 0.0)),
}


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.quick(2)
def test_kinks_of_a_branch_that_is_not_taken_are_none(name: str) -> None:
    found = sg.verify(GUARDED[name], np.array([1.0, 2.0]), domain=(-2.0, 2.0), points=6)
    assert {kink.what for kink in found.kinks} == {"branch"}
    assert all(" > " in kink.step for kink in found.kinks)
    assert "Reshape" not in str(found)
    # Derivatives that are 0, since the branch is not taken, are compared, too.
    assert found["x"].compared == 2 * found.points
    taken = sg.verify(lambda x: np.sum(np.where(x > 0, x, np.sqrt(x))), np.ones(2),
                      domain=(-2.0, 2.0), points=6)  # fmt: skip
    assert "outside" in {kink.what for kink in taken.kinks}


def test_a_step_that_sympy_carries_out_is_written_as_it_is() -> None:
    def f(x: Any) -> Any:
        return (1 + x) - 1

    loss = sg.verify(f, domain=(1e-12, 1e-10), points=4).loss
    assert loss is not None
    assert loss.step == "(x + 1) - 1"
    loss = sg.verify(lambda x: np.exp(x) - 1 - x, domain=(1e-8, 1e-6), points=4).loss
    assert loss is not None
    assert loss.step == "exp(x) - x - 1"


def test_the_worst_point_of_an_array_begins_with_its_elements() -> None:
    text = str(sg.verify(lambda x: np.sum(np.exp(x)), np.ones(5), domain=(1.0, 2.0), points=4))
    assert re.search(r"x = \[[\d.]+, [\d.]+, [\d.]+, \.\.\.\]", text)


def test_proofs_and_saved_programs_are_of_one_path(tmp_path: Path) -> None:
    def branching(x: Any) -> Any:
        return x**2 if x > 0 else -x

    found = sg.verify(branching, domain=(-1.0, 1.0), points=4)
    assert not found["x"].proved
    found.save(tmp_path / "f.json")
    with pytest.raises(DataError, match="decides by values in the domain"):
        sg.recheck(tmp_path / "f.json")
    assert sg.recheck(tmp_path / "f.json", branching).max_ulp == found.max_ulp

    def checked(x: Any) -> Any:
        if x < -3:
            raise ValueError("too small")
        return np.exp(x)

    found = sg.verify(checked, domain=(-1.0, 1.0), points=4)
    assert found["x"].proved
    found.save(tmp_path / "g.json")
    assert sg.recheck(tmp_path / "g.json").max_ulp == found.max_ulp
