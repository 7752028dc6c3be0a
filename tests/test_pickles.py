"""Pickles: every function that symgrad makes goes to other processes, as functions do."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import pickletools
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from tests.shared import STRICT

X = np.array([0.1, 0.2, 0.3])

#: A user's module: functions and what is made of them, and how each is called.
MODULE = """
import numpy as np, sympy as sp, symgrad as sg
import symgrad.scipy.stats as stats

k = 2.0

def f(x): return np.sum(np.sin(k * x) ** 2)
def v(x): return k * np.sin(x) * x[::-1]
def rows(X): return np.stack([X, 2.0 * X])
def residual(y, a): return y**3 - a
def solve(a): return sg.fori_loop(0, 40, lambda i, y: y - (y**3 - a) / (3 * y**2), 1.0)

@sg.grad
def slope(x): return np.sum(k * x**3)

@sg.vmap
@sg.grad
def each(x): return k * x**3

@sg.compile
def power(x, n=3): return 1.0 if n == 0 else x * power(x, n - 1)

@sg.compile(control_flow=True)
def halved(x):
    while x > 1.0:
        x = x / k
    return x

@sg.custom_vjp
def by_rule(x): return np.sin(x)
by_rule.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (k * ct * np.cos(x),))

@sg.custom_jvp
def by_terms(x): return np.sin(x)
by_terms.defjvps(lambda t, y, x: k * t * np.cos(x))

@sg.checkpoint
def kept(x): return k * np.sin(x)

@sg.adapt
def filled(x):
    y = np.zeros(3)
    y[:] = k * x
    return y

def sums(x): return np.sum(by_rule(x) + by_terms(x) + kept(x) + filled(x))

class Model:
    rate = 3.0
    @sg.value_and_grad
    def static(x): return np.sum(x**2)
    def loss(self, x): return self.rate * np.sum(x**2)

a, b = sp.symbols("a b", real=True)
formula = sg.from_sympy(sp.exp(-a * b), [a, b])
x = np.array([0.1, 0.2, 0.3])

MADE = {
    "compile": (lambda: sg.compile(f), lambda g: g(x)),
    "value_and_grad": (lambda: sg.value_and_grad(f), lambda g: g(x)),
    "nested": (lambda: sg.jacobian(slope), lambda g: g(x)),
    "jacobian": (lambda: sg.jacobian(v), lambda g: g(x)),
    "sparse jacobian": (lambda: sg.jacobian(v, sparse=True), lambda g: g(x).toarray()),
    "sparse hessian": (lambda: sg.hessian(f, sparse=True, format="coo"), lambda g: g(x).toarray()),
    "batch of sparse": (lambda: sg.vmap(sg.jacobian(v, sparse=True)),
                        lambda g: g(rows(x))[1].toarray()),
    "vmap": (lambda: sg.vmap(sg.grad(f)), lambda g: g(rows(x))),
    "ufunc": (lambda: sg.grad(np.sin), lambda g: g(0.5)),
    "method": (lambda: sg.grad(Model().loss), lambda g: g(x)),
    "decorated": (lambda: slope, lambda g: g(x)),
    "decorated twice": (lambda: each, lambda g: g(x)),
    "recursive": (lambda: power, lambda g: g(0.5)),
    "control flow": (lambda: halved, lambda g: g(7.0)),
    "static": (lambda: Model.static, lambda g: g(x)),
    "pullback": (lambda: sg.vjp(v, x)[1], lambda g: g(x)),
    "custom_vjp": (lambda: sg.grad(sums), lambda g: g(x)),
    "rule": (lambda: by_rule, lambda g: sg.vmap(sg.grad(g))(x)),
    "terms": (lambda: by_terms, lambda g: sg.vmap(sg.grad(g))(x)),
    "checkpoint": (lambda: sg.checkpoint(v), lambda g: sg.jacobian(g)(x)),
    "adapt": (lambda: sg.grad(sg.adapt(f)), lambda g: g(x)),
    "implicit_root": (lambda: sg.implicit_root(residual, solve), lambda g: sg.grad(g)(8.0)),
    "formula": (lambda: sg.grad(formula), lambda g: g(0.5, 1.0)),
    "nlp": (lambda: sg.nlp(f, v, x, bounds=(-1.0, [0.5, np.inf, 1.0])),
            lambda g: (g.gradient(x), g.jacobian(x), g.hessian(x, x, 2.0), g.ub, g.cl)),
    "distribution": (lambda: stats.norm(1.0, 2.0), lambda g: g.pdf(x)),
    "multivariate": (lambda: stats.multivariate_normal, lambda g: g.logpdf(x[:2], np.zeros(2))),
    "kernel": (lambda: sg.grad(f).kernel(x), lambda g: g(x)),
    "program": (lambda: sg.grad(f).program(x), lambda g: g(x)),
}
"""

NAMES = [line.split('"')[1] for line in MODULE.splitlines() if line.startswith('    "')]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "travelling.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import travelling

    yield travelling
    del sys.modules["travelling"]


def python(code: str, folder: Path, **env: str) -> str:
    """Run code as a program of its own in ``folder``; return what it prints."""
    root = str(Path(sg.__file__).parent.parent)
    (folder / "program.py").write_text(textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, *STRICT, "program.py"], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder)]), **env},
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


DIGEST = """
import numpy as np
def digest(value):
    "Return a result to the last bit."
    if isinstance(value, (tuple, list)):
        return " ".join(map(digest, value))
    return np.asarray(value).tobytes().hex()
"""
scope: dict[str, Any] = {}
exec(DIGEST, scope)
digest = scope["digest"]


@pytest.mark.parametrize("name", NAMES)
def test_here(module: Any, name: str) -> None:
    make, call = module.MADE[name]
    made = make()
    want = digest(call(made))
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert digest(call(again)) == want
    if name in ("decorated", "decorated twice", "recursive", "static", "control flow", "terms"):
        assert pickle.loads(pickle.dumps(made)) is made  # by name, as functions are


#: A notebook: its cells have a source in its own process alone.
SEND = f"""{DIGEST}
import cloudpickle, linecache, pathlib
cell = {MODULE!r}
linecache.cache["<cell 1>"] = (1, None, cell.splitlines(True), "<cell 1>")
exec(compile(cell, "<cell 1>", "exec"))
pairs = [(make(), call) for make, call in MADE.values()]
for made, call in pairs:
    print(digest(call(made)))
pathlib.Path("functions.pickle").write_bytes(cloudpickle.dumps(pairs))
"""

LOAD = f"""{DIGEST}
import pathlib, pickle
for made, call in pickle.loads(pathlib.Path("functions.pickle").read_bytes()):
    print(digest(call(made)))
"""

LOAD_BY_NAME = f"""{DIGEST}
import pathlib, pickle, travelling
functions = pickle.loads(pathlib.Path("functions.pickle").read_bytes())
for made, (_, call) in zip(functions, travelling.MADE.values(), strict=True):
    print(digest(call(made)))
"""


@pytest.mark.slow
def test_functions_of_a_notebook_go_by_value_through_cloudpickle(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    sent, found = python(SEND, tmp_path).splitlines(), python(LOAD, tmp_path).splitlines()
    assert dict(zip(NAMES, found, strict=True)) == dict(zip(NAMES, sent, strict=True))


@pytest.mark.slow
def test_functions_of_a_module_go_by_name(module: Any, tmp_path: Path) -> None:
    pairs = [(make(), call) for make, call in module.MADE.values()]
    want = [digest(call(made)) for made, call in pairs]
    (tmp_path / "functions.pickle").write_bytes(pickle.dumps([made for made, _ in pairs]))
    assert python(LOAD_BY_NAME, tmp_path).splitlines() == want


def test_cloudpickle_sends_a_modules_functions_by_name(module: Any) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(module.slope)) is module.slope
    assert pickle.loads(cloudpickle.dumps(sg.grad(module.f))).__wrapped__ is module.f
    cloudpickle.register_pickle_by_value(module)
    try:
        again = pickle.loads(cloudpickle.dumps(module.slope))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert again is not module.slope
    np.testing.assert_array_equal(again(X), module.slope(X))


def test_a_lambda_needs_cloudpickle() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(sg.grad(lambda x: x**2))


# ---------------------------------------------------------------- what is read on the other side


def test_names_are_those_of_the_other_side(module: Any) -> None:
    pickled = pickle.dumps([module.slope, sg.compile(module.f), sg.grad(module.sums)])
    for g in pickle.loads(pickled):
        g(X)
    module.k = 5.0  # what stands on the other side, or has changed on this one
    first, second, third = pickle.loads(pickled)
    np.testing.assert_allclose(first(X), 15.0 * X**2, rtol=1e-14)
    np.testing.assert_allclose(second(X), module.f(X), rtol=1e-14)
    np.testing.assert_allclose(third(X), sg.grad(module.sums)(X), rtol=1e-14)


def test_nothing_learned_goes_along(module: Any) -> None:
    g, problem = sg.value_and_grad(module.f), sg.nlp(module.f, None, X)
    before = pickle.dumps(g), len(pickle.dumps(problem))
    g(X), g(X[:2]), problem.hessian(X, [], 1.0)
    assert (pickle.dumps(g), len(pickle.dumps(problem))) == before
    problem.ub[:] = 4.0  # what is set of it does
    assert pickle.loads(pickle.dumps(problem)).ub.tolist() == [4.0] * 3


def test_a_plain_function_carries_nothing_of_ours() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")

    def f(x: Any) -> Any:
        return x**2

    sg.jvp(f, (2.0,), (1.0,))
    assert b"symgrad._" not in cloudpickle.dumps(f)
    assert sg.jvp(pickle.loads(cloudpickle.dumps(f)), (3.0,), (1.0,)) == (9.0, 6.0)


@pytest.mark.parametrize("into", [False, True])
def test_kernels_carry_no_machine_code(module: Any, into: bool) -> None:
    g = sg.grad(module.f)
    kernel = g.kernel_into(X) if into else g.kernel(X)
    pickled = pickle.dumps(kernel)
    kinds = {op.name for op, *_ in pickletools.genops(pickled)}
    assert kinds
    for mark in (b"\x7fELF", b"define ", b"MZ\x90", b"\xcf\xfa\xed\xfe"):
        assert mark not in pickled


@pytest.mark.slow
def test_kernels_in_another_process(tmp_path: Path) -> None:
    """They find there what their code calls: threads, functions of libraries, constants."""
    send = """
        import pathlib, pickle
        import numpy as np, symgrad as sg, scipy.special as sc
        table = np.linspace(0.0, 1.0, 50)
        def large(x): return np.sum(np.sin(x) * np.exp(x))
        def special(x): return np.sum(sc.jv(1.5, x + table) + sc.gammaln(x + 1.0))
        def linear(A): return np.sum(np.linalg.solve(A, A @ A) ** 2)
        x, A = np.linspace(0.1, 1.0, 50), np.eye(12) + 0.1
        kernels = [
            sg.compile(sg.value_and_grad(large), parallel=True).kernel(np.ones(1_500_000)),
            sg.grad(special).kernel(x), sg.grad(linear).kernel(A),
        ]
        with open("kernels.pickle", "wb") as file:
            pickle.dump((kernels, [np.ones(1_500_000), x, A]), file)
        for k, value in zip(kernels, [np.ones(1_500_000), x, A]):
            print(k(value)[-1].tobytes().hex()[:4000])
    """
    load = """
        import pickle
        with open("kernels.pickle", "rb") as file:
            kernels, values = pickle.load(file)
        for k, value in zip(kernels, values):
            print(k(value)[-1].tobytes().hex()[:4000])
    """
    sent = python(send, tmp_path)
    assert python(load, tmp_path) == sent
    assert python(load, tmp_path, SYMGRAD_CACHE_DIR="") == sent  # compiled there


# ---------------------------------------------------------------- what does not fit


def test_another_version_names_both(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Callable[[], Any]] = [
        lambda: sg.grad(module.f), lambda: sg.nlp(module.f, None, X), lambda: module.formula,
        lambda: sg.implicit_root(module.residual, module.solve),
    ]  # fmt: skip
    for make in made:
        pickled = pickle.dumps(make())
        other = pickled.replace(sg.__version__.encode(), b"9" * len(sg.__version__))
        # Whatever has moved in that version: it is checked before anything else is looked up.
        other = other.replace(b"symgrad._api", b"symgrad._gone")
        with pytest.raises(sg.errors.DataError, match=f"9999.*{sg.__version__}"):
            pickle.loads(other)


@pytest.mark.parametrize("by_dask", [False, True])
def test_errors_come_back_whole(by_dask: bool) -> None:
    """What is raised in a worker is pickled; what does not unpickle breaks the pool."""
    if by_dask:  # it has errors pickled with their tracebacks
        pytest.importorskip("tblib.pickling_support").install()
    for name in sg.errors.__all__:
        kind = getattr(sg.errors, name)
        error = kind("scipy", "all", "this") if name == "MissingExtraError" else kind("text")
        error.where = "file.py:12"
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert (str(again), again.where) == (str(error), "file.py:12")
    with pytest.raises(sg.errors.ParseError) as raised:
        sg.parse("sin(x")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert again.position == raised.value.position


def test_methods_and_partials(module: Any) -> None:
    model = module.Model()
    bound = pickle.loads(pickle.dumps(functools.partial(sg.grad(module.Model.loss, 1), model)))
    np.testing.assert_allclose(bound(X), 6.0 * X)
