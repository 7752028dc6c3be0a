"""The files of an exported function: source, object or shared library; header; CMake's lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .._core.runtime import Machine, machine_of
from .._export import Signature, c_source
from .._export._object import object_code
from ..errors import ArgumentError, UnsupportedError
from ._specialization import Specialization

#: What the first line of written text has.
MARK = "Made by symgrad"

HEADER = """\
/* {mark}{made}. */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{comment}
{prototype};

#ifdef __cplusplus
}}
#endif

#endif
"""

CMAKE = """\
# {mark}. In CMakeLists.txt: include({stem}.cmake), then
# target_link_libraries(PROGRAM PRIVATE {name}).
{packages}add_library({name} {kind})
target_include_directories({name} INTERFACE "${{CMAKE_CURRENT_LIST_DIR}}")
{file}
"""

#: How CMake is told of a file, and what to link a program with beside it.
_SOURCE = "target_sources({name} INTERFACE {path})\ntarget_link_libraries({name} INTERFACE {more})"
_OBJECT = "target_link_libraries({name} INTERFACE {path} {more})"
_LIBRARY = "set_target_properties({name} PROPERTIES IMPORTED_LOCATION {path})"

#: The kinds of files, by how their names end.
OBJECTS, SHARED = (".o", ".obj"), (".so", ".dylib")


def write_export(
    found: Specialization, path: Path, name: str, title: str, target: str | None
) -> list[Path]:
    """Write the files of a specialisation; return where they are, the header second."""
    if found.calls_back:
        raise UnsupportedError(f"{title} calls a Python function, which a C function cannot")
    kind, lapack, made = path.suffix, False, ""
    content: bytes | str
    if kind == ".c":
        if target is not None:
            raise ArgumentError("C source has no target: its compiler has; leave target out")
        signature = Signature(found.program, name, title)
        content = c_source(found.program, name, title)
    elif kind in OBJECTS + SHARED:
        machine = machine_of(target)
        signature = Signature(found.program, name, title, compiled=True)
        content, lapack = object_code(found.program, signature, machine)
        made = f" for {machine.triple}, {machine.cpu}" + ", with LAPACK" * lapack
        if kind in SHARED:
            content = shared_library(content, machine, lapack, path.name)
    else:
        known = ", ".join((".c", *OBJECTS, *SHARED))
        raise ArgumentError(f"{path.name}: what is written depends on how it ends: {known}")
    texts = {
        path.with_suffix(".h"): _header(signature, made),
        path.with_suffix(".cmake"): _cmake(path, name, lapack),
    }
    for file in texts:
        if file.exists() and MARK not in file.read_text(errors="replace").partition("\n")[0]:
            raise ArgumentError(f"{file} is there already, and not made by symgrad: move it away")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return [path, *texts]


def _header(signature: Signature, made: str) -> str:
    return HEADER.format(
        mark=MARK, made=made, guard=f"{signature.name.upper()}_H", comment=signature.comment(),
        prototype=signature.prototype(""),
    )  # fmt: skip


def _cmake(path: Path, name: str, lapack: bool) -> str:
    shared = path.suffix in SHARED
    lines = _SOURCE if path.suffix == ".c" else _LIBRARY if shared else _OBJECT
    file = lines.format(
        name=name, path=f'"${{CMAKE_CURRENT_LIST_DIR}}/{path.name}"',
        more="LAPACK::LAPACK " * lapack + "$<$<BOOL:${UNIX}>:m>",
    )  # fmt: skip
    return CMAKE.format(
        mark=MARK, stem=path.stem, name=name, file=file,
        kind="SHARED IMPORTED" if shared else "INTERFACE",
        packages="find_package(LAPACK REQUIRED)\n" if lapack and not shared else "",
    )  # fmt: skip


def shared_library(content: bytes, machine: Machine, lapack: bool, name: str) -> bytes:
    """Return the shared library of an object file, made by the C compiler at hand."""
    if machine.size_bits < 64:
        raise ArgumentError(
            f"{name}: a library for {machine.triple} is made by what links the whole module: "
            "export an object file (f.o), for wasm-ld, emcc or clang"
        )
    compiler = _compiler(machine)
    if compiler is None:
        raise ArgumentError(
            f"{name} is linked by a C compiler for {machine.triple}, and none is found: name one "
            "by the environment variable CC, or export an object file (f.o) and link it elsewhere"
        )
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "code.o"), Path(folder, name)
        given.write_bytes(content)
        command = [*compiler, "-shared", "-o", str(made), str(given), *["-llapack"] * lapack, "-lm"]
        if "linux" in machine.triple:
            command.append(f"-Wl,-soname,{name}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            needs = ", which calls LAPACK, and so needs its library here (or export an object file)"
            raise ArgumentError(
                f"{' '.join(compiler)} cannot link {name}{needs * lapack}: {done.stderr.strip()}"
            )
        return made.read_bytes()


def _compiler(machine: Machine) -> list[str] | None:
    if os.environ.get("CC"):
        return os.environ["CC"].split()
    others = (f"{machine.names[0]}-linux-gnu-gcc",)
    names = ("cc", "gcc", "clang") if machine.is_here else others
    return next(([name] for name in names if shutil.which(name)), None)
