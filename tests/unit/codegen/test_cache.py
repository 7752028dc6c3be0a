"""What lies in the cache on disk is used only where it was written to, by the user alone."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import cache as _cache
from symgrad._core.codegen import llvm as _llvm
from symgrad._core.codegen import private_files as _private
from symgrad._core.runtime import _libraries, has_libmvec
from symgrad._dispatch import _recall
from symgrad.errors import DataError

X = np.linspace(0.3, 2.0, 5)
POSIX = pytest.mark.skipif(not _private.OWNERS, reason="permissions of POSIX")
ROOT = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives away")


def steep(k: int) -> Any:
    """Return a fresh function, one of several that differ in a number."""
    return sg.grad(lambda x: np.sum(np.tan(x) * (k + 2.0)))


def slope(k: int) -> Any:
    return (k + 2.0) * (1 + np.tan(X) ** 2)


def found(function: Any) -> bool:
    """Tell whether a function called once had its code from the disk."""
    entry = function._specialization((X,), {}).entry
    return entry is not None and bool(entry.found)


def check(k: int, cached: bool) -> None:
    function = steep(k)
    np.testing.assert_allclose(function(X), slope(k), rtol=1e-14)
    assert found(function) is cached


def entries(cache: Path) -> list[Path]:
    return sorted(p for p in cache.iterdir() if (p / "code0.o").exists())


def swap(a: Path, b: Path) -> None:
    aside = a.with_name("aside")
    a.rename(aside)
    b.rename(a)
    aside.rename(b)


# ---------------------------------------------------------------- places


@pytest.mark.parametrize("what", ["entries", "notes", "descriptions"])
@pytest.mark.quick(1)
def test_what_was_written_elsewhere_is_not_used(what: str, cache_dir: Path) -> None:
    for k in range(2):
        check(k, cached=False)
    places = {
        "entries": entries(cache_dir),
        "notes": sorted((cache_dir / _recall.NOTES).iterdir()),
        "descriptions": [p / "kernel.json" for p in entries(cache_dir)],
    }[what]
    swap(*places)
    for k in range(2):
        # Without its note the kernel is found by the program.
        check(k, cached=what == "notes")
    for k in range(2):
        check(k, cached=True)


def test_numba_keeps_no_files(
    cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would execute whatever lies there, and others may be able to write to its folder."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "numba"))
    np.testing.assert_allclose(steep(0).kernel(X)(X), slope(0), rtol=1e-14)
    [home] = entries(cache_dir)
    assert {p.suffix for p in home.iterdir()} == {".o", ".ll", ".json"}
    assert not (tmp_path / "numba").exists()


def test_an_entry_that_is_removed_meanwhile(cache_dir: Path) -> None:
    function = steep(0)
    function(X)
    [home] = entries(cache_dir)
    _private.discard(home)
    np.testing.assert_allclose(function.kernel(X)(X), slope(0), rtol=1e-14)


# ---------------------------------------------------------------- owners and modes


@POSIX
def test_files_are_private_whatever_the_usual_mode_is(cache_dir: Path) -> None:
    before = os.umask(0)
    try:
        steep(0).kernel(X)(X)
    finally:
        os.umask(before)
    for place in (cache_dir, *cache_dir.rglob("*")):
        assert not stat.S_IMODE(place.stat().st_mode) & 0o077, place
    check(0, cached=True)


def of_others(place: Path) -> None:
    os.chown(place, 12345, -1)


def writable(place: Path) -> None:
    place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o020)


def linked(place: Path) -> None:
    kept = place.with_name(f".kept-{place.name}")
    place.rename(kept)
    place.symlink_to(kept)


def fifo(place: Path) -> None:
    _private.discard(place)
    os.mkfifo(place)


def folder(place: Path) -> None:
    _private.discard(place)
    place.mkdir()


def longer(place: Path) -> None:
    with place.open("ab") as file:
        file.write(b"\0")


def sparse(place: Path) -> None:
    os.truncate(place, 1 << 42)


PLACES: dict[str, Callable[[Path], Path]] = {
    "entry": lambda cache: entries(cache)[0],
    "description": lambda cache: entries(cache)[0] / "kernel.json",
    "object": lambda cache: entries(cache)[0] / "code0.o",
    "notes": lambda cache: cache / _recall.NOTES,
    "note": lambda cache: next((cache / _recall.NOTES).iterdir()),
}
DAMAGES = {
    **dict.fromkeys((writable, linked, fifo), ("entry", "description", "object", "notes", "note")),
    folder: ("description", "object"),
    longer: ("description", "object", "note"),
    sparse: ("description", "object", "note"),
}  # fmt: skip
CASES = [
    *((damage, place) for damage, places in DAMAGES.items() for place in places),
    *(pytest.param(of_others, place, marks=ROOT) for place in PLACES),
]


@POSIX
@pytest.mark.parametrize(("damage", "place"), CASES)
def test_what_is_not_private_is_made_again(
    damage: Callable[[Path], None], place: str, cache_dir: Path
) -> None:
    check(0, cached=False)
    damage(PLACES[place](cache_dir))
    # Without its note the kernel is found by the program.
    check(0, cached=place.startswith("note"))
    again = steep(0)
    again(X)
    assert found(again)
    assert type(again._specialization((X,), {})).__name__ == "Recalled"


@POSIX
def test_the_whole_path_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outer, cache = tmp_path / "outer", tmp_path / "outer" / "inner" / "cache"
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(cache))
    assert _cache.cache_folder() == cache
    assert stat.S_IMODE(outer.stat().st_mode) == 0o700
    outer.chmod(0o777)
    assert _cache.cache_folder() == cache  # nobody else comes as far: pytest's folder is closed
    monkeypatch.setattr(_private, "_PASS", stat.S_IRWXU)  # as if no folder were
    with pytest.raises(PermissionError, match=f"others can write to {outer}"):
        _cache.usable_folder()
    outer.chmod(0o1777)  # as /tmp: nobody else can put another folder in its place
    assert _cache.cache_folder() == cache
    outer.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(outer, 12345, -1)
        with pytest.raises(PermissionError, match=f"{outer} belongs to another user"):
            _cache.usable_folder()


def test_links_on_the_way_are_followed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "link" / "cache"))
    assert _cache.cache_folder() == (tmp_path / "real" / "cache").resolve()


@pytest.mark.parametrize("home", ["", "nowhere"])
def test_no_home_is_no_error(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMGRAD_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
    assert _cache.cache_folder() is None
    with pytest.raises(OSError, match="SYMGRAD_CACHE_DIR"):
        _cache.usable_folder()


# ---------------------------------------------------------------- the C library


@pytest.mark.usefixtures("vector_math")
@pytest.mark.skipif(not has_libmvec(), reason="no vector mathematics here")
def test_code_that_calls_what_is_not_here_is_made_again(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(0, cached=False)
    [home] = entries(cache_dir)
    described, _ = _cache.read_files(home)
    [name, *_] = [n for n in described["externals"] if n.startswith("_ZGV")]
    here = _libraries._is_here
    monkeypatch.setattr(_libraries, "_is_here", lambda n: n != name and here(n))
    with pytest.raises(DataError, match=name):
        _cache.read_entry(home, ())
    monkeypatch.setattr("symgrad._core.lowering._simd_variants.vector_twin", lambda *_: None)
    check(0, cached=False)
    check(0, cached=True)
    described, _ = _cache.read_files(entries(cache_dir)[0])
    assert name not in described["externals"]


def test_the_functions_that_an_object_calls() -> None:
    text = """
    declare double @outside(double)
    declare double @symgrad.own(double)
    define double @f(double %x) { %y = call double @outside(double %x)
    %z = call double @symgrad.own(double %y) ret double %z }
    """
    with pytest.raises(RuntimeError, match="outside"):
        _llvm.emit(text)
    names = _libraries.externals(b"declare <4 x double> @_ZGVdN4v_exp(<4 x double>) ; _ZGVdN4v_exp")
    assert names == {"_ZGVdN4v_exp"}


# ---------------------------------------------------------------- the source


def test_the_digest_is_of_the_code_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(own: Path, files: Any) -> str | None:
        with monkeypatch.context() as patch:
            patch.setattr(_cache, "__file__", str(own))
            patch.setattr(_cache.resources, "files", lambda _: files)
            return _cache.source_digest.__wrapped__()

    def package(name: str, code: str) -> Path:
        home = tmp_path / name / "symgrad"
        for folder in ("_core/codegen/__pycache__", "_show"):
            (home / folder).mkdir(parents=True)
        (home / "_core" / "codegen" / "cache.pyc").write_text(code)
        (home / "_core" / "codegen" / "__pycache__" / "cache.pyc").write_text(name)
        (home / "_show" / "_draw.pyc").write_text(name)
        return home

    def archived(home: Path) -> Any:
        with zipfile.ZipFile(home.with_suffix(".zip"), "w") as archive:
            for file in home.rglob("*.pyc"):
                archive.write(file, file.relative_to(home.parent))
        return zipfile.Path(home.with_suffix(".zip"), "symgrad/")

    one, same, other = package("a", "1"), package("b", "1"), package("c", "2")
    own = "_core/codegen/cache.pyc"
    assert digest(one / own, None) == digest(same / own, None) != digest(other / own, None)
    inside = [digest(h.with_suffix(".zip") / own, archived(h)) for h in (one, same, other)]
    assert inside[0] == inside[1] == digest(one / own, None) != inside[2]
    # Frozen: there is a folder's name, and nothing of the code in it, or no folder.
    assert digest(tmp_path / "nowhere" / own, tmp_path / "nowhere") is None
    (tmp_path / "empty" / "symgrad").mkdir(parents=True)
    assert digest(tmp_path / "empty" / "symgrad" / own, None) is None


def test_without_a_digest_there_is_no_cache(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "source_digest", lambda: None)
    check(0, cached=False)
    check(0, cached=False)
    assert not cache_dir.exists()
    with pytest.raises(OSError, match="without files"):
        _cache.usable_folder()
