"""Kernels on disk, vector mathematics, what an object calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import cache as _cache
from symgrad._core.codegen import llvm as _llvm
from symgrad._core.lowering import STEPS
from symgrad._core.op import (
    Code,
    Composed,
    Evidence,
    Instr,
    Map,
    Partials,
    Real,
    define,
    registry,
)
from symgrad._core.pipeline import lower
from symgrad._core.runtime import has_libmvec
from tests.shared import run_here

x3 = np.array([0.1, 0.2, 0.3])


@pytest.mark.parametrize("place", ["a file", "below a file", "off", "unwritable"])
@pytest.mark.quick(2)
def test_without_a_usable_folder_kernels_stay_in_memory(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    chosen = {
        "a file": tmp_path / "file",
        "below a file": tmp_path / "file" / "cache",
        "off": "",
        "unwritable": folder,
    }[place]
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(chosen))
    if place == "unwritable":  # for root everything is writable
        monkeypatch.setattr(os, "access", lambda *_: False)
    assert _cache.cache_folder() is None
    assert not run_here()[0]
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_is_no_error(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", full)
        assert not run_here()[0]
    assert list(cache_dir.iterdir()) == []
    assert not run_here()[0]
    assert run_here()[0]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.quick(1)
def test_a_folder_that_others_write_to_is_refused(cache_dir: Path, mode: int) -> None:
    cache_dir.mkdir()
    cache_dir.chmod(mode)
    assert _cache.cache_folder() is None
    assert not run_here()[0]
    assert list(cache_dir.iterdir()) == []
    cache_dir.chmod(0o755)
    assert _cache.cache_folder() == cache_dir


def test_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMGRAD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert _cache.cache_folder() == tmp_path / "xdg" / "symgrad"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    assert _cache.cache_folder() == tmp_path / "home" / ".cache" / "symgrad"


def key(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    found = sg.compile(function, **options)._specialization(args, {})
    return _cache.cache_key(found.program, found.kinds)


@pytest.mark.usefixtures("vector_math")
def test_the_key_has_all_that_the_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * 2.0

    base = key(f, x3)
    assert key(f, x3) == base
    assert key(lambda x: (np.sin(x) * 2.0,), x3) == base  # how results are packed
    assert key(f, np.ones(7)) == base  # any length
    others = [
        key(f, np.ones(1)), key(f, x3.astype(np.float32)), key(f, np.ones((2, 2))),
        key(f, x3, dynamic=False), key(lambda x: np.sin(x) * -2.0, x3),
        key(f, 0.5), key(f, np.float64(0.5)),
        key(lambda x: np.sin(x) * 2.0 if x.shape[0] > 2 else x, x3),
        key(lambda x: np.sin(x) * np.array([2.0, 2, 2]), x3),
        key(lambda x: np.sin(x) * np.array([2.0, 2, 3]), x3),
    ]  # fmt: skip
    for target, value in [
        ("numpy.__version__", "0.0"),
        ("llvmlite.__version__", "0.0"),
        ("sys.version", "2.7"),
        ("llvmlite.binding.llvm_version_info", (1, 0)),
    ]:
        with monkeypatch.context() as patched:
            patched.setattr(target, value)
            others.append(key(f, x3))
    for name, value in [
        ("_machine", lambda: "another CPU"),
        ("vector_math_default", lambda: not has_libmvec()),
        ("source_digest", lambda: "other source"),
        ("FORMAT", -1),
    ]:
        with monkeypatch.context() as patched:
            patched.setattr(_cache, name, value)
            others.append(key(f, x3))
    assert len({base, *others}) == len(others) + 1
    assert key(f, x3) == base


def test_the_machine_is_described_with_its_features(monkeypatch: pytest.MonkeyPatch) -> None:
    _cache._machine.cache_clear()
    first = _cache._machine()
    with monkeypatch.context() as patched:
        for variable in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
            patched.delenv(variable, raising=False)
        patched.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"one": True, "no": 0})
        _cache._machine.cache_clear()
        assert " one " in _cache._machine()
        assert "no" not in _cache._machine().split()
    _cache._machine.cache_clear()
    assert _cache._machine() == first


def own_op(scale: float, lower_: Any) -> Any:
    registry.ops.pop("TestScale", None)
    op = registry.users["TestScale"] = define(
        Map("TestScale", evaluate=lambda x: scale * x, sympy=lambda x: scale * x, domain=(Real,),
            rule=Partials(lambda y, x: (scale,))),
        Code(lower_),
        Evidence(samples=(-1, 1)),
    )  # fmt: skip
    return op


def test_a_changed_op_makes_new_kernels(cache_dir: Path) -> None:
    try:
        for scale, rule in [
            (2.0, Composed(lambda x: 2.0 * x)),
            (3.0, Composed(lambda x: 3.0 * x)),
            (-1.0, Instr(f="fneg")),
        ]:
            op = own_op(scale, rule)
            np.testing.assert_array_equal(sg.compile(lambda x, op=op: op(x) + 0.0)(x3), scale * x3)
        # The runtime's own objects are there as well, unless the process has loaded them before.
        programs = [p for p in cache_dir.iterdir() if not (p / _cache.OBJECT).exists()]
        assert len(programs) == 3
    finally:
        registry.ops.pop("TestScale", None)


# ---------------------------------------------------------------- vector mathematics


MATHS = [np.sin, np.cos, np.exp, np.log1p, np.tanh, np.arctan, np.cbrt, np.exp2, np.expm1]


def formulas(x: Any) -> Any:
    return (*(f(x) for f in MATHS), np.arctan2(x, 2.0), np.hypot(x, 1.5), (x + 1) ** 1.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_without_vector_math(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", "0")
    x = np.linspace(0.1, 3, 1003).astype(dtype)
    program = sg.compile(formulas).program(x)
    assert "_ZGV" not in lower(program).text
    eps = np.finfo(dtype).eps
    for got, want in zip(sg.compile(formulas, cache=False)(x), formulas(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=4 * eps)


@pytest.mark.skipif(not has_libmvec(), reason="no vector mathematics here")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_with_vector_math(dtype: Any) -> None:
    x = np.linspace(0.1, 3, 1003).astype(dtype)
    program = sg.compile(formulas).program(x)
    assert "_ZGV" in lower(program, vector_math=True).text
    assert "_ZGV" not in lower(program, vector_math=False).text
    eps = np.finfo(dtype).eps
    g = sg.compile(formulas, cache=False)
    for n in (1003, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31):  # remainders of every vector length
        for got, want in zip(g(x[:n]), formulas(x[:n]), strict=True):
            np.testing.assert_allclose(got, want, rtol=8 * eps)


@pytest.mark.parametrize(("size", "looped"), [(3, False), (14, True)])
def test_functions_of_a_dozen_elements_are_vectors(size: int, looped: bool) -> None:
    """Arrays of a few elements are unrolled, of a dozen they are vectors."""
    from symgrad._core.lowering._unroll import unroll

    def unrolled(f: Any) -> bool:
        outputs = list(sg.compile(f, dynamic=False).program(np.ones(size)).outputs)
        return unroll(outputs) != outputs

    assert unrolled(lambda x: np.tanh(np.exp(x) + 1)) is not looped
    assert unrolled(lambda x: 1 / (1 + np.exp(-x))) is not looped
    assert unrolled(lambda x: x**2 + 1 / x) is not looped  # composed of instructions


# ---------------------------------------------------------------- objects


def test_functions_outside_are_called_through_the_table(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stubs would need memory that is not reserved for an object; see docs/design/emission.md."""
    parsed, outside = _llvm.parsed, {}

    def record(*args: Any) -> Any:
        module = parsed(*args)
        for f in module.functions:
            if f.is_declaration and not f.name.startswith("llvm."):
                outside[f.name] = b" ".join(f.attributes)
        return module

    monkeypatch.setattr(_llvm, "parsed", record)
    matrix, x = np.random.default_rng(0).normal(size=(50, 50)), np.ones(50)  # no own code
    sg.value_and_grad(lambda x, a: np.sum(np.sin(x) * np.linalg.solve(a, x)))(x, matrix)
    assert any(name.endswith("sin") for name in outside)  # or a vector of them
    assert any("lapack" in name for name in outside)
    for name, attributes in outside.items():
        assert not _llvm.NEAR or b"nonlazybind" in attributes, name


def test_bodies_within_bodies_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM writes out the turns of a loop of calls; what is called then is not put into each."""

    def slope(y: Any) -> Any:
        apart = [[(y[j] - y[i]) ** 2 + 1.0 for i in range(6) if i != j] for j in range(6)]
        return np.stack([np.sum(np.stack([1 / np.sqrt(r) for r in row])) for row in apart])

    def step(_: int, y: Any) -> Any:
        return sg.fori_loop(0, 6, lambda k, u: u + 0.01 * slope(u) / (k + 1), y)

    def solved(y: Any) -> Any:
        return sg.fori_loop(0, 20, step, y)

    y = np.linspace(0.0, 1.0, 6)
    text = lower(sg.compile(solved).program(y)).text

    @_llvm.llvm_turn()
    def optimized() -> str:
        return str(_llvm.optimize(text, _llvm.host_machine()))

    together = optimized()
    with monkeypatch.context() as patch:
        patch.setattr(_llvm, "_parts", lambda module: [])
        at_once = optimized()
    assert together != at_once
    assert text.count(" #1 {") > 2  # functions of steps, which wait, and then are as all others
    assert not any("optnone" in line for line in together.splitlines() if STEPS in line)
    assert together.count("\n") < 1.2 * at_once.count("\n")
    expected = y
    for _ in range(20):
        for k in range(6):
            expected = expected + 0.01 * slope(expected) / (k + 1)
    np.testing.assert_allclose(sg.compile(solved)(y), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i32 @first() {\n  ret i32 0\n}\ndefine i32 @second() {\n  ret i32 %x\n}\n", "%x"),
        ("define i32 @second() optnone {\n  ret i32 0\n}\n", "optnone"),
    ],
    ids=["text", "attributes"],
)
def test_code_that_llvm_refuses_is_an_error_with_its_functions_name(
    text: str, message: str
) -> None:
    """LLVM's passes would end the process."""
    for make in (lambda t: _llvm.optimized(t).content, _llvm.full_object, _llvm.emit):
        with pytest.raises(sg.errors.CheckError, match="refuses the code of second") as caught:
            make(text)
        assert message in str(caught.value)


def test_attributes_are_the_functions_and_not_their_results() -> None:
    """As llvmlite gives them before version 0.48; LLVM's passes then end the process."""
    text = 'define internal i32 @f.run(i32 %a) #0 {\n  ret i32 %a\n}\nattributes #0 = { "mark" }\n'
    changed = _llvm.attributed(text, ["f.run"], "noinline optnone")
    found = _llvm.assembled(changed).get_function("f.run")
    assert {b"noinline", b"optnone"} <= set(b" ".join(found.attributes).split())
