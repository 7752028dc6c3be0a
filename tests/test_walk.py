"""The stepping page in a real browser: the numbers on it are backward()'s."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg


def leaf(data: Any, name: str) -> Any:
    return sg.tensor(data, requires_grad=True, name=name)


def test_the_page_is_self_contained() -> None:
    x = leaf([1.0, 2.0], "</script><!--")
    page = sg.draw(np.sin(x).sum()).html
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", markup) == []
    assert "default-src 'none'" in page
    assert page.count("</script>") == 3
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["vertices"][0]["name"] == "</script><!--"


def test_the_page_has_the_users_lines() -> None:
    x = leaf(1.0, "x")
    y = np.sin(x) * x
    data = sg.draw(y).html
    assert "y = np.sin(x) * x" in data
    assert str(Path(__file__).parent) not in data  # no paths of this machine


# ---------------------------------------------------------------- in Chromium


def opened(browser: Any, picture: Any, folder: Path) -> None:
    path = folder / "walk.html"
    picture.save(path)
    browser.get(path.as_uri())


def press(browser: Any, key: str) -> None:
    browser.execute_script(
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
        key,
    )


def numbers(browser: Any) -> dict[str, Any]:
    """Return the gradients that the graph shows, by name."""
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('#graph .box')]"
        ".map(b => [b.querySelector('text').textContent.split(' = ')[0], b.dataset.gradient])"
    )
    return {name: ast.literal_eval(text) for name, text in boxes if text is not None}


def fact(browser: Any, name: str) -> Any:
    text = browser.execute_script(
        "return document.getElementById(arguments[0])?.dataset.exact", name
    )
    return None if text is None else ast.literal_eval(text)


def computation() -> tuple[Any, dict[str, Any]]:
    leaves = {"w1": leaf(1.0, "w1"), "w2": leaf(2.0, "w2"), "v": leaf([0.5, -1.0, 2.0], "v")}
    w1, w2, v = leaves.values()
    out = (np.sin(v) * w1 + w2 * v * v).sum() * w1
    return out, leaves


@pytest.mark.slow
def test_stepping_to_the_end_gives_the_gradients(browser: Any, tmp_path: Path) -> None:
    out, leaves = computation()
    opened(browser, sg.draw(out), tmp_path)
    assert numbers(browser) == {}
    total = int(browser.find_element("id", "slider").get_attribute("max"))
    said, values = set(), []
    for step in range(total):
        press(browser, "ArrowRight")
        assert browser.execute_script("return document.body.dataset.step") == str(step + 1)
        said.add(browser.find_element("id", "say").text)
        values.append(fact(browser, "value"))
    assert len(said) == total  # each step says something else
    assert out.item() in values
    assert not browser.find_element("id", "next").is_enabled()
    out.backward()
    found = numbers(browser)
    for name, tensor in leaves.items():
        assert found[name] == tensor.grad.tolist()
    assert browser.get_log("browser") == []


def test_gradients_accumulate_step_by_step(browser: Any, tmp_path: Path) -> None:
    x = leaf(3.0, "x")
    opened(browser, sg.draw(x * 2 + x * x), tmp_path)
    press(browser, "End")
    seen = []
    for _ in range(6):
        seen.append(numbers(browser).get("x"))
        press(browser, "ArrowLeft")
    # All, then without the factors of x * x, then without x * 2: before it there is nothing.
    assert [v for k, v in enumerate(seen) if k == 0 or v != seen[k - 1]] == [8.0, 6.0, None]


def test_slider_buttons_and_code(browser: Any, tmp_path: Path) -> None:
    out, _ = computation()
    opened(browser, sg.draw(out), tmp_path)
    browser.find_element("id", "last").click()
    browser.find_element("id", "first").click()
    browser.find_element("id", "next").click()
    line = browser.find_element("css selector", "#source li.now").text
    assert "np.sin(v) * w1" in line
    assert browser.find_element("css selector", "#source figcaption").text.startswith(
        "test_walk.py"
    )
    slider = browser.find_element("id", "slider")
    slider.send_keys("\ue014")  # the right arrow goes one step, not two
    assert browser.execute_script("return document.body.dataset.step") == "2"
    assert "step 3 of" in slider.get_attribute("aria-valuetext")
    play = browser.find_element("id", "play")
    play.click()
    assert play.get_attribute("aria-label") == "Pause"
    play.click()
    assert play.get_attribute("aria-label") == "Play"


@pytest.mark.slow
@pytest.mark.parametrize("size", [(360, 640), (1200, 800)])
def test_nothing_sticks_out(browser: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    x = leaf([1.0, 2.0], "a_rather_long_name_for_a_tensor_that_somebody_chose_to_use_here")
    y = x
    for _ in range(5):
        y = np.exp(y) / np.sum(np.exp(y))
    opened(browser, sg.draw(y), tmp_path)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        press(browser, "End")
        wide = browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0
        spill = browser.execute_script("""
            return [...document.querySelectorAll('#graph .box')].filter(b => {
              const frame = b.querySelector('rect').getBoundingClientRect();
              return [...b.querySelectorAll('text')].some(t => {
                const r = t.getBoundingClientRect();
                return r.width && (r.left < frame.left || r.right > frame.right);
              });
            }).length""")
        assert spill == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_folded_graph_steps_op_by_op(browser: Any, tmp_path: Path) -> None:
    x = leaf(0.5, "x")
    y = x
    for _ in range(200):
        y = np.sin(y) + x
    opened(browser, sg.draw(y), tmp_path)
    press(browser, "End")
    y.backward()
    assert numbers(browser)["x"] == x.grad.item()
    assert int(browser.find_element("id", "slider").get_attribute("max")) == 2 * 400 + 2
    press(browser, "Home")
    press(browser, "ArrowRight")
    assert fact(browser, "value") == np.sin(0.5)


def test_functions_that_are_not_differentiated(browser: Any, tmp_path: Path) -> None:
    program = sg.compile(lambda x: x * 2 + 1).program(1.0)
    opened(browser, program.draw(), tmp_path)
    press(browser, "End")
    assert numbers(browser) == {}
    assert browser.get_log("browser") == []
