"""Pictures: what they show is true, folding keeps the order, files are what they should be."""

from __future__ import annotations

import html
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import ArgumentError, MissingExtraError, MissingProgramError

GRAPHVIZ = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")


def leaf(data: Any, name: str | None = None) -> Any:
    return sg.tensor(data, requires_grad=True, name=name)


def test_names_of_the_callers_variables() -> None:
    a = leaf(0.5)
    middle = np.sin(a)
    result = middle * a
    dot = sg.draw(result).dot
    for text in ("<B>a</B>", "<B>middle</B> = sin(a)", "<B>result</B> = middle*a"):
        assert text in dot
    assert "cos(a) = 0.8776" in dot
    assert "<B>z</B> = " in sg.draw(result, z=result).dot


def test_text_is_escaped() -> None:
    x = leaf(1.0, name='<b> & "quoted" {braces}')
    dot = sg.draw(np.exp(x)).dot
    assert "<B>&lt;b&gt; &amp; &quot;quoted&quot; {braces}</B>" in dot
    markup = sg.draw(x).html.split("<script")[0]
    assert html.escape(x.name) in markup
    assert x.name not in markup


def test_held_gradients_are_shown_where_they_differ() -> None:
    x = leaf([1.0, 2.0])
    y = (x**2).sum()
    assert ".grad" not in sg.draw(y).dot
    y.backward(retain_graph=True)
    assert ".grad" not in sg.draw(y).dot  # the same number
    y.backward(retain_graph=True)
    assert ".grad [4, 8]" in sg.draw(y).dot
    y.backward()
    freed = sg.draw(y).dot
    assert ".grad [6, 12]" in freed
    assert "retain_graph=True" in freed
    assert "gradient" not in freed


def test_drawing_changes_nothing() -> None:
    x = leaf([1.0, 2.0])
    y = (np.sin(x) * x).sum()
    sg.draw(y).dot  # noqa: B018
    assert x.grad is None
    y.backward()
    assert x.grad is not None


def test_overwritten_values() -> None:
    x = leaf([1.0, 2.0])
    y = np.exp(x)
    z = y.sum()
    y.detach().zero_()
    assert "modified by an inplace operation" in sg.draw(z).dot


def test_weights_of_the_elements() -> None:
    x = leaf([1.0, 2.0])
    y = x**2
    assert "gradient [2, 4]" in sg.draw(y).dot
    assert "gradient [2, 40]" in sg.draw(y, gradient=sg.tensor([1.0, 10.0])).dot
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        sg.draw(y, gradient=torch.ones(3))


def test_loops_have_values() -> None:
    def loop(x: Any) -> Any:
        return sg.fori_loop(0, 3, lambda k, c: c * 2.0, x)

    assert "8" in sg.draw(loop, 1.0).dot


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ArgumentError, match="not float"):
        sg.draw(1.0)
    with pytest.raises(ArgumentError, match=r"\.svg"):
        sg.draw(leaf(1.0) * 2, file="picture.jpg")
    with pytest.raises(ArgumentError, match="has"):
        sg.draw(leaf(1.0), 2.0)
    with pytest.raises(ArgumentError, match=r"not to 'x\.txt'"):
        sg.draw(leaf(1.0), "x.txt")


def test_array_ops_are_written_as_in_numpy() -> None:
    x, w = sg.tensor(np.ones((2, 3)), name="x"), leaf(np.ones((3, 4)), "w")
    dot = sg.draw(np.sum((x @ w)[:, ::-1], axis=1)).dot
    assert "x @ w" in dot
    assert "[:, ::-1]" in dot
    assert "sum(v1, axis=1)" in dot
    assert "<I>x</I>" in dot  # what the gradient of w is multiplied by


def test_lonely_leaves() -> None:
    assert "<B>x0</B>" in sg.draw(leaf(1.0)).dot
    assert "<B>2</B>" in sg.draw(sg.tensor(2.0)).dot
    assert repr(sg.draw(sg.tensor([1, 2], name="n"))) == "<drawing of n, 1 nodes>"


# ---------------------------------------------------------------- folding


def layer(x: Any, w: Any) -> Any:
    z = x * w
    z = z + w
    return np.tanh(z)


def network(layers: int) -> Any:
    x: Any = sg.tensor(0.3)
    for _ in range(layers):
        x = layer(x, leaf(0.9))
    return x * x


@pytest.mark.parametrize("layers", [1, 30, 300])
def test_folding_by_function(layers: int) -> None:
    picture = sg.draw(network(layers))
    boxes = re.findall(r"^    n\d+ \[label", picture.dot, re.MULTILINE)
    assert len(boxes) <= 60
    if layers > 20:
        assert "layer()" in picture.dot
        assert f"{3 * layers:,} ops" not in picture.dot  # not all in one


# ---------------------------------------------------------------- files


@GRAPHVIZ
@pytest.mark.parametrize("text", ["", '<b> & "quoted" \\N {braces} é'])
def test_graphviz_takes_it(text: str, tmp_path: Path) -> None:
    pytest.importorskip("graphviz")
    x = leaf([1.0, 2.0, math.nan], name=text or None)
    picture = sg.draw((np.sin(x) * 3).sum())
    assert picture.svg().startswith("<svg")
    assert picture._repr_svg_() == picture.svg()
    assert picture._repr_html_() is None
    assert picture.png().startswith(b"\x89PNG")
    for name in ("a.dot", "a.svg", "a.png", "a.pdf", "a.html"):
        picture.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    assert subprocess.run(["dot", "-Tcanon", tmp_path / "a.dot"], capture_output=True).stderr == b""


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    x = leaf(1.0)
    picture = sg.draw(x * 2)
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(MissingExtraError, match=r"symgrad\[draw\]"):
        picture.save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
    assert picture._repr_svg_() is None
    frame = picture._repr_html_()
    assert frame is not None
    assert html.unescape(frame).count("<!DOCTYPE html>") == 1
    assert "digraph" in str(picture)


def test_without_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingProgramError, match="apt install graphviz"):
        sg.draw(leaf(1.0) * 2).svg()
