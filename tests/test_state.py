"""What a call leaves behind in objects outside of the function: as the plain call would."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, TraceError, UnsupportedError

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])


class Norm:
    """A batch norm with a counter and a history."""

    def __init__(self) -> None:
        self.mean, self.calls, self.losses = np.zeros(2), 0, []

    def __call__(self, x: Any) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.calls += 1
        loss = np.sum((x - self.mean) ** 2)
        self.losses.append(loss)
        return loss


def _equal(ours: Norm, plain: Norm) -> None:
    assert type(ours.mean) is np.ndarray
    np.testing.assert_allclose(ours.mean, plain.mean, rtol=1e-14)
    assert ours.calls == plain.calls
    assert type(ours.calls) is int
    np.testing.assert_allclose(ours.losses, plain.losses, rtol=1e-14)
    assert all(type(x) is np.float64 for x in ours.losses)


def _hvp(f: Any) -> Any:
    return lambda x: sg.hvp(f, (x,), (x,))


def _jvp(f: Any) -> Any:
    return lambda x: sg.jvp(f, (x,), (x,))


def _nested(f: Any) -> Any:
    g = sg.compile(f)
    return sg.grad(lambda x: 2.0 * g(x))


def _into(f: Any) -> Any:
    g, slope = sg.value_and_grad(f), np.empty_like(X)
    return lambda x: g(x, out=(None, slope))


@pytest.mark.parametrize(
    "make",
    [sg.compile, sg.grad, sg.value_and_grad, sg.jacobian, sg.hessian, _jvp, _hvp, _nested, _into,
     lambda f: sg.compile(f, backend="numpy"), lambda f: sg.compile(f, control_flow=True),
     lambda f: sg.grad(f, has_aux=False), lambda f: sg.compile(f, rounding="numpy")],
)  # fmt: skip
@pytest.mark.quick(6)
def test_each_call_does_what_the_plain_one_would(make: Any) -> None:
    ours, plain = Norm(), Norm()
    g = make(ours)
    for k in range(5):
        g(X + k)
        plain(X + k)
        _equal(ours, plain)


def test_a_thousand_calls_make_two_traces() -> None:
    ours, plain = Norm(), Norm()
    g = sg.value_and_grad(ours)
    for _ in range(1000):
        g(X)
        plain(X)
    _equal(ours, plain)
    assert g.traces <= 2
    ours.mean[0] = 5.0  # seen as ever
    plain.mean[0] = 5.0
    assert g(X)[0] == pytest.approx(plain(X), rel=1e-14)
    assert g.traces <= 2


def test_a_pullback_is_of_the_state_that_the_value_is_of() -> None:
    ours, plain = Norm(), Norm()
    for _ in range(3):
        state = plain.mean.copy()
        out, pullback = sg.vjp(ours, X)
        assert out == pytest.approx(plain(X), rel=1e-14)
        residual = X - 0.9 * state - 0.1 * X.mean(0)
        expected = 2.0 * residual - 0.2 / 3.0 * residual.sum(0)
        for factor in (1.0, 2.0):
            np.testing.assert_allclose(pullback(factor)[0], factor * expected, rtol=1e-12)
        _equal(ours, plain)


def test_what_cannot_be_carried_is_undone() -> None:
    def fresh() -> tuple[Norm, dict[str, Any]]:
        model = Norm()
        return model, {**vars(model)}

    def untouched(model: Norm, before: dict[str, Any]) -> None:
        assert all(vars(model)[k] is v for k, v in before.items())
        assert model.losses == []

    model, before = fresh()
    with pytest.warns(CaptureWarning, match=r"self\.mean .* assigned .* batch .*test_state\.py:"):
        sg.vmap(model)(np.stack([X, X]))
    untouched(model, before)
    model, before = fresh()
    with pytest.warns(CaptureWarning, match=r"model\.calls .* assigned .* loop"):
        sg.compile(lambda x: sg.fori_loop(0, 3, lambda _, y: y + model(x), 0.0))(X)
    untouched(model, before)
    model, before = fresh()
    with pytest.warns(CaptureWarning, match=r"self\.calls .* a program without Python"):
        program = sg.grad(model).program(X)
    assert len(program.outputs) == 1
    untouched(model, before)
    with pytest.raises(UnsupportedError, match=r"self\.calls and self\.mean .* a kernel in Numba"):
        sg.grad(model).kernel(X)
    untouched(model, before)
    sg.formula(model, X)
    untouched(model, before)


def test_containers_among_the_arguments_stay_as_they_are() -> None:
    def f(p: Any, x: Any) -> Any:
        p["seen"] = x
        return np.sum(p["w"] * x)

    given = {"w": np.array([1.0, 2.0])}
    for g in (sg.compile(f), sg.grad(f), sg.grad(f, 1)):
        with pytest.warns(CaptureWarning, match="argument p is changed by the function"):
            g(given, X[0])
    assert [*given] == ["w"]


def test_functions_that_hold_values_are_undone() -> None:
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        kept["later"] = lambda: x
        return 2.0 * x

    with pytest.warns(CaptureWarning, match=r"kept\['later'\] .* a function that holds values"):
        assert sg.compile(f)(1.0) == 2.0
    assert kept == {}


def test_nothing_is_half_done_after_an_error() -> None:
    model = Norm()

    def f(x: Any) -> Any:
        found = model(x)
        if model.calls > 2:
            raise RuntimeError("enough")
        return found

    g = sg.compile(f)
    g(X)
    g(X)
    before = {**vars(model), "losses": list(model.losses)}
    for _ in range(2):
        with pytest.raises(RuntimeError, match="enough"):
            g(X)
        assert model.calls == 2
        assert model.mean is before["mean"]
        assert model.losses == before["losses"]


def test_arrays_that_cannot_be_written_to_leave_the_rest() -> None:
    total, model = np.zeros(2), Norm()

    def f(x: Any) -> Any:
        total[...] += x[0]
        return model(x)

    g = sg.compile(f)
    g(X)
    total.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(X)
    assert model.calls == 1
    assert len(model.losses) == 1


def test_two_names_of_written_memory_are_refused() -> None:
    class Pair:
        pass

    pair: Any = Pair()
    pair.one = np.zeros(3)
    pair.two = pair.one

    def f(x: Any) -> Any:
        pair.one += x
        return np.sum(pair.two)

    with pytest.raises(TraceError, match="shares memory with"):
        sg.compile(f)(np.ones(3))
    np.testing.assert_array_equal(pair.one, np.zeros(3))
    pair.two = np.ones(3)
    g = sg.compile(f)
    assert [g(np.ones(3)) for _ in range(3)] == [3.0] * 3
    pair.two = pair.one[::-1]
    with pytest.raises(TraceError, match=r"pair\.one, which shares memory with pair\.two"):
        g(np.ones(3))
    np.testing.assert_array_equal(pair.one, np.full(3, 3.0))


def test_another_object_in_its_place_is_written_to() -> None:
    class Holder:
        norm = Norm()

    holder = Holder()
    holder.norm = first = Norm()
    g = sg.compile(lambda x: holder.norm(x))
    for _ in range(3):
        g(X)
    holder.norm = second = Norm()
    for _ in range(2):
        g(X)
    assert (first.calls, second.calls) == (3, 2)


@pytest.mark.parametrize("many", [1, 40])
def test_long_histories_are_not_read(many: int) -> None:
    """Their length must not count, whatever name they go by."""
    log: dict[str, Any] = {"loss": [0.0] * many, "last": deque(maxlen=2)}

    def note(where: Any, value: Any) -> None:
        where.append(value)

    def f(x: Any) -> Any:
        found = np.sum(x**2)
        note(log["loss"], found)
        note(log["last"], x[0])
        return found

    g = sg.grad(f)
    for k in range(30):
        g(X + k)
    assert len(log["loss"]) == many + 30
    np.testing.assert_array_equal(log["last"], [X[0] + 28, X[0] + 29])
    assert g.traces <= 2


def test_state_that_python_needs_is_traced_for_each_call_and_said() -> None:
    table, model = [*np.arange(30.0)], Norm()

    def f(x: Any) -> Any:
        model.calls += 1
        return x * table[model.calls]

    g = sg.compile(f)
    with pytest.warns(CaptureWarning, match=r"model\.calls is changed by each call"):
        assert [g(1.0) for _ in range(20)] == [*np.arange(1.0, 21.0)]


def test_memos_and_cached_properties() -> None:
    class Model:
        def __init__(self) -> None:
            self.weights, self.memo = np.array([1.0, 2.0]), {}

        @functools.cached_property
        def square(self) -> Any:
            return self.weights**2

        def __call__(self, x: Any) -> Any:
            if "double" not in self.memo:
                self.memo["double"] = 2.0 * self.weights
            return np.sum(x * self.square * self.memo["double"])

    ours, plain = Model(), Model()
    g = sg.compile(ours)
    for k in range(4):  # stale from the first call on, as in plain Python
        assert g(X) == plain(X)
        np.testing.assert_array_equal(vars(ours)["square"], vars(plain)["square"])
        for model in (ours, plain):
            model.weights = model.weights + k
    assert g.traces <= 3
    ours.memo.clear()
    plain.memo.clear()
    assert g(X) == plain(X)


def test_counters_in_threads_are_no_less_than_any_thread_counted() -> None:
    model = Norm()
    g = sg.compile(model)
    g(X)
    g(X)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(50):
                g(X)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert 52 <= model.calls <= 202
    assert len(model.losses) == 202
    assert type(model.calls) is int


PROGRAM = """
import numpy as np, symgrad as sg
class Norm:
    def __init__(self):
        self.mean, self.calls, self.losses = np.zeros(2), 0, []
    def __call__(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.calls += 1
        loss = np.sum((x - self.mean) ** 2)
        self.losses.append(loss)
        return loss
norm = Norm()
g = sg.grad(norm)
for k in range(3):
    g(np.array([[1.0, 2.0], [3.0, 4.0]]) + k)
print(norm.mean, norm.calls, [float(x) for x in norm.losses])
"""


def test_kernels_from_disk_leave_the_same(tmp_path: Any) -> None:
    environment = {**os.environ, "SYMGRAD_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert found[0] == found[1]
    plain: dict[str, Any] = {}
    exec(PROGRAM.replace("sg.grad(norm)", "norm").replace("print", "out = "), plain)
    mean, calls, losses = plain["out"]
    assert found[0] == f"{mean} {calls} {losses}\n"


class Ticks:
    """Counts in the class, by every name under which code can reach it."""

    count = 0
    weight = 1.0

    def by_name(self, x: Any) -> Any:
        Ticks.count += 1
        return np.sum(x) * self.count

    def by_type(self, x: Any) -> Any:
        type(self).count += 1
        return np.sum(x) * Ticks.count

    def by_class(self, x: Any) -> Any:
        self.__class__.weight *= 0.5
        return np.sum(x) * self.weight

    @classmethod
    def up(cls, x: Any) -> Any:
        cls.count += 1
        return np.sum(x)

    def by_classmethod(self, x: Any) -> Any:
        return self.up(x) * self.count


class SubTicks(Ticks):
    pass


@pytest.mark.parametrize("name", ["by_name", "by_type", "by_class", "by_classmethod"])
@pytest.mark.parametrize("kind", [Ticks, SubTicks])
def test_numbers_in_classes(kind: type[Ticks], name: str) -> None:
    def states(made: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = []
        Ticks.count, Ticks.weight = 0, 1.0
        for key in ("count", "weight"):
            if key in vars(SubTicks):
                delattr(SubTicks, key)
        ticks = kind()
        f = made(getattr(ticks, name))
        for k in range(8):
            if k == 5:
                ticks.__dict__.update(count=40, weight=7.0)  # hides those of the class
            if k == 6:
                ticks.__dict__.clear()
            found.append(float(f(np.ones(2))))
            found.append((Ticks.count, Ticks.weight, kind.count, kind.weight))
        return found

    compiled: list[Any] = []

    def made(f: Any) -> Any:
        compiled.append(sg.compile(f))
        return compiled[0]

    assert states(made) == states(lambda f: f)
    assert compiled[0].traces <= 5
