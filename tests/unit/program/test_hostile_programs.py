"""Saved programs that somebody made to do harm: nothing of a file runs, wherever it goes."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy.parsing import sympy_parser

import symgrad as sg
from symgrad._core.op import registry
from symgrad._core.program import Program
from symgrad._core.program import _read as reading
from symgrad._core.program._json import to_json
from symgrad._show._graph_view_program import program_view
from symgrad.errors import ArgumentError, DataError, ShapeError

PACKAGE = Path(sg.__file__).parent
RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(3, 3))


@pytest.fixture(autouse=True)
def _no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where SymPy reads text: it evaluates what it reads."""

    def refuse(text: str, *_: Any, **__: Any) -> None:
        pytest.exit(f"SymPy reads {text!r}")

    monkeypatch.setattr(sympy_parser, "parse_expr", refuse)


def data_of(f: Callable[..., Any], *args: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(sg.compile(f).program(*args)))
    return found


def sealed(data: dict[str, Any]) -> str:
    """The text of a program with the fingerprint that it has: whoever writes a file knows it."""
    text = json.dumps(data)
    try:
        saved = reading.from_json(text)
    except DataError:
        return text
    fields = (saved.inputs, saved.outputs, saved.steps, saved.levels, saved.guards)
    return json.dumps({**data, "fingerprint": Program(*fields, saved.conditions).fingerprint})


def loop(x: Any) -> Any:
    return sg.fori_loop(0, 3, lambda i, c: np.sin(c), x)


#: Functions with the op and the parameter that is replaced by code.
PLACES: list[tuple[Callable[..., Any], Any, str, str]] = [
    (lambda x: np.broadcast_to(x, (3,)), 1.0, "Broadcast", "shape"),
    (lambda x: np.reshape(x, (2, 2)), np.ones(4), "Reshape", "shape"),
    (loop, 1.0, "Loop", "length"),
    (loop, 1.0, "Loop", "reverse"),
    (lambda x: x[np.array([0, 2])], np.ones(3), "Gather", "at"),
    (lambda x: np.fft.irfft(np.fft.rfft(x)), np.ones(4), "RealSignal", "n"),
    (lambda x: np.fft.irfft(np.fft.rfft(x)), np.ones(4), "RealFourier", "norm"),
    (lambda x: np.fft.fft(x + 0j).real, np.ones(4), "Fourier", "inverse"),
    (np.diagonal, SQUARE, "Diagonal", "size"),
    (np.diag, np.ones(3), "DiagEmbed", "shape"),
    (lambda x: np.linalg.solve(x, np.ones(3)), SQUARE, "Solve", "trans"),
    (lambda x: np.cumsum(x), np.ones(3), "Cumsum", "reverse"),
    (lambda x: np.transpose(x), SQUARE, "Transpose", "axes"),
    (lambda x: x @ x, SQUARE, "Contract", "out"),
    (lambda x: np.sum(x), SQUARE, "Sum", "axes"),
    (lambda x: x[1:], SQUARE, "Slice", "region"),
    (lambda x: x.astype(np.float32), SQUARE, "Cast", "dtype"),
]


@pytest.mark.parametrize(("f", "x", "op", "name"), PLACES, ids=[f"{p[2]}-{p[3]}" for p in PLACES])
def test_no_parameter_is_code(f: Any, x: Any, op: str, name: str, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    for value in (code, [code], [[code]], [[0, 1, code]], {"size": code}, f"{code}\n", "1\n", 1.5):
        data = data_of(f, x)
        [step, *_] = [s for s in data["steps"] if s["op"] == op]
        step["params"][name] = value
        (tmp_path / "p.json").write_text(sealed(data))
        with pytest.raises(DataError, match=f"{op}.*{name}|is no size|is no parameter"):
            sg.load(tmp_path / "p.json")
        assert not canary.exists()


def test_every_op_declares_its_parameters() -> None:
    """A trace is checked against the types, so that they cannot say less than it makes."""
    for op in registry.ops.values():
        for name, type_ in op.params.items():
            assert type_.words, (op, name)
            assert not type_.admits("__import__('os')"), (op, name)
            assert not type_.admits(("0 + 1",)), (op, name)
            assert not type_.admits(1.5), (op, name)
            assert type_.admits(3) or not type_.admits("3"), (op, name)


def test_text_of_a_file_is_printed_on_its_line() -> None:
    data = data_of(lambda x: np.sin(x) * 2.0, np.ones(3))
    for step in data["steps"]:
        step["line"] = ["x.py\n    import os\n    os.abort()  # ", 1, "f\n    os.abort()"]
    program = Program.from_json(sealed(data))
    plain = Program.from_json(sealed(data_of(lambda x: np.sin(x) * 2.0, np.ones(3))))
    assert str(program).count("\n") == str(plain).count("\n")
    assert ast.dump(ast.parse(program.source())) == ast.dump(ast.parse(plain.source()))


def test_messages_are_on_their_line() -> None:
    """A terminal does what some characters say."""
    data = data_of(lambda x: np.sin(x), 1.0)
    data["steps"][0]["op"] = "\x1b[31mred\u2028\n"
    with pytest.raises(DataError, match="no such op") as caught:
        Program.from_json(json.dumps(data))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["np", "lambda", "max", "\uff4e\uff50", "ValueError", "c0", "n"])
def test_names_of_a_file_hide_nothing(name: str) -> None:
    table = np.arange(3.0) + 0.25
    data = data_of(lambda x, k: np.sin(x[: max(k, 1)]) + table[0] + k, np.ones(5), 2)
    data["inputs"][0]["name"] = name
    program = Program.from_json(sealed(data))
    scope: dict[str, Any] = {}
    exec(program.source(), scope)
    assert np.array_equal(scope["program"](np.arange(5.0), 2), program(np.arange(5.0), 2))


@pytest.mark.parametrize("name", ["np", "lambda", "max", "x y", "n.real", "", "\uff4e", "_"])
def test_sizes_have_names_of_their_own(name: str) -> None:
    data = data_of(np.sin, np.ones(3))
    data["sizes"] = {name: 3}
    data["inputs"][0]["shape"] = data["steps"][0]["shape"] = [name]
    with pytest.raises(DataError, match="is no name with a number"):
        Program.from_json(sealed(data))


def test_a_guard_that_a_program_needs_cannot_be_left_out() -> None:
    """Steps that are sound for some sizes only are for these only, whatever the file says."""
    f = sg.compile(lambda x, y: x[2] + x[:4] * y[:4])
    program = f.program(np.ones(5), np.ones(6))
    data = json.loads(to_json(program))
    data["guards"] = []
    loaded = Program.from_json(sealed(data))
    assert loaded(np.arange(4.0), np.ones(4)).shape == (4,)
    for bad in ((np.ones(3), np.ones(5)), (np.ones(5), np.ones(3))):
        with pytest.raises(ShapeError, match="the program is for sizes with"):
            loaded(*bad)


def test_a_saved_program_refuses_sizes_that_break_its_guards(tmp_path: Path) -> None:
    f = sg.compile(lambda x: x[2] + x if x.shape[0] > 3 else x[0] - x)
    f.program(np.ones(5)).save(tmp_path / "p.json")
    program = sg.load(tmp_path / "p.json")
    scope: dict[str, Any] = {}
    exec(program.source(), scope)
    for run in (program, program.run, scope["program"]):
        with pytest.raises(ValueError, match=r"the program is for .*n > 3.* n = 3"):
            run(np.ones(3))
    with pytest.raises(ValueError, match=r"x\.shape == \(n,\)"):
        scope["program"](np.ones((5, 5)))
    with pytest.raises(ShapeError, match="the program is for sizes with n > 3"):
        program_view(program, [np.ones(3)])


def test_arguments_that_would_broadcast_are_refused() -> None:
    program = sg.compile(lambda x, y: x + y).program(np.ones(3), np.ones(3))
    scope: dict[str, Any] = {}
    exec(program.source(), scope)
    for run in (program, scope["program"]):
        with pytest.raises(ValueError, match="shape"):
            run(np.ones(4), np.ones(1))


#: Functions that read text as code, and code that is made here, of names of its own.
READERS = {"parse_expr", "eval", "exec"}
MADE_HERE = {
    ("_api/_define.py", "eval"), ("_dispatch/_kernel.py", "exec"),
    ("_dispatch/_packing.py", "exec"),
}  # fmt: skip


@pytest.mark.slow
def test_nothing_reads_text_as_code() -> None:
    """SymPy's parser is not called; ``sympify``, which would, is strict (``as_expr``)."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        strict = {
            id(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and any(k.arg == "strict" for k in node.keywords)
        }
        for node in ast.walk(tree):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            place = file.relative_to(PACKAGE).as_posix()
            loose = name == "sympify" and id(node) not in strict
            if name in READERS or loose:
                found.add((place, name))
    assert found == MADE_HERE


@pytest.mark.parametrize(
    ("index", "place"), [(2.5, 2), ([1.9], [1]), (np.float64(1.0), 1), (2**40, 2)]
)
def test_programs_take_no_float_for_a_whole_number(index: Any, place: Any) -> None:
    """They do not run for another number than the one that is given."""
    x, place = np.arange(4.0), np.asarray(place, np.int32)[()]
    program = sg.compile(lambda x, i: x[i]).program(x, place)
    scope: dict[str, Any] = {}
    exec(program.source(), scope)
    for run in (program, scope["program"]):
        np.testing.assert_array_equal(run(x, place), x[place])
        if index != 2**40 or run is program:
            with pytest.raises((ArgumentError, TypeError)):
                run(x, index)
