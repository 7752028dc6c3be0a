"""The notebooks run as they are, from the first cell to the last, and show what is meant."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))

#: What the results of each notebook are shown as, beside plain text.
SHOWN = {
    "1_first_gradient": {"text/latex", "text/html"},
    "2_fit_to_data": {"text/html", "image/png"},
    "3_differential_equations": {"image/png"},
    "4_sparse_problems": {"image/png", "text/latex", "text/html"},
    "5_tensors_and_graphs": {"text/html"},
}


def shown(cells: list[dict[str, Any]]) -> set[str]:
    outputs = [o for c in cells if c["cell_type"] == "code" for o in c["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    return {kind for o in outputs for kind in o.get("data", {})} - {"text/plain"}


def without_words_of_waiting(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what is written where a first call takes long: a busy machine is no error."""

    def waits(output: dict[str, Any]) -> bool:
        lines = str(output.get("text", "")).splitlines()
        word = re.compile(r"symgrad: .* takes more than \d+ s")
        return output.get("name") == "stderr" and all(map(word.match, lines))

    return [c | {"outputs": [o for o in c.get("outputs", []) if not waits(o)]} for c in cells]


def test_every_notebook_is_expected() -> None:
    assert {path.stem for path in BOOKS} == SHOWN.keys()


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_the_kept_outputs(path: Path) -> None:
    """Readers see results without running anything."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert shown(cells) >= SHOWN[path.stem]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_plots_have_words(path: Path) -> None:
    """A text in place of the picture, and labelled axes; no times, which belong to a machine."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        assert "%time" not in source
        if any("image/png" in o.get("data", {}) for o in cell.get("outputs", [])):
            assert cell["metadata"]["mystnb"]["image"]["alt"], source
            assert "xlabel" in source, source
            assert "ylabel" in source, source


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(module)
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    paths = [str(FOLDER.parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:the first call takes long")
    book = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=500, kernel_name="python3", resources=resources).execute()
    assert shown(without_words_of_waiting(book.cells)) >= SHOWN[path.stem]
