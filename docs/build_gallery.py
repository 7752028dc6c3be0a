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
    """The boys ill in bed, the fitted epidemic and a band of two standard errors."""
    at = np.linspace(0.0, 13.0, 200)
    model, best = names["epidemic"], names["best"]
    fitted = model(at, *best)
    J = np.stack(sg.jacobian(model, argnums=(1, 2))(at, *best), axis=1)
    spread = np.sqrt(np.einsum("ij,jk,ik->i", J, names["covariance"], J))
    with figure(5.6, 3.9) as (drawn, axes):
        band = (fitted - 2 * spread, fitted + 2 * spread)
        axes.fill_between(at, *band, color=colour("blue"), alpha=0.18, lw=0)
        axes.plot(at, fitted, label="fitted, with two standard errors")
        axes.plot(names["days"], names["ill"], "o", color=colour("orange"), label="boys ill in bed")
        axes.set(xlabel="day", ylabel="boys", xlim=(-0.3, 13.3), ylim=(0, None))
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


# ---------------------------------------------------------------- the gallery's


@draws
def hares(names: Names, file: Path) -> None:
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


@draws
def pharmacokinetics(names: Names, file: Path) -> None:
    """The concentration, and how much a percent of each parameter changes it."""
    hours = np.concatenate([names["hours"] + 8.0 * k for k in range(4)])
    with figure(7.6, 3.0, ncols=2) as (drawn, (left, right)):
        left.plot(hours, names["level"])
        left.set(xlabel="hours", ylabel="concentration, mg/l", ylim=(0, None))
        kinds = ("absorption", "elimination", "volume")
        for kind, slope, value in zip(
            kinds, names["sensitivity"], names["parameters"], strict=True
        ):
            right.plot(hours, slope * value / 100, label=kind)
        right.set(xlabel="hours", ylabel="change for 1 %, mg/l")
        right.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def lorenz(names: Names, file: Path) -> None:
    """The attractor from the side, and the norm of the Jacobian over time."""
    with figure(7.6, 3.0, ncols=2) as (drawn, (left, right)):
        left.plot(names["path"][0], names["path"][2], linewidth=0.6)
        left.set(xlabel="x", ylabel="z")
        right.semilogy(names["times"], names["growth"], linewidth=1)
        right.semilogy(names["times"], np.exp(names["rate"] * names["times"]), "--")
        right.set(xlabel="time", ylabel="norm of the Jacobian")
        save(drawn, file)


@draws
def reaction_diffusion(names: Names, file: Path) -> None:
    """Density at times two apart."""
    with figure(7.6, 2.8) as (drawn, axes):
        for k in range(0, 61, 10):
            axes.plot(names["x"], names["u"][:, k], color=colour("blue"), alpha=0.3 + k / 86)
            label = f"t = {names['times'][k]:.0f}"
            axes.annotate(label, (names["x"][np.argmin(np.abs(names["u"][:, k] - 0.5))], 0.52),
                          fontsize=8)  # fmt: skip
        axes.set(xlabel="place", ylabel="density", ylim=(0, 1.05))
        save(drawn, file)


@draws
def gaussian_process(names: Names, file: Path) -> None:
    """The data, the mean and two standard deviations."""
    at, mean, wide = names["at"], names["mean"], 2.0 * np.sqrt(names["variance"])
    with figure(7.6, 2.8) as (drawn, axes):
        axes.fill_between(at, mean - wide, mean + wide, color=colour("blue"), alpha=0.18, lw=0)
        axes.plot(at, mean, label="mean and two standard deviations")
        axes.plot(names["x"], names["y"], "o", color=colour("orange"), markersize=4, label="data")
        axes.set(xlabel="x", ylabel="y")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def nile(names: Names, file: Path) -> None:
    """The flow of each year, and the level that the filter gives."""
    years = np.arange(1871, 1971)
    _, levels = names["filtered"](names["found"].x)
    with figure(7.6, 2.8) as (drawn, axes):
        axes.plot(years, names["flow"], "o", color=colour("grey"), markersize=3, label="flow")
        axes.plot(years[1:], levels, color=colour("blue"), label="filtered level")
        axes.set(xlabel="year", ylabel="flow, $10^8$ m$^3$")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def beam(names: Names, file: Path) -> None:
    """The profile of the segments, and the square root that solves the continuous problem."""
    edges = np.linspace(0.0, 1.0, names["n"] + 1)
    height = names["best"].x
    place = np.linspace(0.0, 1.0, 200)
    with figure(7.6, 2.4) as (drawn, axes):
        fill = {"step": "post", "color": colour("blue"), "alpha": 0.3, "linewidth": 0}
        padded = np.append(height, height[-1])
        axes.fill_between(edges, -padded / 2, padded / 2, label="heights found", **fill)
        for sign in (-1, 1):
            label = "solution by hand" if sign > 0 else None
            axes.plot(place, sign * 0.75 * np.sqrt(1 - place), color=colour("orange"), label=label)
        axes.annotate("load", (1.0, -0.75), (1.0, 0.55), ha="center", fontsize=9,
                      arrowprops={"arrowstyle": "->", "color": colour("ink")})  # fmt: skip
        axes.set(xlabel="place along the beam", ylabel="height", xlim=(0, 1.05))
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def pendulum(names: Names, file: Path) -> None:
    """The path of the lower mass, and both angles."""
    p, q = names["sol"].y[:2]
    with figure(7.6, 3.2, ncols=2) as (drawn, (left, right)):
        left.plot(np.sin(p) + np.sin(q), -np.cos(p) - np.cos(q), linewidth=0.8)
        left.set(xlabel="x", ylabel="y", aspect="equal", xlim=(-2.1, 2.1), ylim=(-2.1, 2.1))
        right.plot(names["times"], p, label="upper")
        right.plot(names["times"], q, label="lower")
        right.set(xlabel="time, s", ylabel="angle, rad")
        right.legend(fontsize=8)
        save(drawn, file)


@draws
def bicycle(names: Names, file: Path) -> None:
    """Real and imaginary parts of the modes over the speed, and where all are stable."""
    speeds = np.linspace(0.0, 10.0, 101)
    found = np.array([names["modes"](speed) for speed in speeds])
    moving = np.abs(found.imag) > 1e-6
    with figure(7.6, 3.2) as (drawn, axes):
        axes.axvspan(names["weave"], names["capsize"], color=colour("green"), alpha=0.15, lw=0)
        axes.axhline(0.0, color="0.5", linewidth=0.6)
        for part, mask, hue, label in (
            (found.real, ~moving, "blue", "real eigenvalues"),
            (found.real, moving, "orange", "weave, real part"),
            (np.abs(found.imag), moving, "purple", "weave, imaginary part"),
        ):
            at = np.broadcast_to(speeds[:, None], part.shape)[mask]
            axes.plot(at, part[mask], ".", color=colour(hue), markersize=2.5, label=label)
        axes.set(xlabel="speed, m/s", ylabel="1/s", xlim=(0, 10), ylim=(-10, 10))
        axes.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def cart(names: Names, file: Path) -> None:
    """The pendulums every tenth of a second, and what a tenth of a kilogram changes."""
    times, y, n = names["times"], names["sol"].y, names["n"]
    with figure(7.6, 3.0, ncols=2) as (drawn, (left, right)):
        for k in range(0, 51, 5):
            x = y[0, k] + np.cumsum([0.0, *(0.5 * np.sin(y[1 : n + 1, k]))])
            z = np.cumsum([0.0, *(-0.5 * np.cos(y[1 : n + 1, k]))])
            left.plot(x, z, "o-", color=colour("blue"), alpha=0.2 + k / 64, markersize=3, lw=1)
        left.set(xlabel="x, m", ylabel="y, m", aspect="equal")
        right.plot(times, y[0], label="place of the cart, m")
        change = 0.1 * names["sensitivity"][:, 0]
        right.plot(times, y[0] + change, "--", label="of a cart that is 0.1 kg heavier")
        right.set(xlabel="time, s")
        right.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(drawn, file)


@draws
def handwriting(names: Names, file: Path) -> None:
    """An image of each digit; below, in blue for it and in orange against it, each pixel."""
    from matplotlib.patches import Rectangle

    evidence = names["evidence"] / np.abs(names["evidence"]).max(axis=1, keepdims=True)
    with figure(7.6, 1.9, nrows=2, ncols=10) as (drawn, axes):
        for digit, place in enumerate(names["shown"]):
            pixels = ((names["images"][place], "ink", "ink"), (evidence[digit], "blue", "orange"))
            for cell, (values, more, less) in zip(axes[:, digit], pixels, strict=True):
                for k in np.flatnonzero(np.abs(values) > 0.04):
                    corner, hue = (k % 8, k // 8), colour(more if values[k] > 0 else less)
                    shade = {"facecolor": hue, "alpha": abs(values[k]), "linewidth": 0}
                    cell.add_patch(Rectangle(corner, 1, 1, **shade))
                cell.set(xlim=(0, 8), ylim=(8, 0), aspect="equal", xticks=[], yticks=[])
                cell.spines[:].set_visible(True)
            axes[0, digit].set_title(f"{digit}", pad=3)
        axes[0, 0].set_ylabel("image")
        axes[1, 0].set_ylabel("gradient")
        save(drawn, file)


@draws
def throw(names: Names, file: Path) -> None:
    """The paths for some angles, and the best one."""
    with figure(7.6, 2.4) as (drawn, axes):
        best = float(names["best"].x[0])
        for angle in (*np.radians([20.0, 30.0, 50.0, 60.0]), best):
            sol = names["flight"](angle, 0.05, np.linspace(0.0, 10.0, 1001))
            kept = sol.y[1] >= 0.0
            hue = "orange" if angle == best else "grey"
            label = f"{np.degrees(angle):.0f} degrees" if angle == best else None
            axes.plot(sol.y[0][kept], sol.y[1][kept], color=colour(hue), label=label)
        axes.set(xlabel="distance, m", ylabel="height, m", ylim=(0, None), aspect="equal")
        axes.legend()
        save(drawn, file)


@draws
def posterior(names: Names, file: Path) -> None:
    """Every tenth draw, and the data with the curves of some draws."""
    draws_, times = names["draws"][::10], np.linspace(0.0, 5.0, 100)
    with figure(7.6, 3.0, ncols=2) as (drawn, (left, right)):
        left.scatter(draws_[:, 0], draws_[:, 1], s=2, color=colour("blue"), alpha=0.4, linewidths=0)
        left.set(xlabel="amplitude", ylabel="rate")
        left.collections[0].set_rasterized(True)
        for a, r in draws_[::50]:
            right.plot(times, a * np.exp(-r * times), color=colour("blue"), alpha=0.15, lw=1)
        right.plot(names["times"], names["signal"], "o", color=colour("orange"), markersize=5)
        right.set(xlabel="time", ylabel="signal")
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
