"""Random programs called from C: pointers, objects and C source beside calls from Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import SymgradError

from .test_differential_programs import SIZES, Writer, arguments, function

#: Elements before and after each result that must stay as they are.
MARGIN = 8
CANARY = -77

#: Each so many cases the same function is compiled as an object and as C source, too.
FILES = 10


def called(made: Any, program: Any, args: list[Any], wanted: list[Any]) -> tuple[int, list[Any]]:
    """Call a C function; return its status and its results, between canaries that are there."""
    given: list[Any] = [
        args[k].shape[axis] for k, axis in program.sizes.values() if axis is not None
    ]
    keep = []
    for node, value in zip(program.inputs, args, strict=True):
        keep.append(np.ascontiguousarray(value, node.dtype))
        given.append(keep[-1].ctypes.data_as(ctypes.c_void_p) if node.shape else value)
    made.argtypes = [
        *[ctypes.c_ssize_t] * (len(given) - len(args)),
        *[ctypes.c_void_p if x.shape else ctypes.c_double if x.dtype.kind == "f" else
          ctypes.c_bool for x in program.inputs],
        *[ctypes.c_void_p] * len(wanted),
    ]  # fmt: skip
    places = []
    for node, value in zip(program.outputs, wanted, strict=True):
        places.append(np.full(np.size(value) + 2 * MARGIN, CANARY, node.dtype))
        first = places[-1].ctypes.data + MARGIN * node.dtype.itemsize
        given.append(ctypes.c_void_p(first))
    status = made(*given)
    for place in places:
        edges = np.concatenate([place[:MARGIN], place[-MARGIN:]])
        np.testing.assert_array_equal(edges, np.array(CANARY).astype(place.dtype))
    return status, [place[MARGIN:-MARGIN] for place in places]


def flat(value: Any) -> list[Any]:
    return [x for part in value for x in flat(part)] if isinstance(value, tuple) else [value]


def compare(made: Any, program: Any, args: list[Any], wanted: list[Any], said: str) -> str:
    status, found = called(made, program, args, wanted)
    if status:
        assert status in (2, 3, 4), (said, status)
        return f"refused: {status}"
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, np.ravel(want), 1e-11, 1e-11, err_msg=said)
    return "equal"


@pytest.mark.attack(quick=2, whole=2000, judge="calls from Python; canaries around results")
def test_c_functions(attack: Any, tmp_path: Path) -> None:
    """Random programs and their gradients by pointer, object and C source; sizes from 0."""
    for case in attack:
        with case:
            written = Writer(np.random.default_rng([20, case.number]))
            lines = function(written.lines, written.results)
            example = [np.array(x) if np.ndim(x) else x for x in written.args[:5]]
            truth = bool(case.rng.integers(2))
            g: Any = sg.compile(lambda *v, f=lines, c=truth: f(snp, *v, c))
            if case.number % 2:
                g = sg.value_and_grad(
                    lambda *v, f=lines, c=truth: sum(
                        snp.sum(snp.cos(x) * 0.7) for x in f(snp, *v, c)
                    ),
                    argnums=(0, 1, 2, 3),
                )
            try:
                program = g.program(*example)
                made = {"pointer": g.cfunc(*example).ctypes}
            except SymgradError:
                case.tally("refused")
                continue
            if case.number % FILES == 0 and shutil.which("cc"):
                folder = tmp_path / str(case.number)
                folder.mkdir()
                for kind, target in (("so", None), ("v2.so", "x86-64-v2"), ("c", None)):
                    try:
                        path = folder / f"f{len(made)}.{kind}"
                        g.export(path, *example, name="f", target=target)
                    except SymgradError:
                        continue
                    if kind == "c":
                        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", f"{path}.so", path,
                                        "-lm"], check=True)  # fmt: skip
                        path = Path(f"{path}.so")
                    made[kind] = ctypes.CDLL(str(path)).f
            outcomes = set()
            for n, m in SIZES:
                args = arguments(case.rng, n, m, 0)[:5]
                try:
                    wanted = flat(g(*args))
                except (SymgradError, ValueError, IndexError, TypeError):
                    continue  # what C would do with such sizes is a status, or another shape
                for kind, one in made.items():
                    if kind == "c" and min(n, m) < 2:
                        continue  # C source says of itself for which sizes it is
                    said = f"{case.number} {kind} {n, m} {written.lines} {written.results}"
                    outcomes.add(compare(one, program, args, wanted, said))
            if "equal" not in outcomes:
                case.tally("refused")
