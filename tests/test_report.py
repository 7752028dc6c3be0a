"""The report: one page, complete without a network."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError


def pendulum(theta: Any, omega: Any, k: Any) -> Any:
    """Energy of a pendulum & a soft wall, where k < 3."""
    kinetic = 0.5 * omega**2
    potential = 1 - np.cos(theta)
    wall = np.log(1 + np.exp(k * (theta - 1)))
    return kinetic + potential + np.abs(k) * wall


DOMAIN = {"theta": (-2.0, 2.0), "omega": (-1.0, 1.0), "k": (-3.0, 3.0)}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "pendulum.html"
    with sg.backend("numpy"):
        return sg.report(pendulum, 0.3, 1.0, 2.0, path=file, domain=DOMAIN, points=4)


class Outline(HTMLParser):
    """Open elements, to see that they close; and the tags and addresses met."""

    VOID = frozenset(("meta", "br", "input", "img", "link", "hr"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.met.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href") and v]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.met.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_is_whole_and_needs_no_network(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.addresses == []
    assert outline.met.count("math") >= 4
    assert "{{" not in text
    # The only addresses are the names of namespaces, which nobody opens.
    found = {u for u in re.findall(r"https?://[\w./-]+", text) if "w3.org" not in u}
    assert not re.search(r"@import|url\((?!#)", text)
    assert all("github.com" in u for u in found), found


def test_every_part_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = re.findall(r"<h2>(.*?)</h2>", text)
    assert parts[:6] == ["Function", "Derivative", "Program", "Graph", "Certificate", "Cost"]
    assert "Energy of a pendulum &amp; a soft wall, where k &lt; 3." in text
    assert "d/d theta" in text
    assert "kink: Abs(k)" in text
    assert "cheap-gradient bound" in text
    line = pendulum.__code__.co_firstlineno + 3
    assert text.count(f'data-line="{line}"') >= 3  # the source's line and steps from it


def test_what_a_name_means_is_said_once(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("where</span>") == 1


@pytest.mark.slow
def test_without_a_domain_the_point_is_certified(tmp_path: Path) -> None:
    with sg.backend("numpy"):
        file = sg.report(
            lambda x, A: np.sum(np.tanh(A @ x) ** 2), np.ones(3), np.eye(3),
            path=tmp_path / "point.html",
        )  # fmt: skip
    text = file.read_text(encoding="utf-8")
    assert "kernel against exact values" in text
    assert "d/d A" in text


def test_results_that_are_arrays_have_a_page_too(tmp_path: Path) -> None:
    with sg.backend("numpy"):
        file = sg.report(lambda x: np.exp(x[1:] * x[:-1]), np.ones(3), path=tmp_path / "a.html")
    text = file.read_text(encoding="utf-8")
    assert "<h2>Cost</h2>" not in text
    assert "<h2>Program</h2>" in text


def test_programs_and_graphs_are_written_for_people(tmp_path: Path) -> None:
    with sg.backend("numpy"):
        file = sg.report(
            lambda w, X: np.sum(1.5 - np.exp(X @ w)), np.ones(3), np.ones((4, 3)),
            path=tmp_path / "a.html",
        )  # fmt: skip
    text = file.read_text(encoding="utf-8")
    assert "<span>v0 = X @ w</span>" in text
    data = re.search(r"id=&quot;data&quot;&gt;(.*?)&lt;/script", text, re.DOTALL)
    assert data is not None
    graph = json.loads(html.unescape(html.unescape(data[1])))
    # Numbers stand in the formulas alone.
    assert {v["kind"] for v in graph["vertices"]} <= {"leaf", "op", "output"}
    assert any("1.5" in v["formula"] for v in graph["vertices"])


def test_the_branch_taken_is_told(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x**2 if x > 0 else -x

    with sg.backend("numpy"):
        file = sg.report(f, 0.5, path=tmp_path / "a.html")
    text = file.read_text(encoding="utf-8")
    assert text.count("for x &gt; 0, as in this call") == 2  # the function and its derivative
    assert "<span>require v" in text


def test_a_number_that_is_none_is_told(tmp_path: Path) -> None:
    with sg.backend("numpy"):
        file = sg.report(lambda x: np.log(x), path=tmp_path / "a.html", domain=(-1.0, 1.0))
    text = file.read_text(encoding="utf-8")
    assert "<p>nan: value at " in text
    assert "<p>loses digits: " in text
    assert "<p>cost: " not in text


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"should end in \.html"):
        sg.report(np.tanh, 0.5, path=tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- in a browser


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 420, 390])
def test_in_a_browser(page: Path, browser: Any, width: int) -> None:
    browser.set_window_size(width, 1000)
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    assert browser.title == "pendulum and its derivative"
    run = browser.execute_script
    assert run("return document.documentElement.scrollWidth") <= width
    assert run("return document.querySelector('.right math').getBoundingClientRect().height") > 15
    numbers = "[...document.querySelectorAll('td.n, th.n, .cost span')]"
    assert run(f"return {numbers}.every(e => e.getBoundingClientRect().right <= {width} - 20)")
    assert run(f"return {numbers}.every(e => !e.offsetWidth || e.scrollWidth <= e.clientWidth + 1)")
    assert run("return document.querySelector('.cost div').clientWidth") > 50
    line = pendulum.__code__.co_firstlineno + 3
    chosen = f'[data-line="{line}"]'
    run(f"document.querySelector('{chosen}').dispatchEvent(new Event('mouseenter'))")
    lit = run("return [...document.querySelectorAll('.on')].map(e => e.dataset.line)")
    assert len(lit) == run(f"return document.querySelectorAll('{chosen}').length") >= 3
    assert set(lit) == {str(line)}
    run(f"document.querySelector('{chosen}').dispatchEvent(new Event('mouseleave'))")
    assert run("return document.querySelectorAll('.on').length") == 0
    step = browser.find_elements("css selector", f".pair > div:last-child {chosen}")[0]
    run("arguments[0].scrollIntoView({block: 'center'})", step)
    step.click()
    run("arguments[0].dispatchEvent(new Event('mouseleave'))", step)
    run("arguments[0].blur()", step)
    assert run("return document.querySelectorAll('.on.kept').length") == len(lit), "kept"
    step.send_keys("\ue007")  # Enter
    assert run("return document.querySelectorAll('.kept').length") == 0


@pytest.mark.slow
def test_long_formulas_are_broken_between_their_terms(tmp_path: Path, browser: Any) -> None:
    def series(x: Any) -> Any:
        return np.sin(x) * np.exp(-x) + np.cosh(x) * np.log(x) - x**3 / 7 + np.tan(x) / (1 + x**2)

    shown = sg.formula(series, 0.5)
    path = tmp_path / "formula.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{shown.html()}", encoding="utf-8")
    heights = {}
    for width in (1200, 420):
        browser.set_window_size(width, 800)
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        right = "document.querySelector('.right')"
        heights[width] = browser.execute_script(f"return {right}.clientHeight")
        assert browser.execute_script(f"return {right}.scrollWidth <= {right}.clientWidth")
    assert heights[420] > 1.5 * heights[1200]


def test_an_error_that_conditioning_explains_is_no_alarm(tmp_path: Path) -> None:
    def difference(x: Any) -> Any:
        return np.sum(np.cos(x) * 1e3) + 1e3

    file = tmp_path / "page.html"
    x = np.array([np.pi - 1e-3, np.pi / 2])
    with sg.backend("numpy"):
        found = sg.verify(difference, x).checks[0].worst
        assert found is not None
        assert 16 < found.ulp < found.condition
        sg.report(difference, x, path=file)
    assert "; rounding alone may make" in file.read_text(encoding="utf-8")


def test_without_a_path_the_file_has_the_functions_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def spring(x: Any) -> Any:
        return 0.5 * x**2

    assert sg.report(spring, 0.5) == Path("spring.html")
    assert sg.report(lambda x: x**2, 0.5) == Path("f.html")
    assert "spring" in (tmp_path / "spring.html").read_text(encoding="utf-8")
