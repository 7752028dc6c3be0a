"""What the code of a program and its callers agree on: names, kinds of values, statuses."""

from __future__ import annotations

from dataclasses import dataclass

#: What ``NAME.run`` returns beside 0: it ran out of memory, met an index outside of an axis, or
#: the values are not those that the program was traced for (Python took another branch).
EXHAUSTED, OUT_OF_RANGE, OTHER_BRANCH = 1, 4, 8

#: What is raised for the first two.
NO_MEMORY = "no memory for the kernel's temporaries"
NO_PLACE = "a computed index is out of bounds for its axis"


@dataclass(frozen=True)
class Leaf:
    """Element type and rank of an input or output of a program."""

    dtype: str
    ndim: int


@dataclass(frozen=True, kw_only=True)
class Interface:
    """How the functions of a program's code are called.

    ``NAME.sizes`` takes the extents of the inputs, and writes the size symbols, the results'
    shapes and the work to be done; ``NAME.run`` takes the inputs, the sizes, arrays for the
    results, memory for the numbers among them, and the number of threads.

    Attributes
    ----------
    name:
        Prefix of the functions, unique to the program.
    inputs, outputs:
        Element types and ranks, in order.
    sizes:
        Number of size symbols.
    """

    name: str
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    sizes: int
