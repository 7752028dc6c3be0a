"""The interpreter: the compiled kernel's bits for every scalar op, and the change to the kernel."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
import symgrad.numpy as snp
from symgrad._compile import _background, _specialization
from symgrad._compile._specialization import Specialization
from symgrad._graph._types import resolve
from symgrad._lower import encode
from symgrad._op import Composed, Op, registry
from symgrad._ops import CAST, logic
from symgrad._schedule import Program
from symgrad.errors import DTypeError

MAPS = sorted((op for op in registry.ops.values() if op.kind == "map"), key=lambda op: op.name)


def same(a: Any, b: Any) -> bool:
    """Tell whether two results have the same structure, types and bits; any nan equals another."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.array_equal(a, b, equal_nan=True) and
                np.all((np.signbit(a) == np.signbit(b)) | np.isnan(a)))  # fmt: skip


def both(f: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """Return the results of the interpreter, which must take the program, and of the kernel."""
    function = sg.compile(f)
    assert function._specialization(args, {}, short=True).interpreted is not None
    with sg.backend("bytecode"):
        interpreted = function(*args)
    return interpreted, function(*args)


# ---------------------------------------------------------------- every op


SET_ASIDE = {
    "Hyperu": "SciPy's does not come to an end for large whole parameters",
    "Expn": "SciPy warns of orders that are not whole",
}


def takes(op: Op, dtype: Any) -> bool:
    if op.name in SET_ASIDE:
        return False
    whole = any(d.is_subset(logic.sp.Integers) for d in op.domain if d is not logic.CONDITION)
    if whole and dtype.kind == "f":
        return False
    if op is CAST:
        return dtype.kind != "f"  # what becomes of nan is the processor's choice
    try:
        resolve(op, tuple(np.dtype(bool) if d is logic.CONDITION else dtype for d in op.domain))
    except DTypeError:
        return False
    return True


def all_of(ops: list[Op]) -> Callable[..., Any]:
    """Return a function of numbers that gives the results of all ops."""

    def function(*values: Any) -> dict[str, Any]:
        return {
            op.name: op(
                *(x > 1 if d is logic.CONDITION else x
                  for x, d in zip(values, op.domain, strict=False)),
                **({"dtype": "int32"} if op is CAST else {}),
            )
            for op in ops
        }  # fmt: skip

    return function


NUMBERS = (0.5, -0.5, 2.5, 1.0, 0.0, -0.0, -3.75, 7.0, np.inf, -np.inf, np.nan, 5e-324, 1e300)


def points(dtype: Any) -> Iterator[tuple[Any, ...]]:
    """Yield operands: ordinary and extreme ones, beside each other."""
    if dtype.kind == "f":
        numbers = [dtype.type(x) for x in NUMBERS if abs(x) < 1e30 or dtype.itemsize == 8]
    elif dtype.kind == "b":
        numbers = [np.False_, np.True_]
    else:
        info = np.iinfo(dtype)
        numbers = [dtype.type(x) for x in (3, 0, 1, 2, 7, info.max, info.min)]
    for k, x in enumerate(numbers):
        yield tuple(np.roll(np.array(numbers, dtype), -j * k - j)[0] if j else x for j in range(4))


def check_ops(ops: list[Op], dtype: Any) -> None:
    function = sg.compile(all_of(ops))
    for operands in points(dtype):
        with sg.backend("bytecode"):
            interpreted = function(*operands)
        compiled = function(*operands)
        wrong = [name for name in compiled if not same(interpreted[name], compiled[name])]
        assert not wrong, (wrong, operands)
    found = function._specialization(operands, {}, short=True)
    assert found.interpreted is not None


SLICES = [MAPS[k : k + 20] for k in range(0, len(MAPS), 20)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ops", SLICES, ids=lambda ops: f"{ops[0].name} to {ops[-1].name}")
def test_every_op(ops: list[Op]) -> None:
    double = np.dtype(np.float64)
    check_ops([op for op in ops if takes(op, double)], double)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "bool"])
def test_every_type(dtype: str) -> None:
    """The ops that others are composed of, in one program."""
    kind = np.dtype(dtype)
    check_ops([op for op in MAPS if takes(op, kind) and not isinstance(op.lower, Composed)], kind)


# ---------------------------------------------------------------- programs

UNARY: list[Callable[[Any], Any]] = [
    np.sin, np.exp, np.tanh, np.abs, np.negative, np.sqrt, np.floor, np.square, np.sign,
    lambda x: np.log1p(x * x), lambda x: np.where(x > 0.3, x, np.cos(x)), lambda x: 1 / (1 + x * x),
    lambda x: np.maximum(x, 0.1), lambda x: (x > 0) * x, lambda x: x**3, lambda x: 0.5,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add, np.subtract, np.multiply, np.arctan2, np.minimum, np.logaddexp, np.hypot,
    lambda a, b: a / (1 + b * b), lambda a, b: np.remainder(a, 2 + np.abs(b)),
]  # fmt: skip


def random_function(seed: int, steps: int) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        rng = random.Random(seed)
        values = [x[0], x[1], x[-1], y, x[3], 0.25]
        for _ in range(steps):
            a, b = rng.choice(values[-9:]), rng.choice(values)
            values.append(rng.choice(BINARY)(a, b) if rng.random() < 0.5 else rng.choice(UNARY)(a))
        return sum((np.tanh(v) for v in values[-5:]), 0.0 * y)

    return function


@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 10**9), st.sampled_from([3, 12, 40]))
def test_random_programs(seed: int, steps: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=6), 0.75
    interpreted, compiled = both(sg.value_and_grad(random_function(seed, steps), (0, 1)), x, y)
    assert same(interpreted, compiled)


@pytest.mark.slow
def test_long_random_program() -> None:
    x, y = np.random.default_rng(0).normal(size=6), 0.75
    interpreted, compiled = both(sg.value_and_grad(random_function(7, 3000), (0, 1)), x, y)
    assert same(interpreted, compiled)


def norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))


def rotate(x: Any, angle: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return snp.array([[c, -s], [s, c]]) @ x


M = np.arange(6.0).reshape(2, 3)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "number": (lambda x: x * x, (3.0,)),
    "nothing to do": (lambda x: (x, 2.0, x), (3.0,)),
    "argument not used": (sg.grad(lambda x, y: x * x, (0, 1)), (3.0, np.ones(2))),
    "from the end": (lambda x: x[-1] * x[-2] + x[0], (np.arange(5.0),)),
    "zeros": (sg.grad(lambda x: x[0] * x[2]), (np.arange(5.0),)),
    "no element": (sg.grad(lambda x: 3.0), (np.arange(5.0),)),
    "size": (lambda x: x[0] / x.shape[0] + x.shape[0], (np.arange(5.0),)),
    "rows": (lambda x: x[0, 1] * x[1, 2] - x[1, 0], (M,)),
    "short axes": (sg.jacobian(lambda x: np.sin(x) @ x.T), (M,)),
    "nested": (lambda d: {"a": d["x"] * 2, "b": [d["y"][0], d["x"]]}, ({"x": 2.0, "y": M[0]},)),
    "float32": (lambda x: np.sin(x[0]) * x[1] + 0.1, (np.ones(3, np.float32),)),
    "types": (lambda i, b, x: (i + 1, b & (x > 0), i * x, np.where(b, i, 2)), (3, np.True_, 1.5)),
    "whole numbers": (lambda x: x[0] // x[1] + x[2], (np.array([7, -2, 3], np.int32),)),
    "constants": (lambda x: x[0] * M[1, 2] + M[0, 1] * x[1], (np.ones(3),)),
    "second derivatives": (sg.hessian(lambda x: x[0] ** 3 * np.sin(x[1])), (np.ones(2),)),
    "jacobian": (sg.jacobian(lambda x: snp.array([x[0] * x[1], np.sin(x[-1])])), (np.ones(3),)),
    "read twice": (sg.grad(lambda x: x[1] * x[1] + x[-1]), (np.arange(2.0),)),
    "one element": (sg.value_and_grad(lambda x: np.sin(x[0])), (np.ones(1),)),
    "special functions": (sg.grad(lambda x: np.i0(x) + x**1.5), (2.0,)),
    "branch": (lambda x: x * 2 if x > 0 else -x, (1.5,)),
    "rotation": (lambda x, t: rotate(x, t), (np.ones((2, 2)), 0.3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    f, args = PROGRAMS[name]
    interpreted, compiled = both(f, *args)
    assert same(interpreted, compiled)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(np.sin(x)), np.ones(40)),
        (lambda x: np.linalg.inv(x)[0, 0], np.eye(2)),
        (lambda x: sg.fori_loop(0, 10, lambda i, c: np.sin(c), x), 1.0),
        (lambda x: x[np.argmax(x)], np.ones(40)),
        (lambda x: x, np.ones(40)),
        (lambda x: x[1:], np.ones(40)),
        (lambda x: np.concatenate([x, x]), np.ones(40)),
        (lambda x: snp.array([x[0] + x[1], 2 * x[0]])[:, None] * x, np.ones(40)),
    ],
)
def test_others_are_compiled(f: Callable[..., Any], x: Any) -> None:
    function = sg.compile(f, backend="bytecode")
    assert same(function(x), sg.compile(f)(x))
    assert function._specialization((x,), {}, short=True).interpreted is None


def test_a_branch_that_is_not_taken() -> None:
    function = sg.compile(lambda x: x * 2 if x > 0 else -x, backend="bytecode")
    assert (function(1.5), function(-4.0), function(2.0)) == (3.0, 4.0, 4.0)
    assert function.traces == 2


def test_results_in_given_memory() -> None:
    function = sg.compile(sg.value_and_grad(lambda x: x[0] * x[1]), backend="bytecode")
    x, slopes = np.array([2.0, 3.0, 4.0]), np.full(3, np.nan)
    for _ in range(2):
        value, given_back = function(x, out=(None, slopes))
        assert given_back is slopes
        assert (value, slopes.tolist()) == (6.0, [3.0, 2.0, 0.0])


def test_runs_do_not_share_results() -> None:
    function = sg.compile(lambda x: (x + 1, snp.array([x, 2 * x])), backend="bytecode")
    (_, first), (_, second) = function(1.0), function(2.0)
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0], [2.0, 4.0])


def test_threads() -> None:
    """Arrays long enough for the interpreter's lock to be released: slots must not be shared."""
    f = sg.value_and_grad(random_function(1, 300))
    function = sg.compile(lambda x, y: (*f(x, y), x[5000]), backend="bytecode")
    arrays = [np.random.default_rng(k).normal(size=9000) for k in range(4)]
    expected = [function(x, 0.5) for x in arrays]
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(200) if not same(function(arrays[k], 0.5), expected[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_steps_are_in_long_runs() -> None:
    """A sum of products is a run of multiplications; levels run back and forth."""
    program = sg.compile(lambda x: sum(x[k] * x[k + 1] for k in range(64))).program(np.ones(65))
    code = encode(program)
    assert code is not None
    kinds = [code.opcodes[k].symbol for k in code.parts[1].kinds]
    assert [name for name, _ in itertools.groupby(kinds)] == [
        "symgrad.bytecode.Multiply.f8f8f8", "symgrad.bytecode.Add.f8f8f8",
    ]  # fmt: skip


# ---------------------------------------------------------------- the kernel takes over


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Keep what would be compiled aside; the test runs it."""
    jobs: list[Callable[[], None]] = []
    monkeypatch.setattr(_specialization, "submit", jobs.append)
    monkeypatch.setattr(_specialization, "INTERPRETED_FROM", 1)
    return jobs


def running(function: sg.Function) -> str:
    assert function._fast is not None
    return "bytecode" if "bytecode" in function._fast[0].__name__ else "kernel"


def test_the_kernel_takes_over(held: list[Callable[[], None]]) -> None:
    function = sg.compile(sg.value_and_grad(random_function(3, 20)), backend="auto")
    x = np.arange(5.0)
    first = function(x, 0.5)
    assert same(function(x, 0.5), first)
    assert running(function) == "bytecode"
    assert len(held) == 1
    held.pop()()
    assert same(function(x, 0.5), first)
    assert running(function) == "kernel"
    assert same(function(x, 0.5), first)
    assert not held


def test_the_kernel_takes_over_with_given_memory(held: list[Callable[[], None]]) -> None:
    function = sg.compile(sg.grad(lambda x: x[0] * x[1]), backend="auto")
    x, slopes = np.array([2.0, 3.0]), np.zeros(2)
    for _ in range(4):
        slopes[:] = 0
        function(x, out=slopes)
        assert slopes.tolist() == [3.0, 2.0]
        while held:
            held.pop()()


def test_short_programs_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_specialization, "submit", None)
    function = sg.compile(lambda x: x * x, backend="auto")
    assert function(3.0) == 9.0
    assert running(function) == "kernel"


def test_an_error_while_compiling_is_raised_once(
    held: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = sg.compile(lambda x: x * x, backend="auto")
    assert function(3.0) == 9.0

    def broken(*_: Any) -> None:
        raise MemoryError("no room for the code")

    with monkeypatch.context() as patched:
        patched.setattr(_specialization, "cached_code", broken)
        held.pop()()
    with pytest.raises(MemoryError, match="no room for the code"):
        function(3.0)
    assert function(4.0) == 16.0
    assert running(function) == "bytecode"
    assert not held


def test_compiling_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_specialization, "INTERPRETED_FROM", 1)
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    done = threading.Event()
    aside: list[bool] = []
    retire = Specialization._compile_aside

    def watched(self: Specialization) -> None:
        aside.append(_background.aside())
        retire(self)
        done.set()

    monkeypatch.setattr(Specialization, "_compile_aside", watched)
    function = sg.compile(sg.value_and_grad(random_function(5, 700)), backend="auto")
    x = np.arange(5.0)
    first = function(x, 0.5)
    assert done.wait(60)
    assert same(function(x, 0.5), first)
    assert running(function) == "kernel"
    assert aside == [True]


ENDS = """
import sys
import numpy as np, symgrad as sg

def chain(x):
    for _ in range(800):
        x = np.sin(x) * x
    return x

function = sg.compile(sg.value_and_grad(chain), backend="auto")
print(*map(float, function(0.5)), flush=True)
if "fork" in sys.argv:
    import os
    child = os.fork()
    if not child:
        print(*map(float, function(0.5)), flush=True)
        print(float(sg.compile(lambda x: x * x)(3.0)), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("how", ["end", pytest.param("fork", marks=pytest.mark.slow)])
def test_a_process_ends_or_forks_while_it_compiles(how: str) -> None:
    if how == "fork" and not hasattr(os, "fork"):
        pytest.skip("no processes are forked here")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", ENDS, how],
        env={**os.environ, "SYMGRAD_CACHE_DIR": ""},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    first, *rest = ended.stdout.splitlines()
    assert rest == ([first, "9.0"] if how == "fork" else [])


# ---------------------------------------------------------------- cache and choice


@pytest.mark.slow
def test_handlers_are_kept_on_disk(cache_dir: Any) -> None:
    """A second process compiles nothing; a damaged file is made again.

    There are the common handlers, one more, and the functions that keep memory.
    """
    script = (
        "import symgrad as sg; from symgrad._compile import _cache\n"
        "made = []; emit = _cache.emit\n"
        "_cache.emit = lambda text, *more: made.append(text) or emit(text, *more)\n"
        "print(sg.compile(sg.grad(lambda x: x[0] * x[1]), backend='bytecode')([2.0, 3.0]),"
        " len(made))"
    )

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=True
        ).stdout.strip()

    assert run() == "[3. 2.] 3"
    assert run() == "[3. 2.] 0"
    for file in cache_dir.glob("*/code.o"):
        file.write_bytes(b"nonsense")
    assert run() == "[3. 2.] 3"


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_BACKEND", "bytecode")
    function = sg.grad(lambda x: x * x)
    assert function(3.0) == 6.0
    assert running(function) == "bytecode"


def test_a_program_is_encoded_without_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "fingerprint", property(lambda self: pytest.fail("not needed")))
    assert sg.compile(lambda x: np.sin(x) * x, backend="bytecode")(0.0) == 0.0
