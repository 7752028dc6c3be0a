"""The command line: what each command prints, its exit status, and that text never runs."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from symgrad.cli import main, parser

MODEL = """\
import numpy as np


def energy(x, k):
    return np.sum(k * np.sin(x) ** 2)


def loss(w, X):
    return np.sum(np.log(1 + np.exp(X @ w)))


def broken(x):
    raise KeyError("no such parameter")


def loop(n):
    return n


number = 3
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return call


# ---------------------------------------------------------------- diff


def test_diff(run: Any) -> None:
    assert run("diff", "sin(x)*exp(-y**2)") == (0, (
        "f(x, y) = exp(-y**2)*sin(x)\n\n"
        "d f/d x = exp(-y**2)*cos(x)\n"
        "d f/d y = -2*y*exp(-y**2)*sin(x)\n"
    ), "")  # fmt: skip
    status, out, _ = run("diff", "sin(x)*exp(-y**2)", "--wrt", "x")
    assert (status, out.splitlines()[2:]) == (0, ["d f/d x = exp(-y**2)*cos(x)"])
    status, out, _ = run("diff", "x**2*y", "--order", "2")
    assert out.splitlines()[2:] == ["d2 f/d x^2   = 2*y", "d2 f/d x d y = 2*x", "d2 f/d y^2   = 0"]
    status, out, _ = run("diff", "x**3*y", "--order", "3", "--at", "x=2", "y=3")
    assert out.splitlines()[2:6] == [
        "d3 f/d x^3     = 6*y", "d3 f/d x^2 d y = 6*x", "d3 f/d x d y^2 = 0", "d3 f/d y^3     = 0",
    ]  # fmt: skip
    assert out.splitlines()[-4:-2] == ["d3 f/d x^3     = 18", "d3 f/d x^2 d y = 12"]


def test_diff_in_other_forms(run: Any) -> None:
    _, out, _ = run("diff", "sin(x)/x", "--latex")
    assert out.startswith(r"f = \frac{\sin{\left(x \right)}}{x}")
    assert r"\frac{\partial f}{\partial x} = " in out
    _, out, _ = run("diff", "x/(1 + x)", "--pretty")
    assert "─" in out
    _, out, _ = run("diff", "sin(x)/x", "--program")
    scope: dict[str, Any] = {}
    exec(out, scope)
    assert scope["value_and_gradient"](0.5) == pytest.approx((0.958851077, -0.162537031))
    _, out, _ = run("diff", "x*y", "--program", "--order", "2")
    exec(out, scope)
    assert scope["hessian"](2.0, 3.0) == (0.0, 1.0, 1.0, 0.0)
    _, out, _ = run("diff", "x**3*y", "--program", "--order", "3", "--wrt", "x")
    exec(out, scope)
    assert scope["derivative_3"](2.0, 3.0) == pytest.approx(18.0)
    _, out, _ = run("diff", "sin(x)/x", "--c")
    assert "int value_and_gradient(double x, double *restrict out0, double *restrict out1)" in out


def test_diff_at_a_point(run: Any) -> None:
    _, out, _ = run("diff", "x**2*y", "--at", "x=1.5", "y=2")
    assert out.splitlines()[-4:] == [
        "at x=1.5, y=2",
        "f       = 4.5",
        "d f/d x = 6",
        "d f/d y = 2.25",
    ]
    for text in ("x", "x=", "x=a", "=1"):
        status, _, err = run("diff", "x", "--at", text)
        assert status == 2
        assert "write NAME=NUMBER, such as x=1.5" in err or "a number for each" in err
    status, out, err = run("diff", "log(x)", "--at", "x=-1")
    assert (status, err) == (0, "")
    assert "f       = nan" in out
    assert run("diff", "x*y", "--at", "x=1")[2] == "symgrad: --at needs a number for each of x, y\n"


def test_a_mistake_in_the_formula_is_pointed_at(run: Any) -> None:
    assert run("diff", "2*x^3") == (
        2, "", "symgrad: write ** for a power\n    2*x^3\n       ^\n",
    )  # fmt: skip
    status, out, err = run("diff", "x*sin(y")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].strip() == "^"
    status, _, err = run("diff", "sinn(x)")
    assert "did you mean" in err
    assert run("diff", "3")[0] == 2
    assert "--wrt z: the formula has no such name" in run("diff", "x", "--wrt", "z")[2]


#: Texts that would run, read or exhaust something if they were evaluated.
ATTACKS = [
    "__import__('os').system('touch hacked')",
    "().__class__.__bases__[0].__subclasses__()",
    "open('hacked', 'w')",
    "exec('1')",
    "eval('1')",
    "[x for x in ().__class__.__base__.__subclasses__()]",
    "(lambda: 1)()",
    "x.__class__",
    "x if x else exit()",
    "f'{x.__init__.__globals__}'",
    "globals()",
    "getattr(x, 'real')",
    "breakpoint()",
    "9**9**9**9",
    "factorial(10**9)",
    "gamma(10**18)",
    "x:=1",
    "print(x)",
    "os.system",
    "1; import os",
    "import os",
    "\x00x",
    "x" * 100_000,
    "(" * 5000 + "x" + ")" * 5000,
    "-" * 5000 + "x",
    "sin.func_globals",
    "S('1')",
    "Symbol('x')",
    "sympify('1')",
    "lambdify(x, x)",
    "`id`",
    "$(id)",
    "{x: 1}",
    "'a'*10**9",
    "zeros(10**9, 10**9)",
    "ones(9999999, 9999999)",
    "rand(-1)",
    "eye(__import__('os'))",
    "[" * 200 + "1" + "]" * 200,
    "[1, [2]]",
    "True",
    "1j",
    "x=1",
]


@pytest.fixture(scope="module")
def imported() -> None:
    """Import what commands import when they first run: llvmlite's named tuples call eval."""
    for command in ("diff", "show", "verify"):
        main([command, "x*y", *([] if command == "diff" else ["--args", "1.0", "2.0"])])


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text[:30]))
def test_hostile_text_never_runs(
    text: str, run: Any, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def executed(*_: object, **__: object) -> None:
        raise AssertionError("text was executed")

    monkeypatch.chdir(tmp_path)
    commands = [
        ("diff", text), ("show", text, "--args", "1.0"), ("verify", text, "--args", "1.0"),
        ("show", f"{model}:energy", "--args", text, "2.0"), ("diff", "x", "--at", f"x={text}"),
    ]  # fmt: skip
    for command in commands:
        if any("\x00" in part for part in command):
            command = tuple(part.replace("\x00", "\\0") for part in command)
        with monkeypatch.context() as patched:
            for name in ("eval", "breakpoint"):
                patched.setattr(builtins, name, executed)
            patched.setattr(os, "system", executed)
            try:
                status, _, err = run(*command)
            except SystemExit as stop:  # what looks like an option
                status, err = stop.code, "usage"
        harmless = (text == "-" * 5000 + "x" and status == 0) or (text, command[0]) == ("x", "diff")
        assert status == 2 or harmless, command
        assert err
    assert not (tmp_path / "hacked").exists()


# ---------------------------------------------------------------- show


def test_show(run: Any, model: str) -> None:
    status, out, _ = run("show", f"{model}:energy", "--args", "rand(5)", "2.0")
    assert status == 0
    assert out.split("\n\n") == [
        "out = k*Sum(sin(x[i])**2, (i, 0, n - 1))\nout = k sin(x)^T sin(x)",
        "d out/d x[i] = k*sin(2*x[i])\nd out/d x    = k*sin(2 x)",
        "d out/d k = Sum(sin(x[i])**2, (i, 0, n - 1))\nd out/d k = sin(x)^T sin(x)\n",
    ]
    _, out, _ = run(
        "show", f"{model}:loss", "--args", "ones(3)", "ones(4, 3)", "--wrt", "w", "--order", "2"
    )
    assert "d2 out/d w d w^T     = X^T diag(s*(1 - s)) X\n" in out
    assert "    where s = 1/(1 + exp(-X w))\n" in out


@pytest.mark.slow
def test_show_in_other_forms(run: Any, model: str) -> None:
    base = ("show", f"{model}:energy", "--args", "[1, 2.5]", "2.0")
    assert r"\frac{\partial \mathrm{out}}{\partial x}" in run(*base, "--latex")[1]
    assert "∂out/∂x" in run(*base, "--pretty")[1]
    assert "2. The chain rule" in run(*base, "--explain", "--wrt", "x")[1]
    assert "1. Traced" in run(*base, "--stages")[1]
    assert "def value_and_gradient(x, k):" in run(*base, "--program")[1]
    assert "int energy_value_and_grad(" in run(*base, "--c")[1]
    assert run("show", "x*sin(x)", "--args", "1.0")[1].endswith("d out/d x = x*cos(x) + sin(x)\n")


def test_show_says_what_is_wrong(
    run: Any, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.py").write_text("1/0\n")
    for name in ("ends", "stops"):
        (tmp_path / f"{name}.py").write_text("import sys\nsys.exit(5)\n")
    monkeypatch.syspath_prepend(tmp_path)
    wrong = {
        (f"{model}:energie", "1.0"): "has no function 'energie'; it has energy, loss",
        (f"{model}:number", "1.0"): "has no function 'number'",
        ("nothing.py:f", "1.0"): "there is no file nothing.py",
        ("model.py", "1.0"): "which function of model.py? Write model.py:function",
        ("no.such.module:f", "1.0"): "the module no.such.module cannot be imported",
        ("a b:f", "1.0"): "neither a file (model.py) nor a module",
        (f"{model}:a b", "1.0"): "no name of a function: write file.py:function",
        (f"{tmp_path}/bad.py:f", "1.0"): "cannot be imported: ZeroDivisionError",
        (f"{tmp_path}/ends.py:f", "1.0"): "ends.py cannot be imported: SystemExit: 5",
        ("stops:f", "1.0"): "the module stops cannot be imported: SystemExit: 5",
        (f"{model}:broken", "1.0"): "raised KeyError: 'no such parameter' [model.py:13]\n",
        (f"{model}:energy", "1.0"): "energy(x, k) cannot be called with 1 arguments",
        ("x.real", "1.0"): "attributes are refused",
        ("x*y", "1.0"): "cannot be called with 1 arguments",
        (f"{model}:energy", "ones"): "only numbers, lists and array shapes",
        (f"{model}:energy", "cat(3)"): "unknown array 'cat': zeros, ones, eye",
    }
    for (target, argument), message in wrong.items():
        status, out, err = run("show", target, "--args", argument)
        assert (status, out) == (2, "")
        assert message in err
    assert "--wrt z: the arguments are x, k" in run(
        "show", f"{model}:energy", "--args", "ones(2)", "1.0", "--wrt", "z"
    )[2]  # fmt: skip
    assert "no real argument" in run("show", f"{model}:loop", "--args", "2", "--c")[2]


# ---------------------------------------------------------------- verify


def test_verify(run: Any, model: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    base = ("verify", f"{model}:energy", "--args", "rand(5)", "2.0")
    status, out, err = run(*base, "--json", str(path))
    assert (status, err) == (0, "")
    assert "max ulp" in out
    assert json.loads(path.read_text())
    status, out, err = run(*base, "--limit", "0")
    assert (status, out) == (1, "")
    assert "0 ulp are allowed" in err
    assert run("verify", "x*sin(x)", "--args", "1.5")[0] == 0
    assert run("verify", f"{model}:energy", "--args", "1.0")[0] == 2


# ---------------------------------------------------------------- the whole


def test_help_of_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    commands = next(iter(parser()._subparsers._group_actions)).choices  # type: ignore[union-attr]
    assert {"diff", "show", "verify"} <= set(commands)
    for arguments in ([], *([name] for name in commands)):
        with pytest.raises(SystemExit) as stop:
            main([*arguments, "--help"])
        assert stop.value.code == 0
        out = capsys.readouterr().out
        assert "examples:" in out
        assert f"symgrad {' '.join(arguments)}" in out
    with pytest.raises(SystemExit) as stop:
        main(["nothing"])
    assert stop.value.code == 2


def test_colours_on_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    pytest.importorskip("rich")
    assert "\x1b[" not in run("diff", "x**2")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for arguments in (
        ("diff", "x**2"), ("diff", "x**2", "--c"), ("diff", "x**2", "--program"),
        ("show", f"{model}:energy", "--args", "ones(2)", "1.0"),
        ("verify", "x**2", "--args", "1.5"), ("verify", "x**2", "--domain", "1:2"),
    ):  # fmt: skip
        status, out, _ = run(*arguments)
        assert status == 0
        assert "\x1b[" in out


def test_a_certificate_is_a_table_on_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    _, out, _ = run("verify", "exp(x) - 1 - x + y", "--domain", "x=0.001:0.1", "y=0:1")
    assert "──" in out
    assert re.search(r"\x1b\[36md/d y *\x1b\[0m", out)
    assert re.search(r"\x1b\[32m *0.00\x1b\[0m", out)  # d/d y is exactly 1
    assert re.search(r"\x1b\[33m *[\d.e+]+\x1b\[0m", out)  # the value cancels: conditioning
    assert "\x1b[2mcost: \x1b[0m" in out


def test_a_narrow_terminal_cuts_no_numbers(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run("verify", "x*sin(x)", "--domain", "-3:3")
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    table = plain[: plain.index("loses digits")]
    assert "…" not in table
    for word in ("max ulp", "condition", "sampling", "worst at", "d/d x", "x = -3"):
        assert word in table
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_a_terminal_too_narrow_for_the_table_cuts_nothing(
    run: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    _, wide, _ = run("verify", "x*sin(x)", "--domain", "-3:3")
    monkeypatch.setenv("COLUMNS", str(columns))
    status, out, _ = run("verify", "x*sin(x)", "--domain", "-3:3")
    assert status == 0
    wide, narrow = (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in (wide, out))
    numbers = re.findall(r"-?\d[\d.e+-]*", wide)
    assert sorted(re.findall(r"-?\d[\d.e+-]*", narrow)) == sorted(numbers)
    assert "…" not in narrow


def test_the_command_alone_prints_its_help(run: Any) -> None:
    status, out, _ = run()
    assert status == 0
    assert out.startswith("usage: symgrad")
    assert "diff" in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("dif", "did you mean 'diff'?"),
        ("verifyx", "did you mean 'verify'?"),
        ("x**2", "build, cache, diff"),
    ],
)
def test_an_unknown_command_names_the_nearest(
    capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([given, "x**2"])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_without_rich_the_text_is_plain(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert run("diff", "x**2") == (0, "f(x) = x**2\n\nd f/d x = 2*x\n", "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("head") is None, reason="needs head")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("text", ["x", "*".join(f"(x + {k})" for k in range(99))])
def test_a_full_disk_is_said(text: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "symgrad", "diff", text, "--program"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert "the result cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_no_error() -> None:
    code = f"{sys.executable} -m symgrad show 'x*sin(x)' --args 1.0 --stages | head -1"
    done = subprocess.run(code, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.slow
def test_the_package_runs_as_the_script() -> None:
    command = [sys.executable, "-m", "symgrad", "diff"]
    done = subprocess.run([*command, "x**2"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("d f/d x = 2*x\n")
    mistaken = subprocess.run([*command, "2*x^3"], capture_output=True, text=True, check=False)
    assert mistaken.returncode == 2
    assert mistaken.stderr.startswith("symgrad: ")


# ---------------------------------------------------------------- certificates


def test_a_certificate_is_written_and_checked_again(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "certificate.json"
    text = ["verify", "x*sin(x)", "--domain", "-3:3", "--points", "2", "--seed", "1"]
    assert main([*text, "--json", str(file)]) == 0
    first = capsys.readouterr().out
    assert "x in [-3, 3]" in first
    assert json.loads(file.read_text())["seed"] == 1
    assert main(["verify", "--recheck", str(file)]) == 0
    again = capsys.readouterr().out
    assert again.splitlines()[0] == first.splitlines()[0]
    spoiled = json.loads(file.read_text())
    other = {**spoiled, "seed": "x"}
    spoiled["rows"][1]["worst"]["exact"] = "0.25"
    file.write_text(json.dumps(spoiled))
    assert main(["verify", "--recheck", str(file)]) == 1
    file.write_text(json.dumps(other))
    assert main(["verify", "--recheck", str(file)]) == 2
    assert "no symgrad certificate: seed is 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (["x=1"], "write NAME=LOW:HIGH"),
        (["x=__import__('os'):2"], "write NAME=LOW:HIGH"),
        (["0:1", "x=0:1"], "is for all arguments"),
        (["x=0:1"], "needs a value or an interval for y"),
        (["x=2:1", "y=0:1"], "finite low <= high"),
        (["x=0:1", "x=1:2", "y=0:1"], "x=1:2: a second interval for the same argument"),
        (["x=0:1", "z=0:1"], "needs a value or an interval for y, which z is not"),
        (["0:1", "--points", "-3"], "cannot look at points=-3 random points"),
    ],
)
def test_mistakes_in_a_domain(domain: list[str], message: str, capsys: Any) -> None:
    assert main(["verify", "x*y", "--domain", *domain]) == 2
    assert message in capsys.readouterr().err


def test_verify_needs_something(capsys: Any) -> None:
    assert main(["verify"]) == 2
    assert "what is to be verified" in capsys.readouterr().err
    assert main(["verify", "--recheck", "nowhere.json"]) == 2
    assert "no file nowhere.json" in capsys.readouterr().err


# ---------------------------------------------------------------- first tries


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["diff", "model.py:energy"], "write `symgrad show model.py:energy`"),
        (["diff", "x +"], "a name or a number is missing here\n    x +\n       ^"),
        (["diff", "x***2"], "a name or a number is missing here\n    x***2\n       ^"),
        (["diff", "x*y", "--wrt", "z"], "the formula has no such name; it has x, y"),
        (["verify", "x*y"], "with --domain x=0.5:2 y=0.5:2, or at a point, with --args 1.5 1.5"),
    ],
)
def test_mistakes_of_a_first_try(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    assert said in capsys.readouterr().err


def test_show_needs_no_numbers_for_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "x*sin(y)"]) == 0
    assert "d out/d y = x*cos(y)" in capsys.readouterr().out


def test_mistakes_are_red_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["diff", "x***2"]) == 2
    said = capsys.readouterr().err
    assert "\x1b[31msymgrad: not a formula" in said
    assert "\x1b[1;31m       ^\x1b[0m" in said
    assert "    x***2" in said


@pytest.mark.parametrize(
    ("formula", "point", "numbers"),
    [("1/x", "x=0", ["inf", "-inf"]), ("sqrt(x)", "x=0", ["0", "inf"]),
     ("exp(x)", "x=1000", ["inf", "inf"]), ("log(x)", "x=-1", ["nan", "-1"])],
)  # fmt: skip
def test_numbers_that_are_none(formula: str, point: str, numbers: list[str], run: Any) -> None:
    status, out, err = run("diff", formula, "--at", point)
    assert (status, err) == (0, "")
    assert [line.split(" = ")[1] for line in out.splitlines()[-2:]] == numbers


def test_pictures_have_a_picture_of_the_function(run: Any) -> None:
    assert run("diff", "x/y", "--pretty")[1].splitlines()[:3] == [
        "          x", "f(x, y) = ─", "          y",
    ]  # fmt: skip


def test_whole_numbers_are_said_to_be_no_variables(run: Any, model: str) -> None:
    status, out, _ = run("show", f"{model}:loop", "--args", "3")
    assert status == 0
    assert "(there is no real argument to differentiate by: write 2.0, not 2)" in out
    for form in ("--explain", "--program", "--c"):
        status, _, err = run("show", f"{model}:loop", "--args", "3", form)
        assert (status, "write 2.0, not 2" in err) == (2, True)


def test_modules_of_the_current_folder_are_found(
    run: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(model)
    path.rename(path.with_name("model_of_this_test.py"))
    monkeypatch.chdir(path.parent)
    status, out, _ = run("show", "model_of_this_test:energy", "--args", "ones(2)", "1.0")
    assert (status, out[:3]) == (0, "out")
    assert str(path.parent) not in sys.path


def test_second_derivatives_have_the_mixed_ones(run: Any) -> None:
    status, out, _ = run("show", "x**2*y", "--order", "2")
    assert status == 0
    assert out.splitlines()[2:] == [
        "d2 out/d x^2   = 2*y", "d2 out/d x d y = 2*x", "d2 out/d y^2   = 0",
    ]  # fmt: skip


def test_the_branch_taken_is_said(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "branch.py"
    path.write_text("def f(x):\n    return x**2 if x > 0 else -x\n")
    for form in ([], ["--pretty"], ["--explain"]):
        out = run("show", f"{path}:f", "--args", "1.0", *form)[1]
        assert out.count("(for x > 0, as in this call)") == (1 if form == ["--explain"] else 2)


def test_derivations_are_coloured(run: Any, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    pytest.importorskip("rich")
    arguments = ("show", f"{model}:energy", "--args", "ones(2)", "1.0", "--explain")
    plain = run(*arguments)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    out = run(*arguments)[1]
    assert "\x1b[1m1. The function, step by step\x1b[0m" in out
    assert "\x1b[36md out/d k\x1b[0m" in out
    assert re.search(r"\x1b\[2m +model.py:\d+\x1b\[0m", out)
    assert re.sub(r"\x1b\[[0-9;]*m", "", out) == plain


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit is another")
def test_memory_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, patience: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for limit, seconds in (("SECONDS", 2.0), ("NAMED", 3.2), ("WRITTEN", 4.0)):
        patience(**{limit: seconds})
    before = resource.getrlimit(resource.RLIMIT_AS)
    nines = "9" * 17
    power = f"where(digamma(x**z) < (pi - pi)*(1/3 + z), 2**60, ({nines} + z)**({nines} + {nines}))"
    assert main(["diff", power]) == 0
    assert "d f/d z = Piecewise((0, polygamma(0, x**z) < 0)" in capsys.readouterr().out
    monkeypatch.setattr("symgrad.cli.diff.derivative_of", lambda *_: bytearray(1 << 30))
    assert main(["diff", "x*y", "--memory", "0.5"]) == 2
    assert "in 1 GB of memory" in capsys.readouterr().err
    assert main(["diff", "x*y", "--memory", "0.5", "--at", "x=1", "y=2"]) == 2
    assert main(["diff", "x", "--memory", "0"]) == 2
    assert "above 0" in capsys.readouterr().err
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.slow
def test_a_formula_of_many_names_ends_in_time(
    patience: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    patience(WRITTEN=1.0)
    begin = time.process_time()
    assert main(["diff", f"({'+'.join(f'a{k}' for k in range(300))})**2"]) == 2
    assert time.process_time() - begin < 5
    assert "has not written the formula in 1 seconds" in capsys.readouterr().err


def test_streams_that_are_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        assert main(["diff", "x*y"]) == 2
    assert "standard output is closed" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", None)
        assert main(["diff", "x^y"]) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_mistakes_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert main(["diff", "x^y"]) == 2
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()


def test_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert main(["show", "no_such_module:f"]) == 2
    assert "No module named 'no_such_module'" in capsys.readouterr().err


# ---------------------------------------------------------------- bisect


@pytest.mark.slow
def test_bisect_finds_the_pass_at_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Here it is a loop over a short axis, which is to stay one."""
    script = tmp_path / "wrong.py"
    script.write_text(
        "import io, sys, numpy as np, symgrad as sg\n"
        "page = io.StringIO()\n"
        "f = sg.compile(lambda x: np.sum(x**2, axis=1), dynamic=False)\n"
        "sg.show(f, np.ones((9, 3)), file=page)\n"
        "sys.exit('Unrolled' in page.getvalue())\n"
    )
    assert main(["bisect", str(script)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the script passes without `unroll`: short axes of fixed length")
    assert out.count("\n") == 1


SUSPECTS = "import os, sys; off = os.environ['SYMGRAD_WITHOUT'].split(',');"


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        ("sys.exit(0)", 1, "the script passes; it is to exit"),
        ("sys.exit(3)", 1, "none of them is at fault"),
        ("sys.exit(not {'cut', 'fuse'} <= set(off))", 0, "only without all of `cut`, `fuse`"),
        ("sys.exit(not {'cut', 'fuse'} & set(off))", 0, "without `fuse`: elementwise steps"),
    ],
)
def test_bisect_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, status: int, says: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SUSPECTS + code)
    assert main(["bisect", str(script)]) == status
    assert says in capsys.readouterr().out


def test_bisect_needs_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect"]) == 2
    assert "which script is to be run" in capsys.readouterr().err
