"""A kernel on the disk is found by the user's function alone: the derivative is not taken again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.trace import flatten
from symgrad._dispatch import _recall
from symgrad._dispatch._kinds import Recalled
from symgrad._dispatch._recall import remove, stored
from symgrad.errors import ArgumentError, ShapeError

Params = namedtuple("Params", "w b")  # noqa: PYI024

X, Y = np.linspace(0.3, 2.0, 5), np.linspace(-1.0, 1.0, 5)
M = np.random.default_rng(0).normal(size=(4, 3))
Z = X + 1j * Y


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each compiled function know nothing of others, as if it were another process's."""
    monkeypatch.setattr("symgrad._api._transforms._share", lambda *_: None)


def wave(x: Any, y: Any = 0.5, scale: Any = 1.0) -> Any:
    return np.sum(np.sin(x) * y + np.exp(-x * x)) * scale


def layers(params: Any, x: Any) -> Any:
    w, b = params["w"], params["b"]
    return np.sum(np.tanh(x @ w + b) ** 2)


def long(x: Any) -> Any:
    for k in range(9):
        x = np.sin(x) + 0.1 * k
    return x


def summed(x: Any, n: int) -> Any:
    return sg.fori_loop(0, n, lambda i, s: s + np.sum(np.cos(x * s)), 0.1)


def power(x: Any) -> Any:
    return np.sum(x**3) / np.sum(np.abs(x))


CALLS: dict[str, tuple[Callable[[], Any], tuple[Any, ...], dict[str, Any]]] = {
    "array": (lambda: sg.value_and_grad(wave), (X,), {}),
    "numbers": (lambda: sg.value_and_grad(wave, argnums=(0, 1)), (0.7, 2.0), {}),
    "second argument": (lambda: sg.grad(wave, argnums=1), (X, Y), {}),
    "keyword": (lambda: sg.grad(wave), (X,), {"scale": 3.0}),
    "integer": (lambda: sg.grad(wave), (X, Y, 2), {}),
    "matrix": (lambda: sg.value_and_grad(lambda m: np.sum(np.linalg.inv(m.T @ m))), (M,), {}),
    "dict": (lambda: sg.value_and_grad(layers), ({"w": M[:3], "b": X[:3]}, M), {}),
    "static string": (
        lambda: sg.grad(lambda x, how: wave(x) if how == "sum" else np.prod(x)), (X, "prod"), {}
    ),
    "captured array": (lambda: sg.grad(lambda x: wave(x, Y)), (X,), {}),
    "auxiliary": (lambda: sg.value_and_grad(lambda x: (wave(x), x * 2), has_aux=True), (X,), {}),
    "no gradient": (lambda: sg.grad(lambda x, y: wave(y), argnums=(0, 1)), (X, Y), {}),
    "elements": (lambda: sg.grad(lambda x: x[0] * x[3] + x[1]), (X,), {}),
    "long": (lambda: sg.value_and_grad(long), (0.3,), {}),
    "loop": (lambda: sg.value_and_grad(summed), (X, 7), {}),
    "jacobian": (lambda: sg.jacobian(lambda x: np.cumsum(np.sin(x))), (X,), {}),
    "hessian": (lambda: sg.hessian(power), (X,), {}),
    "complex": (lambda: sg.grad(lambda z: np.sum(np.abs(z) ** 3)), (Z,), {}),
    "holomorphic": (
        lambda: sg.grad(lambda z: np.sum(z**2 * np.exp(z)), holomorphic=True), (Z,), {}
    ),
    "one thread": (lambda: sg.compile(sg.grad(wave), parallel=False), (X,), {}),
}  # fmt: skip


def made(function: Any) -> list[Any]:
    """Return what a function has been specialized to."""
    return [s for known in function._kinds._groups.values() for s in known]


def recalled(function: Any) -> bool:
    """Tell whether a function called once had its kernel from a note."""
    [one] = made(function)
    return isinstance(one, Recalled)


def notes(folder: Path) -> list[Path]:
    home = folder / _recall.NOTES
    return sorted(home.iterdir()) if home.exists() else []


def same(a: Any, b: Any) -> bool:
    flat_a, tree_a = flatten(a)
    flat_b, tree_b = flatten(b)
    return tree_a == tree_b and all(
        type(x) is type(y) and np.array_equal(x, y) for x, y in zip(flat_a, flat_b, strict=True)
    )


@pytest.mark.parametrize("name", CALLS)
def test_the_same_kernel_without_a_derivative(
    name: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, args, kwargs = CALLS[name]
    first = make()
    expected = first(*args, **kwargs)
    assert not recalled(first)
    again = make()
    with monkeypatch.context() as patch:
        for pass_ in ("pull_back", "push_forward"):
            patch.setattr(f"symgrad._api._bodies.{pass_}", None)
        if name == "hessian":  # the gradient inside is the function of the transformation around
            patch.undo()
        assert same(again(*args, **kwargs), expected)
    assert recalled(again)
    assert again.traces == 1
    assert same(again(*args, **kwargs), expected)
    general, other = made(first)[0], made(again)[0]
    assert other.program.fingerprint == general.program.fingerprint
    assert other.layout == general.layout
    assert same(again.program(*args, **kwargs).guards, first.program(*args, **kwargs).guards)
    with sg.backend("numpy"):
        close = flatten(again(*args, **kwargs))[0]
    for a, b in zip(close, flatten(expected)[0], strict=True):
        np.testing.assert_allclose(np.asarray(a, complex), np.asarray(b, complex), rtol=1e-12)


def test_kernels_and_given_memory(cache_dir: Path) -> None:
    expected = sg.value_and_grad(wave)(X)
    again = sg.value_and_grad(wave)
    value, gradient = again.kernel(X)(X)
    assert recalled(again)
    np.testing.assert_array_equal(gradient, expected[1])
    out = np.empty(5)
    assert again(X, out=(None, out))[1] is out
    np.testing.assert_array_equal(out, expected[1])
    into = np.empty(5)
    assert again.kernel_into(X)(X, into)[0] == value
    np.testing.assert_array_equal(into, expected[1])
    with pytest.raises(ArgumentError, match="another structure"):
        again(X, out=out)


def test_sizes_are_free_and_guarded(cache_dir: Path) -> None:
    def corner(x: Any) -> Any:
        return np.sum(x) * x[3]

    sg.grad(corner)(X)
    again = sg.grad(corner)
    again(X)
    np.testing.assert_array_equal(
        again(np.arange(9.0)), sg.compile(sg.grad(corner))(np.arange(9.0))
    )
    assert again.traces == 1
    with pytest.raises((ShapeError, IndexError)):
        again(np.ones(3))
    with pytest.raises(ValueError, match="size"):
        again.kernel(X)(np.ones(3))


# ---------------------------------------------------------------- what is not the same kernel

DIFFERENT: dict[str, tuple[Callable[[], Any], Callable[[], Any], tuple[Any, ...]]] = {
    "transformation": (lambda: sg.grad(wave), lambda: sg.value_and_grad(wave), (X,)),
    "argnums": (lambda: sg.grad(wave), lambda: sg.grad(wave, argnums=1), (X, Y)),
    "order": (lambda: sg.grad(long), lambda: sg.grad(sg.grad(long)), (0.5,)),
    "function": (lambda: sg.grad(np.sin), lambda: sg.grad(np.cos), (0.5,)),
    "captured array": (
        lambda: sg.grad(lambda x: wave(x, Y)), lambda: sg.grad(lambda x: wave(x, X)), (X,)
    ),
    "captured number": (
        lambda: sg.grad(lambda x: wave(x, 2.0)), lambda: sg.grad(lambda x: wave(x, 3.0)), (X,)
    ),
    "threads": (
        lambda: sg.compile(sg.grad(wave), parallel=False), lambda: sg.compile(sg.grad(wave)), (X,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.quick(2)
def test_another_kernel_is_not_taken(name: str, cache_dir: Path) -> None:
    one, other, args = DIFFERENT[name]
    one()(*args)
    function = other()
    result = function(*args)
    assert not recalled(function)
    fresh = other()
    fresh._cache = False
    assert same(result, fresh(*args))


def clipped(low: float) -> Any:
    @sg.custom_vjp
    def same_value(x: Any) -> Any:
        return x * 1.5

    same_value.defvjp(lambda x: (x * 1.5, None), lambda _, g: (np.maximum(g * low, low),))
    return sg.grad(lambda x: np.sum(same_value(x)))


def test_rules_of_the_users_may_change(cache_dir: Path) -> None:
    """The function's graph is the same, and what its derivative is the user's code says."""
    np.testing.assert_array_equal(clipped(2.0)(X), np.full(5, 2.0))
    function = clipped(3.0)
    np.testing.assert_array_equal(function(X), np.full(5, 3.0))
    assert not recalled(function)
    assert not notes(cache_dir)


def test_decisions_by_values_are_taken_again(cache_dir: Path) -> None:
    def branching(x: Any) -> Any:
        return x * 2.0 if x > 1.0 else x * x

    assert sg.grad(branching)(3.0) == 2.0
    again = sg.grad(branching)
    assert (again(0.5), again(3.0)) == (1.0, 2.0)
    assert not notes(cache_dir)


def test_structures_of_the_users_have_no_notes(cache_dir: Path) -> None:
    def function(p: Any) -> Any:
        return np.sum(p.w) * p.b

    found = sg.grad(function)(Params(X, 2.0))
    assert isinstance(found, Params)
    assert not notes(cache_dir)


def test_promised_bits_have_no_notes(cache_dir: Path) -> None:
    sg.compile(sg.grad(wave), rounding="numpy")(X)
    assert not notes(cache_dir)


@pytest.mark.usefixtures("vector_math")
def test_vector_mathematics_is_part_of_the_key(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sg.grad(wave)(X)
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", "0")
    function = sg.grad(wave)
    function(X)
    assert not recalled(function)


@pytest.mark.parametrize("change", ["source_digest", "vector_math_default"])
def test_another_compiler_is_another_key(
    change: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sg.grad(wave)(X)
    monkeypatch.setattr(f"symgrad._core.codegen.cache.{change}", lambda: "another")
    function = sg.grad(wave)
    function._specialization((X,), {}, short=True, kernel=True)
    assert not recalled(function)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    "damage",
    [
        lambda note, home: note.write_text("["),
        lambda note, home: note.write_text(note.read_text().replace("ranks", "ranki")),
        lambda note, home: note.write_bytes(note.read_bytes()[:-20]),
        lambda note, home: note.unlink(),
        lambda note, home: [p.unlink() for p in home.iterdir()],
        lambda note, home: (home / "code0.o").write_bytes(b"nothing"),
    ],
)
def test_damaged_notes_and_kernels_are_made_again(
    damage: Callable[[Path, Path], Any], cache_dir: Path
) -> None:
    expected = sg.grad(wave)(X)
    [note] = notes(cache_dir)
    _, text = json.loads(note.read_text())
    damage(note, cache_dir / json.loads(text)["kernel"])
    second = sg.grad(wave)
    np.testing.assert_array_equal(second(X), expected)
    assert not recalled(second)
    third = sg.grad(wave)
    np.testing.assert_array_equal(third(X), expected)
    assert recalled(third)


def test_a_note_that_cannot_be_written_is_no_error(cache_dir: Path) -> None:
    expected = sg.grad(wave)(X)
    [note] = notes(cache_dir)
    note.unlink()
    note.mkdir()
    for _ in range(2):
        again = sg.grad(wave)
        np.testing.assert_array_equal(again(X), expected)
        assert not recalled(again)
    assert notes(cache_dir) == [note]


def test_notes_go_with_their_kernels(cache_dir: Path) -> None:
    sg.grad(wave)(X)
    sg.value_and_grad(wave)(X)
    first, second = (s for s in stored() if s.notes)
    assert len(notes(cache_dir)) == 2
    assert all(s.size > sum(p.stat().st_size for p in s.folder.iterdir()) for s in (first, second))
    assert remove([first]) == 1
    assert notes(cache_dir) == list(second.notes)
    remove([second])
    assert not (cache_dir / _recall.NOTES).exists()


def test_notes_are_private(cache_dir: Path) -> None:
    sg.grad(wave)(X)
    for path in (cache_dir / _recall.NOTES, *notes(cache_dir)):
        assert not path.stat().st_mode & 0o077


SCRIPT = """
import sys
import numpy as np
import symgrad as sg
import symgrad._api._bodies as bodies

if "second" in sys.argv:
    bodies.pull_back = None

def model(x):
    values = [x[k] for k in range(4)]
    for k in range(40):
        values.append(np.sin(values[-1]) * values[-3] + np.float64(k) / 7)
    return values[-1]

print(sg.value_and_grad(model)(np.linspace(0.1, 0.4, 4)))
"""


@pytest.mark.slow
def test_a_second_process_takes_no_derivative(cache_dir: Path) -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *args], capture_output=True, text=True, check=True
        ).stdout
        for args in ([], ["second"])
    ]
    assert re.match(r"\(.*array", found[0])
    assert found[0] == found[1]
