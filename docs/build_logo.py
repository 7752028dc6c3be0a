"""Draw the logo: ``python docs/build_logo.py`` writes docs/images/logo.svg and logo-mark.svg.

The mark is the curve ``y = x**3 - x`` with its tangent at a point, whose direction is the
derivative there and not drawn by eye. Its colours are readable on light and on dark pages.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import symgrad as sg

IMAGES = Path(__file__).parent / "images"

CURVE, TANGENT = "#2f81f7", "#e8710a"
SIZE, AT = 64.0, -0.65


def curve(x):
    """Return the height of the curve."""
    return x**3 - 0.95 * x


def place(x: float, y: float) -> tuple[float, float]:
    """Return where a point of the plane is in the mark."""
    return SIZE * (0.5 + x / 2.9), SIZE * (0.5 - y / 2.2)


def mark() -> str:
    """Return curve, tangent and point as SVG."""
    # A cubic polynomial is one Bezier curve: its inner points follow from value and slope.
    slope = sg.grad(curve)
    begin, end = -1.3, 1.3
    third = (end - begin) / 3
    points = [
        (begin, curve(begin)),
        (begin + third, curve(begin) + third * slope(begin)),
        (end - third, curve(end) - third * slope(end)),
        (end, curve(end)),
    ]
    a, b, c, d = (f"{x:.2f} {y:.2f}" for x, y in (place(*p) for p in points))
    across = 0.7 / np.hypot(1.0, slope(AT))
    ends = [place(AT + h, curve(AT) + h * slope(AT)) for h in (-across, 1.9 * across)]
    (x1, y1), (x2, y2), (x, y) = *ends, place(AT, curve(AT))
    line = 'fill="none" stroke-linecap="round"'
    return (
        f'<path {line} stroke="{CURVE}" stroke-width="6" d="M{a}C{b} {c} {d}"/>'
        f'<path {line} stroke="{TANGENT}" stroke-width="4.5" '
        f'd="M{x1:.2f} {y1:.2f}L{x2:.2f} {y2:.2f}"/>'
        f'<circle cx="{x:.2f}" cy="{y:.2f}" r="6" fill="{TANGENT}"/>'
    )


def word() -> tuple[str, float]:
    """Return the name as an SVG path beside the mark, and where it ends."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans", weight="bold")
    path = TextPath((0, 0), "symgrad", size=40, prop=font)
    letters = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
    parts = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        pairs = np.reshape(points, (-1, 2)) * (1, -1) + (SIZE + 12, 46)
        numbers = "" if code == 79 else " ".join(f"{v:.2f}" for v in pairs.ravel())
        parts.append(letters[int(code)] + numbers)
    end = SIZE + 12 + max(path.vertices[:, 0])
    return f'<path fill="{CURVE}" d="{"".join(parts)}"/>', end


def main() -> None:
    """Write both files."""
    name, end = word()
    for file, width, inside in (("logo-mark", SIZE, ""), ("logo", end + 3, name)):
        size = f'width="{width:.0f}" height="64" viewBox="0 0 {width:.0f} 64"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        text = f"{head}<title>symgrad</title>{mark()}{inside}</svg>\n"
        (IMAGES / f"{file}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
