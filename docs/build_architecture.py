"""Draw docs/images/architecture.svg: the packages of symgrad as layers, and who imports whom.

    python docs/build_architecture.py

The layers are those that import-linter holds (pyproject.toml), the imports those of the code.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "symgrad"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

#: The top of the package: the names that users import.
TOP = "symgrad"

#: The compiler, whose parts are shown one by one.
CORE = "_core"


@dataclass(frozen=True)
class Part:
    """A package or module below ``symgrad``, and the place of its layer from the top."""

    name: str
    layer: int
    files: tuple[Path, ...]

    @property
    def lines(self) -> int:
        """Lines of Python."""
        return sum(len(p.read_text(encoding="utf-8").splitlines()) for p in self.files)


@cache
def parts() -> list[Part]:
    """Return what there is, highest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = {c["id"]: c["layers"] for c in contracts if c["type"] == "layers"}
    places = [(PACKAGE, line) for line in layers["layers"]]
    # The compiler is shown by its own layers.
    at = places.index((PACKAGE, CORE))
    places[at : at + 1] = [(PACKAGE / CORE, line) for line in layers["core"]]
    rows: list[list[tuple[str, list[Path]]]] = []
    for home, line in places:
        row = []
        for name in re.findall(r"\w+", line):
            folder, module = home / name, home / f"{name}.py"
            files = sorted(folder.rglob("*.py")) if folder.is_dir() else [module]
            if files[0].exists():
                row.append((name, files))
        rows.append(row)
    # The names for users lie below the command line.
    rows.insert(2, [(TOP, [PACKAGE / "__init__.py", PACKAGE / "__init__.pyi"])])
    return [Part(name, k, tuple(files)) for k, row in enumerate(rows) for name, files in row]


@cache
def imported(path: Path) -> list[str]:
    """Return what a file imports of symgrad, as often as it does: parts, or TOP."""
    inside, found = path.relative_to(PACKAGE).parts, []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # Of a relative import, the package that the dots lead to.
            home = inside[: len(inside) - node.level] if node.level else ()
            start = ".".join((TOP, *home)) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            head, *rest = name.split(".")
            if rest[:1] == [CORE]:
                rest = rest[1:]
                if (PACKAGE / CORE / rest[0]).exists() or rest[0].startswith("_"):
                    found.append(rest[0])
                continue
            # The version is there before any name for users.
            if head == TOP and rest != ["__version__"]:
                below = bool(rest) and any(
                    (PACKAGE / f"{rest[0]}{s}").exists() for s in ("", ".py")
                )
                found.append(rest[0] if below else TOP)
    return found


@cache
def imports() -> Counter[tuple[str, str]]:
    """Return how many imports lead from one part to another."""
    known = parts()
    names = {part.name for part in known}
    found: Counter[tuple[str, str]] = Counter()
    for part in known:
        for path in part.files:
            found.update((part.name, to) for to in imported(path) if to in names - {part.name})
    return found


# ---------------------------------------------------------------- drawing

ROW, LABEL, COUNTS, BAR, HEAD, FOOT = 20, 92, 104, 92, 92, 30

STYLE = """
.paper { fill: #ffffff; }
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.band { fill: #f3f5f7; }
.bar { fill: #9cc3ec; }
.dot { fill: #0b62c4; }
.self { fill: #d1d9e0; }
.grid { stroke: #d1d9e0; stroke-width: 0.5; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #161b22; }
  text { fill: #e6edf3; }
  .small { fill: #9198a1; }
  .band { fill: #ffffff10; }
  .bar { fill: #2f5f94; }
  .dot { fill: #6cb0ff; }
  .self { fill: #3d444d; }
  .grid { stroke: #3d444d; }
}
"""


def text(x: float, y: float, words: str, small: bool = True, end: bool = False) -> str:
    """Return words at a place, or ending there."""
    looks = ' class="small"' * small + ' text-anchor="end"' * end
    return f'<text x="{x}" y="{y}"{looks}>{escape(words)}</text>'


def box(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width:.1f}" height="{height}"/>'


def dot(x: float, y: float, count: int) -> str:
    """Return a disc whose radius grows with the logarithm of the number of imports."""
    return f'<circle class="dot" cx="{x}" cy="{y}" r="{2.2 + 1.15 * len(bin(count)[3:]):.2f}"/>'


def titled(title: str, what: str) -> str:
    """Return a part of the picture that says what it is when it is pointed at."""
    return f"<g><title>{escape(title)}</title>{what}</g>"


def drawing() -> str:
    """Return the picture as SVG."""
    rows = parts()
    numbers, start = LABEL + COUNTS, LABEL + COUNTS + BAR
    width, end = start + ROW * len(rows) + 8, HEAD + ROW * len(rows)
    at = {
        part.name: (start + ROW * (k + 0.5), HEAD + ROW * (k + 0.5)) for k, part in enumerate(rows)
    }
    most = max(part.lines for part in rows)
    out = [box("paper", 0, 0, width, end + FOOT)]
    out += [box("band", 0, at[p.name][1] - ROW / 2, width, ROW) for p in rows if p.layer % 2 == 0]
    for part in rows:
        x, y = at[part.name]
        out += [
            f'<path class="grid" d="M{x} {HEAD}V{end}"/>',
            titled(f"layer {part.layer}: {part.name}", text(6, y + 4, part.name, small=False)),
            text(numbers - 46, y + 4, f"{part.lines:,}", end=True),
            text(numbers - 10, y + 4, f"{len(part.files)}", end=True),
            box("bar", numbers, y - 5, max(1, (BAR - 14) * part.lines / most), 10),
            box("self", x - 4, y - 4, 8, 8),
            f'<g transform="translate({x + 4} {HEAD - 8}) rotate(-90)">{text(0, 0, part.name)}</g>',
        ]
    for (one, other), count in sorted(imports().items(), key=lambda item: [at[n] for n in item[0]]):
        out.append(titled(f"{one} imports {other}", dot(at[other][0], at[one][1], count)))
    total = f"{sum(p.lines for p in rows):,} lines in {sum(len(p.files) for p in rows)} files"
    out += [
        text(6, HEAD - 8, "imports \N{DOWNWARDS ARROW}"),
        text(numbers - 46, HEAD - 8, "lines", end=True),
        text(numbers - 10, HEAD - 8, "files", end=True),
        text(start - 12, HEAD - 8, "imported \N{RIGHTWARDS ARROW}", end=True),
        text(6, end + 20, f"{total}; a larger dot is more imports"),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {end + FOOT}" role="img">'
    title = "<title>The packages of symgrad as layers, and their imports</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *out, "</svg>"]) + "\n"


def structure(picture: str) -> list[str]:
    """Return what a picture says of layers and imports, without the counts."""
    return re.findall(r"<title>(layer \d+: \w+|\w+ imports \w+)</title>", picture)


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
