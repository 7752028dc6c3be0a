"""Measure the built site in a browser: ``python docs/check_site.py docs/_build [PAGE ...]``.

For each page, at 1200 and 420 pixels: its height, code and tables wider than their room, and
pictures that are missing or have no words. It needs Chromium, its driver and Selenium. Counts of
words and stamps are tests: tests/test_docs_words.py, tests/test_docs_stamps.py.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Pages are shorter than this, in pixels at the larger width; those that scripts make are longer.
TALLEST = 6000
WIDTHS = (1200, 420)

MEASURE = """
const wider = e => e.scrollWidth > e.clientWidth + 1;
const all = name => [...document.querySelectorAll(`.bd-article ${name}`)];
return {
    height: document.documentElement.scrollHeight,
    page: document.documentElement.scrollWidth > window.innerWidth ? 1 : 0,
    code: all("pre").filter(wider).length,
    tables: all("table").filter(wider).length,
    pictures: all("img").filter(e => !e.naturalWidth || !e.alt).length,
};
"""


def browser() -> Any:
    """Return a headless Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"  # formulas by MathJax stay text
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", offline):
        options.add_argument(switch)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def measured(opened: Any, pages: list[Path]) -> Iterator[tuple[int, Path, dict[str, int]]]:
    """Yield width, page and counts, the larger width first."""
    for width in WIDTHS:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for page in pages:
            opened.get(page.resolve().as_uri())
            yield width, page, opened.execute_script(MEASURE)


def main() -> None:
    """Print a line for each page with something to look at, and the sums."""
    parser = argparse.ArgumentParser(description="Measure the built site in a browser.")
    parser.add_argument("site", type=Path)
    parser.add_argument("pages", nargs="*", help="addresses within the site; all by default")
    given = parser.parse_args()
    pages = [given.site / page for page in given.pages] or [
        page
        for page in sorted(given.site.rglob("*.html"))
        if not {"_modules", "_static"} & {*page.parts}
    ]
    tall = cut = code = pictures = 0
    opened = browser()
    try:
        for width, page, found in measured(opened, pages):
            high = found["height"] > TALLEST and width == WIDTHS[0]
            tall, pictures = tall + high, pictures + found["pictures"]
            cut += found["page"]
            code += (cut_code := found["code"] > 0 and width == WIDTHS[0])
            if high or cut_code or found["page"] or found["pictures"]:
                print(f"{page.relative_to(given.site)} at {width}: {found}")
    finally:
        opened.quit()
    print(
        f"{tall} pages above {TALLEST} pixels, {cut} wider than the window, {code} with code that "
        f"is cut at {WIDTHS[0]}, {pictures} pictures"
    )


if __name__ == "__main__":
    main()
