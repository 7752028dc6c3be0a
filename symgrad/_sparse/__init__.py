"""Sparse derivatives: a pass that carries the Jacobian of each node as lanes.

The Jacobian of a node by an input is a sum of :class:`Block`: rows, columns and values as
functions of the same axes, the *lanes*. An input by itself is one block, of ones with equal rows
and columns. Each kind of op has a rule for what becomes of a block.

Blocks are arrays of the graph, so they are as many for a thousand unknowns as for a million, and
the index arrays of gathers are data. Along lanes no graph is coloured, and none is written out by
elements. Where lanes end, at loops that carry arrays and at factorisations, the places are still
known: a :class:`Structure`. There values come from compressed passes, by colours (``_colours``).
"""

from ._block import Block
from ._dense import added_up, examples_of, memory
from ._dependence import dependence
from ._elements import places_of_elements
from ._index import Index, flat
from ._structure import Structure, structure_of
from ._walk import Found, blocks_of, places_throughout, selected
