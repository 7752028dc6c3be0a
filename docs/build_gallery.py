"""Draw the pictures of the README and the gallery: ``python docs/build_gallery.py``.

Each picture is drawn from the names that its page's own code blocks leave behind, so that page
and picture are of the same computation. ``front`` is the README's, the others those of the pages
in docs/gallery.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from drawing import colour, figure, save

import symgrad as sg

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

Names = dict[str, Any]
#: What draws each picture, by its name.
DRAWN: dict[str, Callable[[Names, Path], None]] = {}


def draws(function: Callable[[Names, Path], None]) -> Callable[[Names, Path], None]:
    """Register what draws a picture under its own name."""
    DRAWN[function.__name__.replace("_", "-")] = function
    return function


def page(name: str) -> Path:
    """Return the page whose code a picture shows."""
    return DOCS.parent / "README.md" if name == "front" else DOCS / "gallery" / f"{name}.md"


def computed(path: Path) -> Names:
    """Run the blocks of a page and return their names."""
    module = ModuleType(f"page_{path.stem.replace('-', '_')}")
    sys.modules[module.__name__] = module
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        lines = "\n" * text[: found.start(1)].count("\n")
        exec(compile(lines + found[1], str(path), "exec"), vars(module))  # noqa: S102 - our own page
    return vars(module)


# ---------------------------------------------------------------- the README's


@draws
def front(names: Names, file: Path) -> None:
    """Hares and lynxes: the data, the fitted solution and a band of two standard errors."""
    years, pelts, best = names["years"], names["pelts"], names["best"]
    at = np.linspace(1900.0, 1920.0, 401)
    model = names["populations"]
    J = np.stack(sg.jacobian(model, argnums=tuple(range(1, 7)))(at, *best), axis=1)
    spread = np.sqrt(np.einsum("ij,jk,ik->i", J, names["covariance"], J)).reshape(2, -1)
    fitted = model(at, *best).reshape(2, -1)
    with figure(7.6, 2.9) as (drawn, axes):
        for k, (kind, hue) in enumerate((("hares", "blue"), ("lynxes", "orange"))):
            low, high = np.exp(fitted[k] - 2 * spread[k]), np.exp(fitted[k] + 2 * spread[k])
            axes.fill_between(at, low, high, color=colour(hue), alpha=0.18, linewidth=0)
            axes.plot(at, np.exp(fitted[k]), color=colour(hue), label=f"{kind}, fitted")
            data = pelts.reshape(2, -1)[k]
            axes.plot(years, data, "o", color=colour(hue), markersize=4, label=f"{kind}, data")
        axes.set(ylabel="pelts, thousands", xlim=(1899.5, 1920.5), ylim=(0, None))
        axes.set_xticks(range(1900, 1921, 4))
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


def main() -> None:
    """Draw what is asked for, or all."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    files = [f"{name}.svg" for name in DRAWN]
    options.add_argument("--draw", metavar="FILE", help=f"one of them: {', '.join(files)}")
    file = options.parse_args().draw
    for path in [Path(file)] if file else [DOCS / "images" / name for name in files]:
        DRAWN[path.stem](computed(page(path.stem)), path)


if __name__ == "__main__":
    main()
