"""Exported functions in programs without Python: objects and libraries, C, C++, Fortran, CMake."""

from __future__ import annotations

import ctypes
import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import symgrad as sg
from symgrad.cli import main
from symgrad.errors import ArgumentError, UnsupportedError

LINUX = sys.platform == "linux" and platform.machine() == "x86_64"

K = np.array([1.0, -2.0, 0.5, 3.0])
X, A = np.array([0.3, 1.7, -0.6]), np.arange(12.0).reshape(4, 3) / 7


def energy(x: Any, A: Any, a: Any) -> Any:
    return np.sum(K * np.exp(-a * (A @ x) ** 2)) + np.sum(np.cumsum(x))


ENERGY = sg.value_and_grad(energy)

STRICT = ("-Wall", "-Wextra", "-Werror")

C = """
#include <stdio.h>
#include "f.h"
int main(void) {
    static const double x[3] = {0.3, 1.7, -0.6};
    double A[12];
    for (int i = 0; i < 12; ++i) A[i] = i / 7.0;
    double value, slope[3];
    int status = energy(3, 4, x, A, 0.7, &value, slope);
    printf("%d %.17g %.17g %.17g %.17g\\n", status, value, slope[0], slope[1], slope[2]);
    status = energy(3, 5, x, A, 0.7, &value, slope);
    printf("%d\\n", status);
    return 0;
}
"""


def needs(*programs: str) -> Any:
    missing = [p for p in programs if shutil.which(p) is None]
    return pytest.mark.skipif(bool(missing), reason=f"there is no {' and '.join(missing)}")


def printed(folder: Path, *command: str) -> list[float]:
    """Run commands that print a status and numbers; check the first and return them."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def built(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def check(found: list[float]) -> None:
    value, slope = ENERGY(X, A, 0.7)
    assert [found[0], found[-1]] == [0, 2]  # the second call has another size than K
    np.testing.assert_allclose(found[1:-1], [value, *slope], 1e-12)


@needs("gcc")
@pytest.mark.quick
@pytest.mark.parametrize("suffix", [".o", ".c", ".so"])
def test_c_programs(suffix: str, tmp_path: Path) -> None:
    files = ENERGY.export(tmp_path / f"f{suffix}", X, A, 0.7, name="energy")
    assert [f.name for f in files] == [f"f{suffix}", "f.h", "f.cmake"]
    (tmp_path / "main.c").write_text(C)
    linked = (f"./f{suffix}", "-Wl,-rpath,.", "-lm")
    built(tmp_path, "gcc", *STRICT, "-o", "main", "main.c", *linked)
    check(printed(tmp_path, "./main"))


@needs("g++")
def test_cpp_programs(tmp_path: Path) -> None:
    ENERGY.export(tmp_path / "f.o", X, A, 0.7, name="energy")
    (tmp_path / "main.cpp").write_text(C)
    built(tmp_path, "g++", *STRICT, "-o", "main", "main.cpp", "f.o")
    check(printed(tmp_path, "./main"))


@needs("gcc", "cmake")
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".o", ".c", ".so"])
def test_cmake_projects(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    ENERGY.export(tmp_path / f"lib/f{suffix}", X, A, 0.7, name="energy")
    (tmp_path / "main.c").write_text(C)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p C)\ninclude(lib/f.cmake)\n"
        "add_executable(main main.c)\ntarget_link_libraries(main PRIVATE energy)\n"
    )
    built(tmp_path, "cmake", "-B", "build", ".")
    built(tmp_path, "cmake", "--build", "build")
    check(printed(tmp_path, "build/main"))


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
def test_another_processor(tmp_path: Path) -> None:
    ENERGY.export(tmp_path / "f.o", X, A, 0.7, name="energy", target="aarch64")
    (tmp_path / "main.c").write_text(C)
    built(tmp_path, "aarch64-linux-gnu-gcc", "-static", "-o", "main", "main.c", "f.o", "-lm")
    check(printed(tmp_path, "qemu-aarch64-static", "./main"))


WEB = """
const fs = require("fs");
const [code, cases] = [new WebAssembly.Module(fs.readFileSync("f.wasm")),
                       JSON.parse(fs.readFileSync("cases.json"))];
let top = 0, memory;
const env = Object.fromEntries(Object.getOwnPropertyNames(Math).map(k => [k, Math[k]]));
env.malloc = n => { const p = top; top += (n + 15) & ~15; return p; };
env.realloc = (old, n) => {
    const p = env.malloc(n);
    if (old) new Uint8Array(memory.buffer).copyWithin(p, old, old + n);
    return p;
};
env.free = () => {};
const exported = new WebAssembly.Instance(code, { env }).exports;
memory = exported.memory;
top = exported.__heap_base.value;
memory.grow(64);
const put = numbers => {
    const p = env.malloc(8 * numbers.length);
    new Float64Array(memory.buffer, p).set(numbers);
    return p;
};
for (const { name, sizes, args, room } of cases) {
    const given = args.map(x => typeof x == "number" ? x : put(x));
    const outs = room.map(n => env.malloc(8 * n));
    const status = exported[name](...sizes, ...given, ...outs);
    const found = room.flatMap((n, k) => [...new Float64Array(memory.buffer, outs[k], n)]);
    console.log([status, ...found].join(" "));
}
"""


def steps(x: Any) -> Any:
    """A loop whose steps are written down, since nobody knows how many there are."""
    return sg.while_loop(lambda c: c[0] < 40, lambda c: (c[0] * 1.5, c[1] + np.sin(c[0])), (x, x))


@pytest.mark.slow
@needs("node", "wasm-ld")
def test_webassembly(tmp_path: Path) -> None:
    M = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.0, 0.3, 1.0]])
    pairs = sg.grad(lambda x: np.sum(np.sort(x) * np.arange(1, 13)) + x[np.argmax(x)] ** 2)
    cases: list[tuple[Any, tuple[Any, ...], list[int], list[int]]] = [
        (ENERGY, (X, A, 0.7), [3, 4], [1, 3]),
        (sg.grad(lambda x: steps(x)[1]), (0.7,), [], [1]),
        (sg.value_and_grad(lambda M: np.sum((M @ M.T) ** 3)), (M,), [3], [1, 9]),
        (pairs, (np.tile(X, 4),), [12], [12]),
        (sg.jacobian(lambda x: np.outer(x, np.cumprod(x))), (X,), [3], [27]),
        (sg.value_and_grad(lambda x: np.sum(special.erfcx(x) + special.j0(x))), (X,), [3], [1, 3]),
        (lambda x, y: np.arctan2(x, y) + np.hypot(x, y) * x**3.3, (1.5, 0.4), [], [1]),
    ]
    given, expected = [], []
    for k, (f, args, sizes, room) in enumerate(cases):
        g = f if hasattr(f, "export") else sg.compile(f)
        g.export(tmp_path / f"f{k}.o", *args, name=f"f{k}", target="wasm32")
        results = g(*args)
        leaves = results if isinstance(results, tuple) else (results,)
        expected.append(np.concatenate([np.ravel(x) for x in leaves]))
        lists = [x if isinstance(x, float) else np.ravel(x).tolist() for x in args]
        given.append({"name": f"f{k}", "sizes": sizes, "args": lists, "room": room})
    names = [f"f{k}" for k in range(len(cases))]
    (tmp_path / "cases.json").write_text(json.dumps(given))
    (tmp_path / "run.cjs").write_text(WEB)
    exports = [f"--export={name}" for name in (*names, "__heap_base")]
    objects = [f"{name}.o" for name in names]
    link = ("wasm-ld", "--no-entry", "--allow-undefined", *exports, "-o", "f.wasm")
    built(tmp_path, *link, *objects)
    done = subprocess.run(["node", "run.cjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line, wanted in zip(done.stdout.splitlines(), expected, strict=True):
        status, *found = map(float, line.split())
        assert status == 0
        np.testing.assert_allclose(found, wanted, 1e-12)
    with pytest.raises(ArgumentError, match=r"f\.so: a library for wasm32.* export an object"):
        ENERGY.export(tmp_path / "f.so", X, A, 0.7, target="wasm32")


@pytest.mark.parametrize(
    "compiler",
    [pytest.param(name, marks=needs("cc", name)) for name in ("cc", "gfortran", "rustc")],
)
def test_the_page(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs in C, Fortran and Rust on the page print what the page says."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[1] / "docs" / "programs-without-python.md"
    text = page.read_text(encoding="utf-8")
    languages = "python|c|fortran|rust|sh"
    block = rf"(?:<!-- file: (\S+) -->\n)?```({languages})\n(.*?)```\n(?:```text\n(.*?)```)?"
    names: dict[str, Any] = {}
    shown = []
    for file, language, code, output in re.findall(block, text, re.DOTALL):
        if language == "python":
            exec(code, names)
        elif file:
            Path(file).write_text(code)
        elif code.startswith(f"{compiler} "):
            found = subprocess.run(code, shell=True, capture_output=True, text=True, check=True)
            assert found.stdout == output
            shown.append(output)
    assert len(shown) == 1


# ---------------------------------------------------------------- what is in the files


def undefined(file: Path) -> set[str]:
    names = subprocess.run(["nm", "-u", file], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in names.splitlines()}


@pytest.mark.skipif(not LINUX, reason="for x86 on Linux")
@needs("nm")
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_objects_need_the_c_library_only(target: str, tmp_path: Path) -> None:
    f = lambda x, M: np.sum(np.sin(M @ M) ** 2) * np.sum(special.ndtr(x) * special.j0(x))  # noqa: E731
    args = (np.ones(3), np.ones((3, 3)))
    (made, *_) = sg.grad(f).export(tmp_path / "f.o", *args, target=target)
    known = {"_GLOBAL_OFFSET_TABLE_", "malloc", "free", "memset", "memcpy", "memmove", "realloc"}
    known |= {"sin", "cos", "sincos", "exp", "log", "log1p", "sqrt", "fma", "erfc", "floor", "rint"}
    assert undefined(made) <= known


@pytest.mark.skipif(not LINUX, reason="glibc looks at this note")
@needs("gcc")
def test_a_library_for_a_better_processor_is_not_loaded(tmp_path: Path) -> None:
    (made, *_) = sg.grad(np.sin).export(tmp_path / "f.so", 1.0, name="f", target="x86-64")
    assert ctypes.CDLL(str(made))
    note = (0xC0008002).to_bytes(4, "little") + (4).to_bytes(4, "little")
    content = made.read_bytes()
    at = content.index(note) + len(note)
    beyond = tmp_path / "g.so"  # for a level that there is not yet
    beyond.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    with pytest.raises(OSError, match="CPU ISA level is lower than required"):
        ctypes.CDLL(str(beyond))


def test_source_object_and_pointer_have_one_signature(tmp_path: Path) -> None:
    lines = []
    for suffix in (".c", ".o"):
        header = ENERGY.export(tmp_path / f"f{suffix}", X, A, 0.7, name="energy")[1]
        lines.append(re.search(r"^int energy\([^;]*;", header.read_text(), re.MULTILINE))
    first, second = (line[0] for line in lines if line)
    assert first == second
    made = ENERGY.cfunc(X, A, 0.7).declaration.partition("*/")[2]
    assert made.replace("energy_value_and_grad", "energy").split() == first.split()


def test_lapack_is_called_by_its_own_name(tmp_path: Path) -> None:
    f = sg.grad(lambda M, b: np.sum(np.linalg.solve(M, b)))
    made, header, cmake = f.export(tmp_path / "f.o", np.eye(9), np.ones(9))
    assert b"dgetrf_" in made.read_bytes()
    assert "with LAPACK" in header.read_text()
    assert "find_package(LAPACK REQUIRED)" in cmake.read_text()
    assert "LAPACK::LAPACK" in cmake.read_text()


def test_a_library_without_lapack_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")  # a program that fails
    needs = ", which calls LAPACK, .* export an object file"
    for f, words in (np.linalg.det, needs), (np.sum, ": "):
        with pytest.raises(ArgumentError, match=r"false cannot link f\.so" + words):
            sg.compile(f).export(tmp_path / "f.so", np.eye(9))


# ---------------------------------------------------------------- wrong use


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    f = sg.compile(lambda x: special.erfinv(x))
    with pytest.raises(UnsupportedError, match=r"scipy.special.erfinv .*test_export_files.py:\d+"):
        f.export(tmp_path / "f.o", X)
    with pytest.raises(UnsupportedError, match="calls a Python function"):
        sg.compile(lambda x: sg.pure_callback(np.sin, x, x)).export(tmp_path / "f.o", X)
    with pytest.raises(UnsupportedError, match=r"numpy\.fft"):
        sg.compile(lambda x: np.abs(np.fft.fft(x))).export(tmp_path / "f.o", X)
    assert not list(tmp_path.iterdir())


def test_wrong_files_targets_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = sg.grad(np.sin)
    for path, words, more in (
        ("f", "depends on how it ends", {}),
        ("f.o", "is not one of x86-64, .* export C source", {"target": "riscv64"}),
        ("f.c", "C source has no target", {"target": "aarch64"}),
        ("f.o", "cannot be the name of a C function", {"name": "double"}),
    ):
        with pytest.raises(ArgumentError, match=words):
            f.export(tmp_path / path, 1.0, **more)
    own = tmp_path / "g.h"
    own.write_text("int mine;\n")
    with pytest.raises(ArgumentError, match=r"g\.h is there already, and not made by symgrad"):
        f.export(tmp_path / "g.o", 1.0)
    assert own.read_text() == "int mine;\n"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ArgumentError, match=r"linked by a C compiler .* none is found"):
        f.export(tmp_path / "f.so", 1.0)
    assert [p.name for p in tmp_path.iterdir()] == ["g.h"]
    f.export(tmp_path / "f.o", 1.0)
    f.export(tmp_path / "f.o", 1.0)  # once more


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.py"
    model.write_text("import numpy as np\n\ndef f(x, k):\n    return np.sum(k * x**2)\n")
    given = ["build", f"{model}:f", "--args", "rand(3)", "2.0", "-o"]
    assert main([*given, str(tmp_path / "f.o"), "--gradient", "--wrt", "x"]) == 0
    assert capsys.readouterr().out.split()[1] == str(tmp_path / "f.h")
    assert "int f_value_and_grad(ptrdiff_t n, const" in (tmp_path / "f.h").read_text()
    assert main([*given, str(tmp_path / "none/f.o")]) == 2
    assert main([*given, str(tmp_path / "f.o"), "--target", "z80"]) == 2
    assert main([*given, str(tmp_path / "f.o"), "--wrt", "z"]) == 2
    said = capsys.readouterr().err
    assert "No such file" in said
    assert "target 'z80' is not one of" in said
    assert "--wrt z: the arguments are x, k" in said
    assert main(["build", "x*sin(x)", "-o", str(tmp_path / "g.c"), "--name", "g"]) == 0
    assert "int g(double x" in (tmp_path / "g.c").read_text()
