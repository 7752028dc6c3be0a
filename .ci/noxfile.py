"""Sessions that anyone can run: ``nox -f .ci/noxfile.py -s tests-3.12`` (``-l`` lists them)."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import nox

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from build_versions import LACKS, ROWS, SMOKE  # noqa: E402

nox.options.sessions = ["tests-3.11", "lint", "docs"]
os.chdir(ROOT)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the quick tests, or what is given, with the newest dependencies."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the quick tests with the lowest versions of the dependencies."""
    session.install("-e", ".[test]", "-c", ".ci/lowest.txt")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
@nox.parametrize("processor", ["avx2", "sse", "generic"])
def processor(session: nox.Session, processor: str) -> None:
    """Run SMOKE, or what is given, with code for a processor that has less than this one."""
    session.install("-e", ".[test]")
    chosen = session.posargs or SMOKE
    session.run("python", "-m", "pytest", *chosen, env=ROWS[processor].environment)


@nox.session
@nox.parametrize("lack", LACKS.split(","))
def pretend(session: nox.Session, lack: str) -> None:
    """Run SMOKE, or what is given, where something is lacking (symgrad/_core/base/platform.py)."""
    session.install("-e", ".[test]")
    chosen = session.posargs or SMOKE
    session.run("python", "-m", "pytest", *chosen, env={"SYMGRAD_PRETEND": lack})


@nox.session
def package(session: nox.Session) -> None:
    """Build wheel and source archive; try the one by itself, and run the other's quick tests."""
    session.install("build", "twine")
    built = Path(session.create_tmp()) / "dist"
    shutil.rmtree(built, ignore_errors=True)
    session.run("python", "-m", "build", "-o", str(built), str(ROOT))
    session.run("twine", "check", "--strict", *map(str, sorted(built.iterdir())))
    (wheel,) = built.glob("*.whl")
    expected = re.compile(r"symgrad(-[\w.]+dist-info)?/")
    stray = [name for name in ZipFile(wheel).namelist() if not expected.match(name)]
    if stray:
        session.error(f"the wheel holds {stray}")
    session.install("--force-reinstall", str(wheel))
    session.chdir(built)  # not the checkout's symgrad
    session.run("pip", "check")
    session.run("python", "-c", "import symgrad as sg; print(sg.grad(lambda x: x**2)(3.0))")
    (archive,) = built.glob("*.tar.gz")
    unpacked = built / archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as members:
        members.extractall(built, filter="data")
    session.chdir(unpacked)
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Lint, format, types, layers, spelling."""
    session.install("-e", ".[lint]")
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports"]):
        session.run(*command)
    pages = sorted({*ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/the-core-*.md")})
    # Code of pages is narrower than that of files: a page has less room.
    session.run("ruff", "format", "--check", "--config", "line-length=76", *map(str, pages))
    session.run("codespell")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, and look for dead links."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "docs", "docs/_build")
    if "links" in session.posargs:
        session.run("sphinx-build", "-b", "linkcheck", "docs", "docs/_build/links")


if __name__ == "__main__":
    sys.exit("run this by nox: pip install nox, nox -f .ci/noxfile.py -l")
