"""C code as a Python function."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

# GCC makes one call of a sine and a cosine of the same angle, which has no vector version: the
# pass that does so is left out.
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fdisable-tree-sincos", "-fPIC")


@functools.cache
def compiled(source: str, name: str, flags: tuple[str, ...] = FLAGS) -> Any:
    """Compile C code and return its function ``name``, which returns a double.

    With ``-ffast-math`` GCC calls the vector versions of sin, exp, ... of the C library.
    """
    compiler = shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("gcc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder, "code.c"), Path(folder, "code.so")
        code = Path(folder, "code.o")
        path.write_text(source)
        # Linked without the flags: with -ffast-math GCC would add code that makes the whole
        # process that loads the library flush subnormal numbers to zero.
        for command in (
            [compiler, *flags, "-c", str(path), "-o", str(code)],
            [compiler, "-shared", str(code), "-o", str(library), "-lmvec", "-lm"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"gcc: {done.stderr[-500:]}")
        function = ctypes.CDLL(str(library))[name]
    function.restype = ctypes.c_double
    return function


def pointer(array: Any) -> ctypes.c_void_p:
    """The address of an array's first element."""
    return ctypes.c_void_p(array.ctypes.data)
