"""Files for public services, which cannot run here: they parse, and name what there is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import symgrad as sg

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: A source archive is without them.
pytestmark = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="no repository")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: str | Path) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
@pytest.mark.quick
def test_workflows_name_what_there_is(path: Path) -> None:
    found = read(path)
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        assert {"runs-on", "steps"} <= {*job}
        for step in job["steps"]:
            command = step.get("run", "")
            assert ("uses" in step) != bool(command)
            for extras in re.findall(r"\.\[([\w,]+)\]", command):
                assert {*extras.split(",")} <= {*PROJECT["optional-dependencies"]}
            named = re.findall(r"(?:-c|-f|bash|-n 0) (?:--all )?([\w./-]+\.\w+)", command)
            assert [file for file in named if not (ROOT / file).exists()] == []
            for session in re.findall(r"noxfile\.py -s (\w+)", command):
                assert f"def {session}(" in (ROOT / ".ci" / "noxfile.py").read_text("utf-8")


@pytest.mark.parametrize(("tag", "fits"), [(f"v{sg.__version__}", True), ("v99.0", False)])
def test_a_release_has_the_tag_of_its_version(tag: str, fits: bool) -> None:
    steps = read(".github/workflows/release.yml")["jobs"]["build"]["steps"]
    command = next(step["run"] for step in steps if step.get("name") == "the tag is the version")
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=False)
    assert (done.returncode == 0) == fits


def test_every_bridge_is_tested_with_its_library() -> None:
    rows = read(".github/workflows/tests.yml")["jobs"]["bridges"]["strategy"]["matrix"]["include"]
    libraries = {row["library"] for row in rows}
    assert libraries == {name.removeprefix("to_") for name in sg.__all__ if name.startswith("to_")}
    assert libraries <= {*PROJECT["optional-dependencies"]}
    assert all((ROOT / "tests" / f"test_bridges_{name}.py").exists() for name in libraries)


def test_versions_and_requirements_are_stated_alike() -> None:
    recipe = read(".ci/recipe.yaml")
    assert recipe["context"]["version"] == sg.__version__
    assert PROJECT["requires-python"] == ">=" + recipe["context"]["python_min"]
    assert str(read("CITATION.cff")["version"]) == sg.__version__
    wanted = {text.replace(">=", " >=") for text in PROJECT["dependencies"]}
    assert {x for x in recipe["requirements"]["run"] if "python" not in x} == wanted


def test_descriptions_agree() -> None:
    title = read("CITATION.cff")["title"]
    assert json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))["title"] == title
    assert title in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_gradbench_folder_lists_its_evals() -> None:
    folder = ROOT / "examples" / "gradbench"
    listed = (folder / "evals.txt").read_text(encoding="utf-8").split()
    assert sorted(listed) == listed
    assert all((folder / f"{name}.py").exists() for name in listed)
    page = (ROOT / "docs" / "gradbench.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == listed
