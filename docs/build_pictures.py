"""Make the pictures of the documentation: symgrad's pages in a browser, and plots of examples.

Run ``python docs/build_pictures.py``, or with the names of some, ``report-dark.png``; it needs
Chromium, its driver, Selenium and Pillow. tests/test_docs_pictures.py compares the list here with
the pictures that the pages show, and makes them anew.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import symgrad as sg

FOLDER = Path(__file__).with_name("images")
ROOT = Path(__file__).parents[1]
#: What the pictures are of: the functions of the pages that show them.
MODEL = '''\
import numpy as np


def pendulum(theta, omega, k):
    """Energy of a pendulum and a soft wall."""
    kinetic = 0.5 * omega**2
    potential = 1 - np.cos(theta)
    wall = np.log(1 + np.exp(k * (theta - 1)))
    return kinetic + potential + np.abs(k) * wall


def loss(w, X, y):
    """Logistic loss."""
    z = X @ w
    return np.sum(np.log(1 + np.exp(z)) - y * z)
'''
DOMAIN = {"theta": (-2.0, 2.0), "omega": (-1.0, 1.0), "k": (-3.0, 3.0)}
#: The line of the model that is pointed at.
POINTED = 8

SHELL = """<!doctype html><meta charset="utf-8"><title>A derivation</title>
<meta name="color-scheme" content="light dark"><style>body { margin: 1.5rem 2rem }</style>
"""


def report(model: Any, folder: Path) -> Path:
    """Write the report of the pendulum."""
    return sg.report(
        model.pendulum, 0.3, 1.0, 2.0, path=folder / "pendulum.html", domain=DOMAIN
    )  # fmt: skip


def derivation(model: Any, folder: Path) -> Path:
    """Write the derivation of the logistic loss's gradient."""
    path = folder / "derivation.html"
    found = sg.explain(model.loss, np.ones(5), np.ones((7, 5)), np.ones(7))
    path.write_text(SHELL + found.html(), encoding="utf-8")
    return path


def walk(model: Any, folder: Path) -> Path:
    """Write the page that steps through a computation with its backward pass, at its end."""
    x1, x2 = sg.tensor(1.0), sg.tensor(2.0)
    w1, w2, w3 = (sg.tensor(v, requires_grad=True) for v in (1.0, 2.0, 3.0))
    x3 = w1 * x1
    x4 = w1 * x2
    x5 = w2 * x3 + w3 * x4
    path = folder / "walk.html"
    sg.draw(1 - x5, path, w1=w1, w2=w2, w3=w3)
    return path


@dataclass(frozen=True)
class Picture:
    """A part of a page.

    Parameters
    ----------
    page:
        Writes the page.
    first, last:
        CSS selectors of the elements at its top and at its bottom.
    scheme:
        ``"light"`` or ``"dark"`` colours.
    width, scale:
        Of the window in CSS pixels; how many pixels each has.
    pointed:
        The line of the model to point at; None: none.
    keys:
        The keys to press first.
    """

    page: Callable[[Any, Path], Path]
    first: str
    last: str
    scheme: str = "light"
    width: int = 1120
    scale: float = 1.0
    pointed: int | None = None
    keys: tuple[str, ...] = ()


PICTURES = {
    "report-light.png": Picture(
        report, "html", "section:has(> .pair)", width=1120, pointed=POINTED
    ),
    "report-graph.png": Picture(
        report, "section:has(iframe)", "section:has(iframe)"
    ),
    "report-dark.png": Picture(
        report, "section:has(table)", "section:has(.cost)", "dark"
    ),
    "walk.png": Picture(
        walk, "html", "html", width=1000, keys=("End", *["ArrowLeft"] * 3)
    ),
    "derivation.png": Picture(derivation, "html", "html", width=860, scale=1.5),
    "derivation-dark.png": Picture(
        derivation, "html", "html", "dark", width=860, scale=1.5
    ),
}  # fmt: skip


@contextmanager
def browser() -> Iterator[Any]:
    """Open Chromium without a window."""
    from selenium import webdriver

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(switch)
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()


#: Top and bottom of a part of the page, in CSS pixels.
EDGES = """
const [a, b] = arguments;
const box = s => document.querySelector(s).getBoundingClientRect();
return [box(a).top + scrollY, box(b).bottom + scrollY];
"""


def taken(opened: Any, picture: Picture, page: Path) -> bytes:
    """Return a picture of a part of a page as PNG."""
    command = opened.execute_cdp_cmd
    command(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": picture.scheme}]},
    )
    command(
        "Emulation.setDeviceMetricsOverride",
        {"width": picture.width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    opened.get(page.as_uri())
    if picture.pointed is not None:
        opened.execute_script(
            f"document.querySelector('.pair li[data-line=\"{picture.pointed}\"]')"
            ".dispatchEvent(new Event('mouseenter'))"
        )
    for key in picture.keys:
        opened.execute_script(
            f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"
        )
    time.sleep(0.5 * bool(picture.keys))  # the step fades in
    top, bottom = opened.execute_script(EDGES, picture.first, picture.last)
    margin = 0 if picture.first == "html" else 10
    clip = {
        "x": 0, "y": top - margin, "width": picture.width, "height": bottom - top + 2 * margin,
        "scale": picture.scale,
    }  # fmt: skip
    shot = command("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return base64.b64decode(shot["data"])


def small(png: bytes) -> bytes:
    """Return a PNG of at most 256 colours: a page has few."""
    from PIL import Image

    held = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(held, "PNG", optimize=True)
    return held.getvalue()


def loaded(folder: Path) -> Any:
    """Write the functions to a file, so that the pages can show it, and import them."""
    path = folder / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Pictures that scripts draw, with the script and the option that takes the file.
PLOTS = {
    "opf.png": ("examples/opf", "--plot"),
    "bundle.png": ("examples/bundle_adjustment.py", "--plot"),
    "control.png": ("examples/collocation.py", "--plot"),
    "fitting.png": ("examples/fitting.py", "--plot"),
    "ode.png": ("examples/benchmarks/ode.py", "--picture"),
    **{
        f"{name}.svg": ("docs/build_gallery.py", "--draw")
        for name in (
            "beam",
            "front",
            "gaussian-process",
            "handwriting",
            "hares",
            "lorenz",
            "nile",
            "pendulum",
            "pharmacokinetics",
            "posterior",
            "reaction-diffusion",
            "cart",
            "bicycle",
            "throw",
        )
    },
    "speed.svg": ("docs/build_plots.py", "--speed"),
    "digits.svg": ("docs/build_plots.py", "--digits"),
}


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all."""
    names = names or [*PLOTS, *PICTURES]
    for name in filter(PLOTS.__contains__, names):
        script, option = PLOTS[name]
        command = [sys.executable, str(ROOT / script), option, str(FOLDER / name)]
        subprocess.run(command, check=True)
    pages = [name for name in names if name not in PLOTS]
    if not pages:
        return
    with tempfile.TemporaryDirectory() as home, browser() as opened:
        folder = Path(home)
        model = loaded(folder)
        for name in pages:
            picture = PICTURES[name]
            page = picture.page(model, folder)
            (FOLDER / name).write_bytes(small(taken(opened, picture, page)))
            print(f"wrote {FOLDER / name}")


if __name__ == "__main__":
    main(sys.argv[1:])
