"""Saved programs with something changed: loading refuses them, or what they compute is sound."""

from __future__ import annotations

import ast
import base64
import builtins
import copy
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy.parsing import sympy_parser

import symgrad as sg
from symgrad._core.base.sizes import hint
from symgrad._core.codegen import cache as _cache
from symgrad._core.codegen import code as machine
from symgrad._core.codegen.loading import load_product
from symgrad._core.lowering import products
from symgrad._core.op import Composite, registry
from symgrad._core.pipeline import lower
from symgrad._core.program import Program
from symgrad._core.program import _read as reading
from symgrad._core.program._json import to_json
from symgrad._core.runtime import MISS, load_memory, load_pool
from symgrad._core.runtime import threads as _threads
from symgrad._core.trace import flatten
from symgrad._export._function import c_source
from symgrad._show._graph_view_program import program_view
from symgrad._tensor import draw
from symgrad.errors import CycleError, DataError, SymgradError, UnsupportedError
from tests.samples import samples_of
from tests.shared import of_arrays

# ---------------------------------------------------------------- programs to begin with


def by_loops(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        return np.tanh(carry + row), np.sum(carry * row)

    last, stacked = sg.scan(step, np.zeros_like(x[0]), x)
    return last, stacked


def halved(x: Any) -> Any:
    return sg.while_loop(lambda c: np.sum(c) > 0.1, lambda c: c * 0.5, np.abs(x))


def chosen(x: Any, k: Any) -> Any:
    return sg.switch(k % 3, [np.sin, np.cos, lambda v: v[::-1] * 2.0], x)


def written(x: Any, i: Any) -> Any:
    y = sg.numpy.zeros(x.shape[0] + 2) + x[0]
    y[1:3] = x[:2] ** 2
    y[i] = 3.0
    y[::2] += 1.0
    return y


def by_values(x: Any) -> Any:
    return np.sin(x) if x[0] > 0 else np.cos(x[1:])


def guarded(x: Any, k: Any) -> Any:
    n = len(x)
    return np.sum(x[: k // 2 + 1]) + (np.reshape(x, (2, n // 2)) if n % 2 == 0 else x[n // 2])


def sorted_writes(x: Any, i: Any) -> Any:
    y = x * 2.0
    y[i] = np.cumsum(x[i]) - np.median(x)
    return np.argsort(y) * np.float32(0.5), np.where(x > y, x, 0.0)


X, M = np.linspace(0.3, 1.7, 6), np.linspace(-1, 2, 12).reshape(3, 4)
OWN: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (by_loops, (M,)), (sg.grad(lambda x: np.sum(by_loops(x)[1])), (M,)), (halved, (X,)),
    (chosen, (X, 1)), (sg.grad(lambda x: np.sum(chosen(x, 2))), (X,)), (written, (X, 2)),
    (sg.grad(lambda x: np.sum(written(x, 1) ** 2)), (X,)), (by_values, (X,)), (guarded, (X, 3)),
    (sorted_writes, (X, np.array([4, 0, 2]))), (lambda z: np.fft.ifft(z * 1j).imag, (X + 1j,)),
    (sg.hessian(lambda x: np.sum(np.tanh(x) ** 3)), (X,)),
    (sg.vmap(sg.grad(lambda x: np.prod(x))), (M,)),
]  # fmt: skip


@cache
def composites() -> list[Composite]:
    rng = np.random.default_rng(7)
    return [r for r in registry.composites.values() if any(True for _ in samples_of(r, rng))]


def squares(function: Callable[..., Any], *arrays: Any) -> Any:
    total: Any = 0.0
    for x in flatten(function(*arrays))[0]:
        total = total + np.sum(x * x if x.dtype.kind == "f" else x * 0.0)
    return total


def of_sample(record: Composite, rng: Any) -> tuple[Callable[..., Any], list[Any]]:
    """One of a composite's samples as a function of the arrays in it, or its gradient."""
    samples = list(islice(samples_of(record, np.random.default_rng(7)), 16))
    function, values = of_arrays(record.function, samples[rng.integers(len(samples))])
    real = tuple(k for k, x in enumerate(values) if x.dtype.kind == "f")
    if record.differentiable and real and rng.random() < 0.4:
        return sg.grad(partial(squares, function), argnums=real), values
    return function, values


def a_program(rng: Any) -> dict[str, Any]:
    """A saved program, of something that the registry has."""
    while True:
        if rng.random() < 0.4:
            f, args = OWN[rng.integers(len(OWN))]
        else:
            f, args = of_sample(composites()[rng.integers(len(composites()))], rng)  # type: ignore[assignment]
        try:
            text = to_json(sg.compile(f).program(*args))
        except (SymgradError, TypeError, ValueError, ArithmeticError):
            continue  # a sample of an error, or one that calls a Python function
        if len(text) < 40_000:
            data: dict[str, Any] = json.loads(text)
            return data


# ---------------------------------------------------------------- what is changed


def code_of(canary: Path) -> str:
    return f"__import__('pathlib').Path({str(canary)!r}).touch()"


def hostile(canary: Path) -> list[Any]:
    """Values that are wrong almost everywhere; some of them are code."""
    code = code_of(canary)
    text = [
        code, f"\n    {code}\n", f"*/ {code} /*", f'"""\n{code}\n"""', f"n); {code} #",
        f"</script><script>{code}", "\\input{x}", "{0}", "{__class__}", "lambda", "np", "", "x",
        "float32", "int8", "forward", "ortho", "ij", "ji", "aab", "9" * 400,
    ]  # fmt: skip
    sizes = [
        "n", "n + 1", "n//2", "2*n - 1", "n**64", "1//(n - n)", "max(n, 2**62)", "n % 3", "-n",
        "(" * 90 + "n" + ")" * 90, "max(n, " * 40 + "n" + ")" * 40, "n//3//3//3",
        "(n + 1)*(n + 2)*(n + 3)*(n + 4)*(n - 1)",
    ]  # fmt: skip
    numbers = [
        0, 1, 2, 3, 5, 7, 64, -1, -2, 1.5, 1e308, 10**9, 2**31 - 1, 2**31, 2**32, 2**61 + 4, 2**62,
        2**63 - 1, 2**63, 2**64, 2**64 + 5, -(2**63),
    ]  # fmt: skip
    nested: list[Any] = [
        None, True, False, [], {}, [code], [[code]], {"size": code}, {"body": {}}, [0], [1, 0],
        [2, 3], [[0, 1, 2]], [0, 1, None], [1] * 70, [[[[[[[[[[1]]]]]]]]]],
    ]  # fmt: skip
    return [*text, *sizes, *numbers, *nested]


def spots(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the containers and keys of everything in a file."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from spots(value)


def mutate(data: dict[str, Any], rng: Any, canary: Path) -> None:
    """Change something."""
    found = list(spots(data))
    deep = [s for s in found if isinstance(s[0], list) or s[1] in SHARP]
    among = deep if deep and rng.random() < 0.7 else found
    where, key = among[rng.integers(len(among))]
    way = rng.integers(9)
    values = hostile(canary)
    value = where[key]
    if way <= 2:
        where[key] = values[rng.integers(len(values))]
    elif way == 3 and type(value) is int:
        where[key] = value + int(rng.integers(-2, 3))
    elif way == 4:  # what stands in another place
        other, name = found[rng.integers(len(found))]
        where[key] = copy.deepcopy(other[name])
    elif way == 5 and isinstance(where, list):
        where.insert(key, copy.deepcopy(value))
    elif way == 6:
        del where[key]
    elif way == 7 and isinstance(value, list):
        value.reverse()
    elif way == 8 and isinstance(value, bool):
        where[key] = not value
    elif way == 8 and isinstance(value, list) and value:
        value.append(copy.deepcopy(value[rng.integers(len(value))]))


#: Fields that say most.
SHARP = {
    "params", "op", "operands", "shape", "region", "regions", "axes", "axis", "at", "a", "b",
    "out", "length", "reverse", "carries", "elements", "index", "offset", "size", "dtype", "line",
    "guards", "conditions", "sizes", "name", "n", "norm", "trans", "wide", "disjoint", "kind",
    "value", "data",
}  # fmt: skip


def sealed(data: dict[str, Any]) -> str:
    """The text with the fingerprint that it has, which whoever writes a file can find."""
    text = json.dumps(data)
    try:
        saved = reading.from_json(text)
        fields = (saved.inputs, saved.outputs, saved.steps, saved.levels, saved.guards)
        data = {**data, "fingerprint": Program(*fields, saved.conditions).fingerprint}
    except Exception:  # noqa: BLE001  # what is wrong with it is for loading to say
        return text
    return json.dumps(data)


def damaged(text: str, rng: Any) -> bytes:
    """The text with some bytes changed, left out or doubled."""
    content = bytearray(text.encode())
    for _ in range(rng.integers(1, 4)):
        k = int(rng.integers(len(content)))
        way = rng.integers(4)
        if way == 0:
            content[k] ^= 1 << int(rng.integers(8))
        elif way == 1:
            del content[k : k + int(rng.integers(1, 40))]
        elif way == 2:
            content[k:k] = content[k : k + int(rng.integers(1, 40))]
        else:
            content[k] = rng.integers(256)
    return bytes(content)


# ---------------------------------------------------------------- what is asked of a file

#: What the code of a program may import, and the names of Python that it may use.
MODULES = {"numpy", "scipy", "scipy.linalg", "math", "base64", "symgrad._core.ops.callback"}
FOREIGN = {"eval", "exec", "open", "compile", "setattr", "globals", "vars", "input"}
#: A program that is sound may still fail on numbers: of a singular matrix, of an index.
FAILS = (ValueError, IndexError, ArithmeticError, OverflowError, np.linalg.LinAlgError)


import_module("sympy.physics.units")  # it reads the names of its units
NUMBERS = re.compile(r"(?:[0-9()+*/. -]|sqrt|pi|exp|log|E|I)*")


class Ran(BaseException):
    """SymPy was given text to evaluate."""


READ = sympy_parser.parse_expr


def refuse(text: str, *args: Any, **kwargs: Any) -> Any:
    """Read no text but numbers, which SymPy itself makes to find a simple form."""
    if not NUMBERS.fullmatch(text):
        raise Ran(text)
    return READ(text, *args, **kwargs)


def judged(file: Path) -> str:
    """Load a file, print it in all ways and run it; say how it ended."""
    sympy_parser.parse_expr = refuse
    start = time.process_time()
    program, refused = loaded(file)
    assert time.process_time() - start < 5
    if program is None:
        assert refused.startswith(str(file))
        return "refused"
    assert Program.from_json(to_json(program)).fingerprint == program.fingerprint
    source = printed(program)
    rng = np.random.default_rng(0)
    values = [an_argument(n, rng) for n in program.inputs]
    if max((np.size(v) for v in values), default=0) > 10**5 or too_large(program):
        return "too large to run"
    try:
        want = program.run(*values)
    except FAILS:
        return "raises"
    scope: dict[str, Any] = {}
    exec(source, scope)
    got = scope["program"](*values)
    equal(want, got if len(want) != 1 else (got,))
    try:
        function = compiled(program)
    except UnsupportedError:
        return "not compiled"
    given = [KINDS.get(passed(n), np.asarray)(v)
             for n, v in zip(program.inputs, values, strict=True)]  # fmt: skip
    found = function(*given)
    if found is MISS:  # a number of a type that Python has not
        return "not compiled"
    equal(want, found if len(want) != 1 else (found,))
    return "equal"


#: How Python passes numbers.
KINDS: dict[str, Any] = {"int": int, "float": float}


def passed(node: Any) -> str:
    if node.shape:
        return "array"
    return "int" if node.dim is not None or node.dtype == np.int64 else "float"


def compiled(program: Program) -> Callable[..., Any]:
    code = machine.compile_code(lower(program), [passed(n) for n in program.inputs])
    load_memory(_cache.loaded_quickly)
    if _threads.RUN in code.symbols:
        load_pool(_cache.loaded_quickly)
    for symbol in products.SYMBOLS.intersection(code.symbols):
        load_product(symbol)
    return machine.load(code, 1)


def loaded(file: Path) -> tuple[Program | None, str]:
    try:
        return sg.load(file), ""
    except (DataError, CycleError) as error:
        return None, str(error)


def too_large(program: Program) -> bool:
    return any(np.prod([float(hint(d)) for d in n.shape]) > 10**6 for n in program.nested_steps())


def an_argument(node: Any, rng: Any) -> Any:
    if node.dim is not None:
        return np.int64(hint(node.dim))
    shape = tuple(hint(d) for d in node.shape)
    if int(np.prod([float(d) for d in shape])) > 10**6:
        return np.broadcast_to(np.zeros((), node.dtype), shape)
    return rng.uniform(0, 3, shape).astype(node.dtype)


def equal(want: Any, found: Any) -> None:
    for a, b in zip(want, found, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape)
        assert a.dtype == b.dtype, (a.dtype, b.dtype)
        if a.dtype.kind != "f":
            assert np.array_equal(a, b), (a, b)
            continue
        rough = 1e-3 if a.dtype == np.float32 else 1e-6
        scale = np.max(np.abs(a[np.isfinite(a)]), initial=1.0)
        with np.errstate(all="ignore"):
            near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rough * scale)
        assert np.all(near), (a, b)


def printed(program: Program) -> str:
    """Print a program in every way, and return its source, which is what it promises to be."""
    lines = str(program).splitlines()
    assert len(lines) >= len(program.steps)
    assert all(line.isprintable() for line in lines)
    program.latex()
    try:
        if len(program.steps) <= 5:  # SymPy simplifies conditions, for minutes
            program.to_sympy()
    except (UnsupportedError, *FAILS):
        pass
    try:
        text = c_source(program)
        assert text.count("/*") == text.count("*/")
    except UnsupportedError:
        pass
    program_view(program)
    str(draw(program))
    source = program.source()
    tree = ast.parse(source)
    names = {*vars(builtins)} - FOREIGN
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            given = {a.name for a in node.names} if isinstance(node, ast.Import) else {node.module}
            assert given <= MODULES, given
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
        else:
            assert isinstance(node, ast.Assign), ast.dump(node)
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    bound |= {a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments)
              for a in (*n.args, *n.kwonlyargs, *([n.vararg] if n.vararg else []))}  # fmt: skip
    bound |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for part in ast.walk(tree):
        if isinstance(part, ast.Name):
            assert part.id in names | bound, part.id
        assert not (isinstance(part, ast.Attribute) and part.attr.startswith("__")), part.attr
        assert not isinstance(part, (ast.Global, ast.Delete, ast.Lambda)) or isinstance(
            part, ast.Lambda
        )
    return source


def tried(attack: Any, isolated: Any, tmp_path: Path, change: Callable[..., bytes]) -> None:
    canary = tmp_path / "ran"
    for case in attack:
        with case:
            content = change(a_program(case.rng), case.rng, canary)
            file = tmp_path / "program.json"
            file.write_bytes(content)
            ending = isolated(judged, file, seconds=40, memory=3 << 30)
            assert not canary.exists(), content
            if ending.kind != "returned":
                kept = Path(tempfile.gettempdir(), f"{attack.name}-{case.number}.json")
                kept.write_bytes(content)
                raise AssertionError(f"{ending} ({kept})")
            case.tally(ending.value)


def changed(data: dict[str, Any], rng: Any, canary: Path) -> bytes:
    for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.3 else 1):
        mutate(data, rng, canary)
    return sealed(data).encode()


@pytest.mark.attack(quick=4, whole=6000, judge="refused, or NumPy and the kernel agree")
def test_saved_programs(attack: Any, isolated: Any, tmp_path: Path) -> None:
    """Values, types, code as text, sizes near 2**31 and 2**63, fields gone, doubled or swapped."""
    tried(attack, isolated, tmp_path, changed)


@pytest.mark.attack(quick=3, whole=2000, judge="refused, or NumPy and the kernel agree")
def test_damaged_programs(attack: Any, isolated: Any, tmp_path: Path) -> None:
    """Bytes of saved programs changed, left out or doubled."""
    tried(attack, isolated, tmp_path,
          lambda data, rng, _: damaged(json.dumps(data), rng))  # fmt: skip


@pytest.mark.parametrize("place", [-1, -(10**8), 4, 10**8])
@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_constant_places_of_a_certificate_are_looked_at(
    backend: str, place: int, tmp_path: Path
) -> None:
    """``recheck`` compiles a program of a file, whose index arrays no trace has seen."""
    file, places = tmp_path / "certificate.json", np.array([0, 2, 1, 2])

    def f(x: Any) -> Any:
        return np.sum(np.sin(x[places]))

    sg.verify(f, np.arange(4.0), domain=(0.1, 1.0), points=2).save(file)
    certificate = json.loads(file.read_text())
    program = certificate["program"]
    [leaf] = [leaf for leaf in program["leaves"] if leaf["kind"] == "constant"]
    changed = np.array([0, 2, place, 2])
    program |= {"guards": [], "leaves": [{**leaf, "data": base64.b64encode(changed).decode()}]}
    certificate["program"] = json.loads(sealed(program))
    file.write_text(json.dumps(certificate))
    with sg.backend(backend), pytest.raises((IndexError, sg.errors.SymgradError)):
        sg.recheck(file)
