"""Every public function with values of the wrong kind, one parameter at a time.

Each case is a valid call in which one value is replaced by one that nobody should pass there: a
word for a number, an array for a flag, a list that contains itself. The call returns, or it
raises an error of symgrad's, which says what was wrong. Raw errors from inside, endless loops and
crashes are faults. Errors of the functions that a call is given are theirs.
"""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import fractions
import functools
import io
import itertools
import math
import os
import re
import signal
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy as sp

import symgrad as sg

#: Seconds after which a call counts as endless.
SECONDS = 5


def square(x: Any) -> Any:
    return x * x


def total(x: Any) -> Any:
    return (x * x).sum()


def with_extra(x: Any) -> Any:
    return x * x, x


def step(carry: Any, x: Any) -> Any:
    return carry + x, carry


def more(i: Any, value: Any) -> Any:
    return value + i


def small(value: Any) -> Any:
    return value < 3.0


def larger(value: Any) -> Any:
    return value + 1.0


def unknown(x: Any, a: Any) -> Any:
    return x * x - a


def solve(a: Any) -> Any:
    return a**0.5


def inequality(x: Any) -> Any:
    return x[:1] ** 2


def forward(x: Any) -> Any:
    return x * x, x


def back(x: Any, cotangent: Any) -> Any:
    return (2 * x * cotangent,)


def along(primals: Any, tangents: Any) -> Any:
    return primals[0] ** 2, 2 * primals[0] * tangents[0]


def minus(x: Any) -> Any:
    return -x


class Fraction(fractions.Fraction):
    """A number of a user's own class."""


def _itself() -> Any:
    inner: list[Any] = [1.0]
    inner.append(inner)
    return inner


def _keyed() -> Any:
    inner: dict[Any, Any] = {"w": 1.0}
    inner["again"] = inner
    return inner


def _deep() -> Any:
    value: Any = 1.0
    for _ in range(600):
        value = (value,)
    return value


def _squares() -> Iterator[int]:
    return (k * k for k in range(3))


#: The odd values, made for each call.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "2**70": lambda: 2**70,
    "-1": lambda: -1,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "0": lambda: 0,
    "''": lambda: "",
    "'word'": lambda: "word",
    "'x\\0'": lambda: "x\0",
    "b'x'": lambda: b"x",
    "object()": object,
    "type": lambda: type,
    "a class": lambda: Fraction,
    "lambda: 1.0": lambda: lambda: 1.0,
    "a generator": _squares,
    "an array of objects": lambda: np.array([None, "a"], dtype=object),
    "an array of strings": lambda: np.array(["a", "b"]),
    "an empty array": lambda: np.zeros(0),
    "an array of no axes": lambda: np.array(2.0),
    "an array of booleans": lambda: np.array([True, False]),
    "an array of integers": lambda: np.arange(6).reshape(2, 3),
    "a masked array": lambda: np.ma.array([1.0, 2.0], mask=[True, False]),
    "a structured array": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "a read-only memoryview": lambda: memoryview(b"xyz"),
    "a writable memoryview": lambda: memoryview(bytearray(8)),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "a class of fractions": lambda: Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("0.5"),
    "complex": lambda: 1 + 2j,
    "a list in itself": _itself,
    "a dict in itself": _keyed,
    "600 tuples": _deep,
    "a set": lambda: {1, 2},
    "a dict of numbers": lambda: {1: 2.0, (3,): 4.0},
    "()": tuple,
    "[[]]": lambda: [[]],
    "a ragged list": lambda: [[1.0], [2.0, 3.0]],
    "a module": lambda: math,
    "a compiled function": lambda: sg.grad(square),
    "a program": lambda: sg.compile(square).program(1.5),
    "a kernel": lambda: kernel(),
    "a tensor": lambda: sg.tensor(2.0, requires_grad=True),
    "a SymPy symbol": lambda: sp.Symbol("x"),
    "a SymPy matrix": lambda: sp.Matrix([[1, sp.Symbol("x")]]),
    "a DataFrame": lambda: pd.DataFrame({"a": [1.0], "b": ["z"]}),
    "a Series": lambda: pd.Series([1.0, 2.0]),
    "a date": lambda: dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "slice": lambda: slice(None),
    "Ellipsis": lambda: ...,
}


@functools.cache
def kernel() -> Any:
    """Return a kernel, compiled once for all cases."""
    return sg.compile(square).kernel(1.5)


#: Valid values by the names in the calls. A name ends at its first underscore and digit.
GIVEN: dict[str, Callable[[], Any]] = {
    "f": lambda: square,
    "total": lambda: total,
    "x": lambda: 1.5,
    "xs": lambda: np.array([1.0, 2.0]),
    "argnums": lambda: 0,
    "argnames": lambda: "x",
    "flag": lambda: False,
    "none": lambda: None,
    "backend": lambda: "numpy",
    "pair": lambda: (1.5,),
    "series": lambda: ((1.0, 0.0),),
    "mode": lambda: "auto",
    "format": lambda: "csr",
    "axes": lambda: 0,
    "step": lambda: step,
    "body": lambda: more,
    "test": lambda: small,
    "grow": lambda: larger,
    "minus": lambda: minus,
    "branches": lambda: [square, minus],
    "count": lambda: 2,
    "order": lambda: 1,
    "wrt": lambda: 0,
    "name": lambda: "square",
    "path": lambda: "here.svg",
    "page": lambda: "here.html",
    "object": lambda: "here.o",
    "numbers": lambda: (),
    "forward": lambda: forward,
    "back": lambda: back,
    "along": lambda: along,
    "Word": lambda: next(WORDS),
    "domain": lambda: (sp.Reals,),
    "around": lambda: (0.5, 1.5),
    "samples": lambda: (0.5, 1.5),
    "text": lambda: "x**2 + a",
    "symbols": lambda: ["x", "a"],
    "expression": lambda: sp.Symbol("x") ** 2,
    "unknown": lambda: unknown,
    "solve": lambda: solve,
    "signature": lambda: "()->()",
    "types": lambda: ["d->d"],
    "inequality": lambda: inequality,
    "limits": lambda: (-1.0, 1.0),
    "limit": lambda: 30,
    "digits": lambda: 20,
    "few": lambda: 2,
    "label": lambda: "x =",
    "tensor": lambda: sg.tensor(2.0, requires_grad=True),
    "result": lambda: sg.tensor(2.0, requires_grad=True) * 2.0,
    "dtype": lambda: float,
    "bytes": lambda: 1 << 20,
    "memory": lambda: "1 MB",
    "program": lambda: sg.compile(square).program(1.5),
    "json": lambda: (
        sg.compile(square).program(1.5).to_json() if hasattr(sg.Program, "to_json") else "{}"
    ),
    "saved": lambda: _saved(),
    "certificate": lambda: _certified(),
}

#: Names of ops, none twice.
WORDS = (f"Square{k}" for k in itertools.count())


def _saved() -> str:
    sg.compile(square).program(1.5).save("saved.json")
    return "saved.json"


def _certified() -> str:
    if not Path("certificate.json").exists():
        sg.verify(square, domain=(0.5, 1.5), points=2).save("certificate.json")
    return "certificate.json"


#: One call of every public function and method; each name in it is a value, replaced in turn.
CALLS = (
    "sg.grad(f, argnums, flag, flag2, argnames=none)(x)",
    "sg.grad(f, argnames=argnames)(x)",
    "sg.value_and_grad(f, argnums, flag, flag2, argnames=none)(x)",
    "sg.value_and_grad(f, argnames=argnames)(x=x)",
    "sg.jacobian(f, argnums, mode, flag, flag2, argnames=none, format=format)(xs)",
    "sg.jacobian(f, sparse=True, format=format)(xs)",
    "sg.hessian(total, argnums, flag, flag2, argnames=none, format=format, triangle=none2)(xs)",
    "sg.vmap(f, axes, axes2)(xs)",
    "sg.vmap(f, (axes,))(xs)",
    "sg.compile(f, backend=backend, parallel=none, dynamic=flag, cache=flag2)(x)",
    "sg.compile(f, control_flow=flag3, rounding=none2)(x)",
    "sg.compile(f)(x, out=none)",
    "sg.compile(f)([x])",
    "sg.compile(f).program(x)",
    "sg.compile(f).export(object, x, target=none, name=name)",
    "sg.compile(f).cfunc(x, signature=none)",
    "sg.compile(f).kernel(x)",
    "sg.compile(f).kernel_into(x)",
    "sg.compile(total).kernel_into(xs)",
    "sg.Function(f, f2, none)",
    "sg.hvp(f, pair, pair2)",
    "sg.hvp(f, (x,), (x2,))",
    "sg.jvp(f, pair, pair2)",
    "sg.jvp(f, (x,), (x2,))",
    "sg.vjp(f, x)[1](x2)",
    "sg.jet(f, pair, series)",
    "sg.jet(f, (x,), ((x2, x3),))",
    "sg.scan(step, x, xs, none, flag, memory=memory)",
    "sg.scan(step, x, None, count)",
    "sg.grad(lambda z: sg.scan(step, z, xs, none, flag, memory=memory)[0])(1.5)",
    "sg.grad(lambda z: sg.scan(lambda c, _: (c * z, None), z, length=count)[0])(1.5)",
    "sg.fori_loop(axes, count, body, x, memory=memory)",
    "sg.grad(lambda z: sg.fori_loop(axes, count, body, z, memory=memory))(1.5)",
    "sg.while_loop(test, grow, x, memory=memory)",
    "sg.grad(lambda z: sg.while_loop(test, grow, z, memory=memory))(1.5)",
    "sg.cond(flag, f, minus, x)",
    "sg.grad(lambda z: sg.cond(z > x, f, minus, z))(1.5)",
    "sg.switch(axes, branches, x)",
    "sg.switch(axes, [f, minus], x)",
    "sg.grad(lambda z: sg.switch(axes, branches, z))(1.5)",
    "sg.grad(lambda z: sg.switch(np.int64(z > x), branches, z))(1.5)",
    "sg.checkpoint(f)(x)",
    "sg.grad(sg.checkpoint(f))(x)",
    "sg.custom_vjp(f, numbers)",
    "vjp(f, forward, back)(x)",
    "sg.grad(vjp(f, forward, back))(x)",
    "sg.custom_jvp(f, numbers)",
    "jvp(f, along)(x)",
    "sg.grad(jvp(f, along))(x)",
    "jvps(f, grow)(x)",
    "sg.grad(jvps(f, grow))(x)",
    "sg.stop_gradient(x)",
    "sg.pure_callback(f, x, x2)",
    "sg.grad(lambda z: sg.pure_callback(f, x, x2) * z)(1.5)",
    "sg.debug_print(x, label)",
    "sg.grad(lambda z: sg.debug_print(z, label))(1.5)",
    "sg.define(Word, f, partials=none, domain=domain, samples=samples)",
    "sg.define(Word, f, partials=minus)(x)",
    "sg.define(Word, f, samples=(x, x2))",
    "sg.derivative(f, x, wrt=wrt, order=order)",
    "sg.formula(f, x, wrt=wrt, order=order)",
    "sg.formula(expression)",
    "sg.latex(f, x, wrt=wrt, order=order)",
    "sg.latex(expression)",
    "sg.symbolic(f, x)",
    "sg.explain(f, x, wrt=wrt)",
    "sg.show(f, x, file=none)",
    "sg.from_sympy(expression, symbols)(x, x2)",
    "sg.from_sympy([expression, expression2], (symbols, symbols2))",
    "sg.lambdify(symbols, expression)(x)",
    "sg.lambdify((symbols, symbols2), [expression], cse=none)",
    "sg.parse(text, symbols=symbols)",
    "sg.parse('x + a', symbols=(argnames, argnames2))",
    "sg.gufunc(f, signature, types=types, parallel=none)",
    "sg.gufunc(f)(0.5)",
    "sg.implicit_root(unknown, solve)(x)",
    "sg.grad(sg.implicit_root(unknown, solve))(x)",
    "sg.implicit_minimum(unknown, solve)(x)",
    "sg.nlp(total, inequality, xs, bounds=none, limits=limits, args=numbers)",
    "sg.nlp(total, x0=xs, bounds=(x, x2)).gradient(xs2)",
    "sg.nlp(total, inequality, xs, limits=(x, x2)).hessian(xs2, xs3, x3)",
    "sg.nlp(total, x0=xs).solve(xs2, solver=none, start=none2, callback=none3, options=none4)",
    "sg.NLP(total, none, xs, none2, none3, numbers)",
    "sg.verify(f, x, wrt=none, digits=digits, samples=few, limit=limit)",
    "sg.verify(f, x, domain=none2, points=few2, seed=axes)",
    "sg.verify(f, x, domain=around, points=few)",
    "sg.verify(f, x, domain={'x': (x2, x3)}, points=few)",
    "sg.report(f, x, path=page, domain=none, points=few, limit=limit)",
    "sg.recheck(certificate, none)",
    "sg.export_c(f, x, name=name, path=none)",
    "sg.export_c(f, x, path=path)",
    "sg.draw(f, x, file=none, gradient=none2, limit=limit)",
    "sg.draw(result, file=path, gradient=x)",
    "sg.draw(program)",
    "sg.paths(result, tensor, index=numbers, limit=limit)",
    "sg.paths(program, name)",
    "sg.backward_order(result)",
    "sg.tensor(x, dtype, flag, name=name)",
    "sg.tensor(xs, name=name)",
    "sg.Tensor(x, flag, name)",
    "(tensor * 2.0).backward(none, flag, flag2)",
    "tensor.register_hook(f)",
    "result.as_function(x=tensor)",
    "result.program(x=tensor)",
    "sg.adapt(f)(x)",
    "with_backend(backend)",
    "sg.set_num_threads(count)",
    "sg.set_kept_memory(bytes)",
    "sg.load(saved)",
    "sg.Program.from_json(json)",
    "program.run(x)",
    "program.save(path)",
    "program.source(name)",
    "sg.draw(program, x, file=none, limit=limit)",
    "sg.to_torch(f)",
    "sg.to_jax(f)",
    "sg.to_pytensor(f)",
)


def with_backend(name: Any) -> None:
    with sg.backend(name):
        pass


def vjp(f: Any, fwd: Any, bwd: Any) -> Any:
    made = sg.custom_vjp(f)
    made.defvjp(fwd, bwd)
    return made


def jvp(f: Any, rule: Any) -> Any:
    made = sg.custom_jvp(f)
    made.defjvp(rule)
    return made


def jvps(f: Any, *rules: Any) -> Any:
    made = sg.custom_jvp(f)
    made.defjvps(*rules)
    return made


HELPERS = {"sg": sg, "np": np, "vjp": vjp, "jvp": jvp, "jvps": jvps, "with_backend": with_backend}


def names_of(call: str) -> list[str]:
    """Return the values in a call, in order, each once."""
    tree = ast.parse(call, mode="eval")
    inner = {a.arg for x in ast.walk(tree) if isinstance(x, ast.Lambda) for a in x.args.args}
    found = [x.id for x in ast.walk(tree) if isinstance(x, ast.Name)]
    return [n for n in dict.fromkeys(found) if n not in inner and n not in HELPERS]


def varied(call: str) -> list[str]:
    """Return the values in a call that are replaced: all but an object whose method it calls."""
    return [n for n in names_of(call) if not re.search(rf"(?<!\w){n}(\.| \*)", call)]


CASES = [(c, n, v) for c in CALLS for n in varied(c) for v in VALUES]
#: Cases that are neighbours are of different calls.
ORDER = np.random.default_rng(46).permutation(len(CASES))


class Endless(BaseException):
    """A call that takes too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise :class:`Endless` in a block that takes too long."""

    def stop(number: int, frame: types.FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


#: The folder of the package, and the functions here that call it.
PACKAGE = str(Path(sg.__file__).parent)
OWN = ("outcome", "with_backend", "vjp", "jvp", "jvps")

#: Texts of Python's own errors of calls with too many or too few arguments.
CALLED = re.compile(
    r"takes .*argument|missing .*argument|unexpected keyword|multiple values|"
    r"too many arguments|not enough arguments|type.__new__|cannot unpack|Rational"
)


def is_theirs(error: BaseException) -> bool:
    """Tell whether an error comes of a function that a call was given, or of Python's own call.

    A function of the call is among the last frames, with no frame of symgrad's behind it; so are
    classes that are called as functions, and files that are not there.
    """
    if isinstance(error, TypeError) and CALLED.search(str(error)):
        return True
    if isinstance(error, OSError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    ours = [k for k, x in enumerate(frames) if x.filename.startswith(PACKAGE)]
    theirs = [k for k, x in enumerate(frames) if x.filename[0] == "<"
              or (x.filename in (__file__, fractions.__file__) and x.name not in OWN)]  # fmt: skip
    return not ours or max(theirs, default=0) > ours[-1]


def outcome(call: str, name: str, value: str) -> str:
    """Return "result", "refused" or "theirs"; raise what is none of these."""
    given = {n: GIVEN[n.rstrip("0123456789")]() for n in names_of(call)}
    given[name] = VALUES[value]()
    try:
        with limited(SECONDS), redirect_stdout(io.StringIO()), sg.backend("numpy"):
            eval(call, {**HELPERS, **given})
    except sg.errors.SymgradError as error:
        if not str(error):
            raise AssertionError(f"{call} with {name}={value}: an error without a text") from error
        return "refused"
    except Endless:
        if name in ("test", "grow", "count"):  # which say how long a loop is
            return "theirs"
        raise AssertionError(f"{call} with {name}={value} takes more than {SECONDS} s") from None
    except Exception as error:
        if is_theirs(error):
            return "theirs"
        error.add_note(f"in {call} with {name}={value}")
        raise
    return "result"


@pytest.fixture
def untouched(tmp_path: Path) -> Iterator[None]:
    """Run in an empty folder, and put back what the calls set."""
    here, kept, threads = Path.cwd(), sg.get_kept_memory(), sg.get_num_threads()
    os.chdir(tmp_path)
    kernel()  # not within the limited time of a case
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(here)
        sg.set_kept_memory(kept)
        sg.set_num_threads(threads)


@pytest.mark.attack(quick=400, whole=18870, judge="symgrad's own errors, or a result")
@pytest.mark.usefixtures("untouched")
def test_contract(attack: Any) -> None:
    """Odd values in every parameter of every public function."""
    for case in attack:
        with case:
            case.tally(outcome(*CASES[ORDER[case.number % len(CASES)]]))


def test_every_public_name_is_called() -> None:
    """A new public name has a call here."""
    read = {m for c in CALLS for m in re.findall(r"sg\.(\w+)", c)} | {"backend"}
    modules = {n for n in sg.__all__ if isinstance(getattr(sg, n), types.ModuleType)}
    free = {"get_num_threads", "get_kept_memory", "no_grad"}  # which take nothing
    assert set(sg.__all__) - modules - free - {n for n in sg.__all__ if n[0] == "_"} == (
        read & set(sg.__all__)
    ) | ({"custom_vjp", "custom_jvp"} & set(sg.__all__))
