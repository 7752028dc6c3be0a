"""The tables of polynomials by which special functions are computed: ``tables.txt``.

A table is where it begins, the width of its intervals, and for each a row: the value in the middle,
what is left of it beyond a double, and the coefficients of the powers of the distance from the
middle. The file says them in hexadecimal, exactly; ``docs/build_fits.py`` writes it and says what
each table is.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

Table = tuple[float, float, tuple[tuple[float, ...], ...]]


def _read(text: str) -> Iterator[tuple[str, Table]]:
    for block in text.split("\n\n")[1:]:  # the first says how to read the others
        head, *rows = block.splitlines()
        name, low, width, _ = head.split()
        numbers = tuple([tuple(map(float.fromhex, row.split())) for row in rows])
        yield name, (float(low), float(width), numbers)


TABLES: dict[str, Table] = dict(
    _read(resources.files(__package__).joinpath("tables.txt").read_text("ascii"))
)
#: The tables' names, by which programs know them.
NAMES = {id(table): name for name, table in TABLES.items()}


def __getattr__(name: str) -> Table:
    """Return a table by its name: ``from .tables import KEI_MIDDLE``."""
    try:
        return TABLES[name]
    except KeyError:
        raise AttributeError(f"there is no table {name}") from None
