"""Programs as code, as files, as formulas: they say the same as they compute."""

from __future__ import annotations

import json
import keyword
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import sympy as sp

import symgrad as sg
from symgrad._core.op import Code, Composed, Composite, Evidence, Map, Op, Real, define, registry
from symgrad._core.trace import flatten
from symgrad.errors import (
    ArgumentError,
    CycleError,
    DataError,
    ShapeError,
    SymgradError,
    UnsupportedError,
)
from tests.samples import samples_of
from tests.shared import executed, of_arrays

Program = sg.Program
MAPS = {name: op for name, op in registry.ops.items() if op.kind == "map"}
COMPOSITES = {name: c for name, c in registry.composites.items() if c.functions}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def same_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    number = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a[number]), np.signbit(b[number])
    )


def written(program: Program) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.json"
        program.save(path)
        return path.read_text(encoding="utf-8")


def assert_program(program: Program, values: Any) -> None:
    """Run as code, saved and loaded, the program gives the same bits; it prints the same."""
    want = program.run(*values)
    got = executed(program)(*values)
    for a, b in zip(want, got if len(want) != 1 else (got,), strict=True):
        assert same_bits(a, b), program.source()
    text = written(program)
    loaded = Program.from_json(text)
    assert loaded.fingerprint == program.fingerprint
    assert written(loaded) == text
    assert str(loaded) == str(program)
    assert loaded.levels == program.levels
    for a, b in zip(want, loaded.run(*values), strict=True):
        assert same_bits(a, b)


# ---------------------------------------------------------------- the whole registry


def cases(record: Composite) -> Iterator[tuple[Callable[..., Any], list[Any], list[int]]]:
    """A composite's samples as functions of the arrays in them, and which arrays are real."""
    for sample in samples_of(record, np.random.default_rng(7)):
        function, values = of_arrays(record.function, sample)
        yield function, values, [k for k, x in enumerate(values) if x.dtype.kind == "f"]


def squares(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(*arrays: Any) -> Any:
        total: Any = 0.0
        for x in flatten(function(*arrays))[0]:
            total = total + np.sum(x * x if x.dtype.kind == "f" else x * 0.0)
        return total

    return loss


@pytest.mark.parametrize("name", COMPOSITES)
@pytest.mark.quick(2)
def test_composites(name: str) -> None:
    for k, (function, values, real) in enumerate(islice(cases(COMPOSITES[name]), 16)):
        if any(map(np.iscomplexobj, values)):
            continue  # they enter a program as their parts: tests/test_fourier.py
        assert_program(sg.compile(function).program(*values), values)
        if COMPOSITES[name].differentiable and real and k < 5:
            gradient = sg.grad(squares(function), argnums=tuple(real))
            program = gradient.program(*values)
            assert_program(program, values)
            assert "\0" not in program.latex()


def operand(op: Op, k: int, dtype: str, shape: Any, rng: Any) -> Any:
    if op.name in ("Ldexp", "LeftShift", "RightShift") and k == 1:
        return np.asarray(rng.integers(0, 4, shape))
    low, high = (-3, 3) if dtype != "?" else (0, 2)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def variants(op: Op, operands: list[Any]) -> Iterator[tuple[Callable[..., Any], list[Any]]]:
    """The op on all operands, and with a Python number as one of them."""
    params = {"dtype": "float32"} if op.name == "Cast" else {}
    yield lambda *xs: op(*xs, **params), operands
    if len(operands) > 1:
        number = operands[0].dtype.type(2).item()
        yield lambda *xs: op(*xs, number), operands[:-1]
        yield lambda *xs: op(number, *xs), operands[1:]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.quick(2)
def test_maps(name: str) -> None:
    op = MAPS[name]
    rng = np.random.default_rng(0)
    ran = False
    for dtype in ("f8", "f4", "i8", "u1", "?"):
        for shape in ((), (4,)):
            operands = [operand(op, k, dtype, shape, rng) for k in range(op.arity)]
            for function, values in variants(op, operands):
                try:
                    program = sg.compile(function).program(*values)
                    program.run(*values)
                except (SymgradError, ValueError, OverflowError):
                    continue  # not defined for this type
                assert_program(program, values)
                ran = True
                if dtype[0] == "f" and op.reason is None and values[0].dtype.kind == "f":
                    program = sg.grad(squares(function)).program(*values)
                    assert_program(program, values)
    assert ran


# ---------------------------------------------------------------- source


def loss(x: Any, w: Any) -> Any:
    y = special.expit(x @ w)
    return np.mean(y[1:] * y[::-1][:-1]) + 2.0 / x.shape[1]


X, W = np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.5, -1.0, 2.0])


def test_source_is_readable() -> None:
    program = sg.compile(loss).program(X, W)
    line = loss.__code__.co_firstlineno
    first, second = (f"# test_program.py:{line + k}" for k in (1, 2))
    known = "x.shape == (n, m), w.shape == (m,), n - 1 > 0"
    lines = [
        "import numpy as np",
        "from scipy import special",
        "",
        "",
        '@np.errstate(all="ignore")',
        "def loss(x, w):",
        "    x = np.asarray(x, np.float64)",
        "    w = np.asarray(w, np.float64)",
        "    n = x.shape[0]",
        "    m = x.shape[1]",
        "    if not (x.shape == (n, m) and w.shape == (m,) and n - 1 > 0):",
        f'        raise ValueError(f"the program is for {known}; found n = {{n}}, m = {{m}}")',
        f'    v0 = np.einsum("ij,j->i", x, w, optimize=True)  {first}',
        f"    v1 = special.expit(v0)                          {first}",
        f"    v2 = v1[1:]                                     {second}",
        f"    v3 = v1[::-1]                                   {second}",
        f"    v4 = v3[:n - 1]                                 {second}",
        f"    v5 = v2 * v4                                    {second}",
        f"    v6 = np.sum(v5, axis=0)                         {second}",
        f"    v7 = v6 / (n - 1)                               {second}",
        "    v8 = np.float64(2.0) / np.float64(m)",
        f"    v9 = v7 + v8                                    {second}",
        "    return v9",
    ]
    source = program.source("loss")
    body = [x for x in source.splitlines() if '"""' not in x]
    assert body == lines


def test_lines_are_of_the_function_that_is_read(tmp_path: Path) -> None:
    """Steps of numbers and sizes alone are shared by all programs, with the line of the first."""
    programs = []
    for name in ("elsewhere.py", "here.py"):
        names: dict[str, Any] = {}
        exec(compile("def f(x):\n    return -x.sum()", name, "exec"), names)
        programs.append(sg.grad(names["f"]).program(np.ones(3)))
    other, program = programs
    assert set(other.steps) & set(program.steps)
    program.save(tmp_path / "program.symgrad")
    saved = (tmp_path / "program.symgrad").read_text()
    graph = sg.draw(program).dot
    for text in (str(program), program.source(), saved, graph):
        assert "elsewhere.py" not in text


def test_source_runs_on_its_own_and_for_other_sizes() -> None:
    program = sg.value_and_grad(loss).program(X, W)
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(7, 5)), rng.normal(size=5)
    value, gradient = program(x, w)
    code = (
        f"{program.source()}\nx = np.array({x.tolist()})\nw = np.array({w.tolist()})\n"
        "value, gradient = program(x, w)\n"
        "import sys\n"
        "assert 'symgrad' not in sys.modules\n"
        "print(value.hex(), gradient.tobytes().hex())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [value.hex(), gradient.tobytes().hex()]


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.sqrt(1 + x**2)),
    lambda x: np.sum(np.sqrt(x**2 + np.sin(x) ** 2 + np.exp(x) ** 2)),
])  # fmt: skip
def test_source_of_directions(f: Any) -> None:
    found: dict[str, Any] = {}
    x = np.array([0.1, -0.2, 3.0])
    with sg.backend("numpy"):
        program = sg.grad(f).program(x)
        exec(program.source("slope"), found)
        np.testing.assert_array_equal(found["slope"](x), program(x))


def test_source_names_hide_nothing() -> None:
    names = ["np", "special", "lambda", "n", "math", "placed", "v0", "program"]
    values = {name: np.arange(3.0) + k for k, name in enumerate(names)}

    def function(**arrays: Any) -> Any:
        total = sum(special.expit(np.sin(x)) for x in arrays.values())
        return np.concatenate([total, total])[1:5] + np.tanh(total[0])

    program = sg.grad(lambda **a: np.sum(function(**a) * function(**a)), argnums=())
    assert program is not None
    plain = sg.compile(function).program(**values)
    assert_program(plain, list(values.values()))
    first = plain.source().split("def program(")[1].split(")")[0].split(", ")
    assert not any(keyword.iskeyword(name) for name in first)
    assert len(set(first)) == len(first)


NUMBERS = [0.1, -0.0, 1e300, 5e-324, np.inf, -np.inf, np.nan, 3.0, -2.5]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_numbers_in_source_keep_their_bits(number: float, dtype: str) -> None:
    x = np.ones(3, dtype)
    value = np.dtype(dtype).type(number)
    for function in (
        lambda x: x * value,
        lambda x: np.where(x > 0, value, x),
        lambda x: np.full_like(x, value),
        lambda x: x[0] + value,
    ):
        assert_program(sg.compile(function).program(x), [x])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4.0), np.array(NUMBERS), np.arange(100.0).reshape(4, 25) / 7,
        np.zeros((0, 3)), np.array([True, False]), np.arange(200, dtype=np.uint8),
        np.linspace(0, 1, 50, dtype=np.float32), np.array([2**63 - 1, -(2**63)]),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)  # fmt: skip
def test_constants(array: Any) -> None:
    program = sg.compile(lambda x: (x * array, array)).program(1.5)
    assert program.constants
    assert_program(program, [1.5])


def test_sizes_as_arguments() -> None:
    program = sg.compile(lambda x, k: np.sum(x[:k]) * k).program(np.ones(6), 4)
    assert_program(program, [np.arange(6.0), 4])
    assert 'k = np.asarray(k).astype(np.int64, casting="same_kind")[()]' in program.source()


def test_guards_are_in_the_source() -> None:
    program = sg.compile(lambda x: x[2] if x.shape[0] > 3 else x[0]).program(np.ones(5))
    assert '"""For sizes with n > 3' in program.source()


@pytest.mark.parametrize("name", ["np", "lambda", "2x", "", "recurrence"])
def test_names_that_the_function_cannot_have(name: str) -> None:
    program = sg.grad(lambda x: np.sum(np.cumprod(x))).program(np.ones(3))
    with pytest.raises(ArgumentError, match="cannot be the name of the function"):
        program.source(name)


def test_no_outputs() -> None:
    program = sg.compile(lambda x: None).program(1.0)
    assert executed(program)(1.0) == () == program(1.0)


def test_an_op_without_a_spelling_is_named() -> None:
    try:
        op = define(
            Map("Twice", evaluate=lambda x: 2 * x, sympy=lambda x: 2 * x, domain=(Real,)),
            Code(Composed(lambda x: 2 * x)),
            Evidence(samples=(-3, 3)),
        )
        program = sg.compile(lambda x: op(x)).program(1.0)
        with pytest.raises(UnsupportedError, match="Twice is no NumPy function: give source="):
            program.source()
    finally:
        registry.ops.pop("Twice")


# ---------------------------------------------------------------- calling


def test_call() -> None:
    assert sg.compile(np.sin).program(0.5)(0.5) == np.sin(0.5)
    value, gradient = sg.value_and_grad(lambda x: np.sum(x * x)).program(X)(X)
    assert value == np.sum(X * X)
    assert np.array_equal(gradient, 2 * X)
    with pytest.raises(ShapeError, match=r"x has shape \(2, 2\), expected \(2,\)"):
        sg.compile(lambda x, y: x + y).program(np.ones(3), np.ones(3))(np.ones((2, 2)), np.ones(2))


# ---------------------------------------------------------------- formulas


def test_to_sympy() -> None:
    x, y = sp.symbols("x y", real=True)
    value, by_x = sg.value_and_grad(lambda x, y: np.sin(x) * y).program(0.5, 2.0).to_sympy()
    assert value == sp.sin(x) * y
    assert by_x == y * sp.cos(x)


def test_to_sympy_of_what_is_too_large() -> None:
    def chain(x: Any) -> Any:
        for _ in range(3000):
            x = np.sin(x)
        return x

    program = sg.compile(chain).program(1.0)
    with pytest.raises(UnsupportedError, match="3000 steps is too long"):
        program.to_sympy()
    assert program.latex().count("\n") == 3001


def test_latex() -> None:
    program = sg.grad(lambda x, a: np.sum(np.exp(-x / 3) * x[::-1]) ** 2).program(np.ones(4), 2.0)
    assert program.latex().splitlines()[:7] == [
        r"\begin{align}",
        r"{v_{0}}_{i} &= - {x}_{i} \\",
        r"{v_{1}}_{i} &= \frac{{v_{0}}_{i}}{3} \\",
        r"{v_{2}}_{i} &= e^{{v_{1}}_{i}} \\",
        r"{v_{3}}_{i} &= {x}_{n - i - 1} \\",
        r"{v_{4}}_{i} &= {v_{2}}_{i} {v_{3}}_{i} \\",
        r"v_{5} &= \sum_{i=0}^{n - 1} {v_{4}}_{i} \\",
    ]


def test_latex_of_folds_gathers_and_nothing() -> None:
    index = np.array([2, 0])
    text = sg.compile(lambda x: np.max(x[index], axis=0)).program(np.ones((3, 2))).latex()
    assert r"\max_{0 \leq j \leq 1}\left({v_{0}}_{j,i}\right)" in text
    assert sg.compile(lambda x: x).program(np.ones(3)).latex().splitlines()[1] == (
        "{result}_{i} &= {x}_{i}"
    )
    assert r"\text{(no elements)}" in sg.compile(lambda x: x[:0] + 1).program(np.ones(3)).latex()
    assert r"\operatorname{nextafter}" in sg.compile(np.nextafter).program(1.0, 2.0).latex()


# ---------------------------------------------------------------- files


def saved(program: Program) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(written(program))
    return data


def test_save_and_load(tmp_path: Path) -> None:
    program = sg.value_and_grad(loss).program(X, W)
    file = tmp_path / "loss.json"
    program.save(file)
    assert [p.name for p in tmp_path.iterdir()] == ["loss.json"]
    loaded = sg.load(str(file))
    assert str(loaded) == str(program)
    assert repr(loaded) == repr(program)
    assert loaded.fingerprint == program.fingerprint
    assert loaded.source() == program.source()
    x, w = np.random.default_rng(0).normal(size=(9, 2)), np.ones(2)
    for a, b in zip(loaded(x, w), program(x, w), strict=True):
        assert same_bits(a, b)


def test_saving_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.json"
    sg.compile(np.sin).program(1.0).save(file)
    before = file.read_bytes()

    def full(self: Path, *args: Any, **kwargs: Any) -> None:
        self.touch()
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        sg.compile(np.cos).program(1.0).save(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]


def test_pickle() -> None:
    program = sg.hessian(lambda x: np.sum(np.cos(x) ** 3)).program(np.ones(3))
    copy = pickle.loads(pickle.dumps(program))
    assert copy.fingerprint == program.fingerprint
    assert np.array_equal(copy(np.arange(3.0)), program(np.arange(3.0)))


def test_loading_in_another_process(tmp_path: Path) -> None:
    program = sg.value_and_grad(loss).program(X, W)
    program.save(tmp_path / "p.json")
    code = (
        "import sys, numpy as np, symgrad as sg\n"
        "p = sg.load(sys.argv[1])\n"
        "sys.stdout.write(f'{p.fingerprint}\\n{p}')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p.json")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert run.stdout == f"{program.fingerprint}\n{program}"


def chain_data() -> dict[str, Any]:
    return saved(sg.compile(lambda x: np.exp(np.sin(x)) * 2.0 + np.arange(3.0)).program(np.ones(3)))


def test_what_is_written() -> None:
    data = chain_data()
    assert data["sizes"] == {"n": 3}
    assert data["inputs"] == [{"name": "x", "dtype": "float64", "shape": ["n"]}]
    assert [leaf["kind"] for leaf in data["leaves"]] == ["literal", "constant"]
    assert [step["op"] for step in data["steps"]] == ["Sin", "Exp", "Multiply", "Add"]
    assert data["steps"][0]["line"][0] == "test_program.py"
    assert data["guards"] == [["n == 3", True]]


def change(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply_to(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        if to is KeyError:
            del data[path[-1]]
        else:
            data[path[-1]] = to

    return apply_to


DAMAGED: list[tuple[Any, str]] = [
    (change("format", to="something else"), "no symgrad program: it has no field"),
    (change("version", to=1), "version 1 of the format"),
    (change("version", to=KeyError), "version None"),
    (change("steps", to=KeyError), "has no field 'steps'"),
    (change("steps", to={}), "'steps' is {}, not of type list"),
    (change("steps", 0, to=[1]), r"steps\[0\] is no record"),
    (change("steps", 0, "op", to="Sinn"), r"steps\[0\] \(Sinn\): there is no such op"),
    (change("steps", 0, "op", to="Input"), "there is no such op"),
    (change("steps", 0, "op", to=["Sin"]), "'op' is"),
    (change("steps", 0, "op", to="Exp"), "fingerprint"),
    (change("steps", 0, "operands", to=[0, 0]), "takes 1 operands, it has 2"),
    (change("steps", 0, "operands", to=[]), "takes 1 operands, it has 0"),
    (change("steps", 0, "operands", to=[99]), "there is no value number 99"),
    (change("steps", 0, "operands", to=[-1]), "there is no value number -1"),
    (change("steps", 0, "operands", to=["x"]), "there is no value number 'x'"),
    (change("steps", 0, "operands", to=[True]), "there is no value number True"),
    (change("steps", 0, "dtype", to="float32"), "type is float32, the rule gives float64"),
    (change("steps", 0, "dtype", to="complex128"), "no element type"),
    (change("steps", 0, "dtype", to="object"), "no element type"),
    (change("steps", 0, "shape", to=[4]), r"its shape is \(4,\), the rule gives \(n=3,\)"),
    (change("steps", 0, "shape", to=["n", "n"]), "the rule gives"),
    (change("steps", 0, "shape", to=["k"]), "there is no size 'k'"),
    (change("steps", 0, "shape", to=[-1]), "-1 is no size"),
    (change("steps", 0, "shape", to=[1.5]), "1.5 is no size"),
    (change("steps", 0, "shape", to=["__import__('os')"]), "is no size"),
    (change("steps", 0, "params", to={"axis": 1.5}), "1.5 is no parameter"),
    (change("steps", 0, "params", to={"axis": 10**30}), "too large"),
    (change("steps", 0, "params", to={"axis": {"code": "1"}}), "is no parameter"),
    (change("steps", 0, "params", to={"axis": 0}), "Sin has no parameter axis"),
    (change("steps", 0, "line", to="file.py:3"), "is no file name, line number and function"),
    (change("outputs", to=[99]), "outputs: there is no value number 99"),
    (change("outputs", to=[0]), "no output needs"),
    (change("outputs", to="all"), "not of type list"),
    (change("inputs", 0, "name", to="x y"), "'x y' is no name"),
    (change("inputs", 0, "name", to=KeyError), r"inputs\[0\] has no field 'name'"),
    (change("inputs", 0, "shape", to=[3]), "is not that of an input|no size|the rule gives"),
    (change("inputs", 0, "size", to="n - 1"), "n - 1 is no size symbol"),
    (change("sizes", to={"n": -3}), "is no name with a number"),
    (change("sizes", to={"n": "3"}), "is no name with a number"),
    (change("sizes", to={}), "there is no size 'n'"),
    (change("sizes", to={"n": 4}), "could not be broadcast"),
    (change("guards", to=[["n == 4", True]]), "is not True in the example call"),
    (change("guards", to=[["n == 3"]]), "is no relation with its truth"),
    (change("guards", to=[["n", True]]), "is no comparison of two sizes"),
    (change("guards", to=[["1 < n < 5", True]]), "is no comparison of two sizes"),
    (change("guards", to=[]), "fingerprint"),
    (change("leaves", 0, "kind", to="code"), "'code' is no kind of leaf"),
    (change("leaves", 0, "value", to=2.0), "2.0 is no number of type float64"),
    (change("leaves", 0, "value", to="0x1.0p+1z"), "is no number of type float64"),
    (change("leaves", 0, "value", to="nan:00"), "is no number of type float64"),
    (change("leaves", 0, "value", to="0x1.8p+1"), "fingerprint"),
    (change("leaves", 0, "dtype", to="int8"), "is no number of type int8"),
    (change("leaves", 1, "data", to="!!!"), "its data are damaged"),
    (change("leaves", 1, "data", to="AAAA"), "its data have 3 bytes"),
    (change("leaves", 1, "shape", to=[2]), "its data have 24 bytes"),
    (change("leaves", 1, "shape", to=[-3]), "is no shape of an array"),
    (change("fingerprint", to="0" * 64), "fingerprint"),
    (change("fingerprint", to=0), "not of type str"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGED)
def test_damaged_files(damage: Any, message: str, tmp_path: Path) -> None:
    data = chain_data()
    damage(data)
    file = tmp_path / "p.json"
    file.write_text(json.dumps(data))
    with pytest.raises(DataError, match=message) as error:
        sg.load(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "NaN", '{"format": NaN}', "[" * 5000, "\ufeff{}", '{"format": 1}',
     "9" * 10000],
)  # fmt: skip
def test_foreign_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="no symgrad program"):
        sg.load(file)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\x80\x04\xff\xfe")
    with pytest.raises(DataError, match="no symgrad program"):
        sg.load(tmp_path / "p")
    with pytest.raises(FileNotFoundError):
        sg.load(tmp_path / "none")


def test_a_cycle_is_named() -> None:
    data = chain_data()
    first = len(data["inputs"]) + len(data["leaves"])
    data["steps"][0]["operands"] = [first + 1]
    with pytest.raises(
        CycleError, match=r"steps\[0\] \(Sin\) needs steps\[1\] \(Exp\) needs steps\[0\] \(Sin\)"
    ):
        Program.from_json(json.dumps(data))
    data["steps"][0]["operands"] = [first]
    with pytest.raises(CycleError, match=r"steps\[0\] \(Sin\) needs steps\[0\] \(Sin\)"):
        Program.from_json(json.dumps(data))


def test_steps_twice_or_for_nothing() -> None:
    data = chain_data()
    data["steps"].append(dict(data["steps"][0]))
    with pytest.raises(DataError, match="a step comes twice"):
        Program.from_json(json.dumps(data))
    data = chain_data()
    data["steps"].append({**data["steps"][0], "op": "Cos"})
    with pytest.raises(DataError, match="no output needs Cos"):
        Program.from_json(json.dumps(data))


def test_order_and_names() -> None:
    data = saved(sg.compile(lambda x, y: np.sin(x) * np.cos(y)).program(1.0, 2.0))
    first, last = data["steps"][0], data["steps"][2]
    last["operands"] = [2 if n == 2 else 3 for n in last["operands"]]
    swapped = {**data, "steps": [{**last, "operands": [3, 4]}, first, data["steps"][1]]}
    with pytest.raises(DataError, match=r"steps\[0\] \(Multiply\) needs steps\[1\] \(Sin\), which"):
        Program.from_json(json.dumps(swapped))
    data["inputs"][1]["name"] = "x"
    with pytest.raises(DataError, match="two inputs have the name 'x'"):
        Program.from_json(json.dumps(data))


def test_a_file_cannot_spoil_other_programs() -> None:
    """Nodes without inputs are shared by all programs: a wrong shape must not stick to one."""
    make = sg.compile(lambda x, y: (np.cumsum(np.full_like(x, 0.140625)) + x, y))
    data = saved(make.program(np.ones(4), np.ones(5)))
    data["sizes"]["m"] = 4
    *without, _ = data["steps"]
    assert [step["op"] for step in without][-1] == "Cumsum"
    for step in without:
        step["shape"] = ["m" if size == "n" else size for size in step["shape"]]
    with pytest.raises(DataError, match="shape is not written as the shape rule gives it"):
        Program.from_json(json.dumps(data))


def test_reading_outside_of_an_array_is_refused() -> None:
    data = saved(sg.compile(lambda x: x[1:3]).program(np.ones(4)))
    data["steps"][0]["params"]["region"] = [[3, 1, 2]]
    with pytest.raises(DataError, match="the range 3:1:2 is not within an axis of size n"):
        Program.from_json(json.dumps(data))
    data["steps"][0]["params"]["region"] = [[-1, 1, 2]]
    with pytest.raises(DataError, match="not within"):
        Program.from_json(json.dumps(data))


@pytest.mark.usefixtures("written_out")
@pytest.mark.slow
def test_long_programs() -> None:
    def chain(x: Any) -> Any:
        for _ in range(100_000):
            x = np.sin(x)
        return x

    program = sg.compile(chain).program(0.5)
    copy = pickle.loads(pickle.dumps(program))
    assert copy.fingerprint == program.fingerprint
    assert executed(program)(0.5) == copy(0.5) == program(0.5)
    assert program.latex().count("\n") == 100_001


def test_steps_that_are_constants_of_real_numbers_say_what_they_compute() -> None:
    text = str(sg.compile(lambda x: np.where(np.isnan(x), 0.0, np.linalg.norm(x))).program(1.0))
    assert "isnan(x)" in text
    program = sg.grad(np.linalg.norm).program(np.ones(3))
    assert "lengthscale(v" in str(program)
    assert r"\operatorname{lengthscale}\left(v" in program.latex()
