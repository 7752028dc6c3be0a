"""What a process may have to do without: a home, a compiler, a folder, a stream, disk space."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symgrad as sg

PROGRAM = """
import numpy as np
import symgrad as sg

def f(x, k):
    return np.sum(np.sin(x) * x**2) * k

def check(got):
    np.testing.assert_allclose(got, 2 * (np.cos(x) * x**2 + 2 * x * np.sin(x)))

x, out = np.array([0.5, 1.0]), np.empty(2)
gradient = sg.grad(f)
check(gradient(x, 2.0))
check(gradient.kernel(x, 2.0)(x, 2.0))
check(gradient.kernel_into(x, 2.0)(x, 2.0, out))
check(out)
value, slopes = sg.value_and_grad(f, (0, 1)).kernel(x, np.float64(2.0))(x, np.float64(2.0))
check(slopes[0])
t = sg.tensor([0.5, 1.0], requires_grad=True)
(t * t).sum().backward()
print(sg.derivative(f, x, 2.0))
"""

#: What is printed.
DERIVATIVE = "k*(2*sin(x[i]) + cos(x[i])*x[i])*x[i]"

WITHOUT: dict[str, dict[str, str]] = {
    "docstrings, assertions, a home, temporary files, other characters than ASCII": {
        "PYTHONOPTIMIZE": "2", "HOME": "", "TMPDIR": "/nonexistent", "LANG": "C", "LC_ALL": "C",
        "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
    },
    "Numba's compiler": {"NUMBA_DISABLE_JIT": "1"},
}  # fmt: skip


@pytest.mark.parametrize("what", WITHOUT)
@pytest.mark.slow
def test_a_process_without(what: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, file], env={**os.environ, **WITHOUT[what]}, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.returncode) == (DERIVATIVE, 0), done.stderr[-2000:]


@pytest.mark.slow
def test_a_process_without_its_folder_and_files(tmp_path: Path) -> None:
    """Isolated, its code from standard input, in a folder that is gone, without a cache."""
    package = str(Path(sg.__file__).parents[1])
    program = "\n".join(line for line in PROGRAM.splitlines() if ".kernel(" not in line)
    program = program.replace("check(slopes[0])\n", "") + (
        "\ntry: gradient.kernel(x, 2.0)(x, 2.0)\n"
        "except FileNotFoundError as error: assert 'os.chdir to one' in str(error), error\n"
        "else: raise AssertionError('compiled')\n"
    )
    text = f"import sys, os; sys.path.insert(0, {package!r}); os.rmdir(os.getcwd())\n{program}"
    done = subprocess.run(
        [sys.executable, "-I", "-"], env={**os.environ, "SYMGRAD_CACHE_DIR": ""}, cwd=tmp_path,
        input=text, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout.strip(), done.returncode) == (DERIVATIVE, 0), done.stderr[-2000:]


def test_kernels_without_numbas_compiler_say_what_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    x = np.array([3.0, 4.0])
    kernel = sg.grad(lambda x, y: np.sum(x * y)).kernel(x, x)
    np.testing.assert_array_equal(kernel(np.ones(6)[::2], 2 * np.ones(3)), [2, 2, 2])
    with pytest.raises(ValueError, match="do not fit this kernel"):
        kernel(x, np.ones(3))
    with pytest.raises(TypeError, match="made for 1-d arrays of float64"):
        kernel(x, np.ones(2, np.float32))


@pytest.mark.slow
def test_packages_beside_the_users_code(tmp_path: Path) -> None:
    """``pip install --target`` puts packages anywhere: they are no code of the user's there."""
    for name in ("numpy", "scipy", "sympy", "mpmath", "numba", "llvmlite"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        (place,) = spec.submodule_search_locations or ()
        (tmp_path / name).symlink_to(place)
    program = """
import warnings, numpy as np, symgrad as sg
from scipy import stats
warnings.simplefilter("error")
print(np.__file__)
print(sg.grad(lambda x: np.sum(x**2) + stats.norm.logpdf(x[0]))(np.array([2.0, 1.0])))
"""
    paths = os.pathsep.join((str(tmp_path), str(Path(sg.__file__).parents[1])))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[:2] == [str(tmp_path / "numpy" / "__init__.py"), "[2. 2.]"], done


def test_a_tree_that_is_not_installed_can_certify() -> None:
    """What says its version is the package itself: one in a folder or an archive has no other."""
    program = """
import importlib.metadata as metadata, numpy as np
known = metadata.version
def version(name):
    if name == "symgrad":
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
import symgrad as sg
certificate = sg.verify(lambda x: x + 1.0, 2.0, domain=(1.0, 3.0), points=1)
assert certificate.versions["symgrad"] == sg.__version__
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
