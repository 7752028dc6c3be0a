"""The runtime: what knows the structures of CPython, NumPy and the C library.

Machine code comes here for the way from a Python call into a program and back (``_entry``), for
memory that is kept between calls (``_memory``), for threads (``threads``), and for the functions
of other libraries (``_libraries``). The structures that it relies on are listed and tested in
``structures``; where one is otherwise, calls go through Numba's dispatcher instead.
"""

from . import structures as structures
from ._entry import threads_symbol, write_entry
from ._libraries import (
    LOOPS,
    Function,
    Variant,
    absent,
    bind_array,
    bind_function,
    bind_symbol,
    cython_symbol,
    externals,
    has_libmvec,
    loop_symbol,
    register_bytes,
    ufunc_data,
    ufunc_symbol,
    vector_math_default,
    vector_twin,
    vector_width,
)
from ._machine import MACHINES, Machine, level_note, machine_of, processor
from ._memory import get_kept_memory, load_memory, set_kept_memory
from ._memory_code import GIVE, TAKE
from ._thread_count import get_num_threads, set_num_threads
from .interface import EXHAUSTED, NO_MEMORY, NO_PLACE, OTHER_BRANCH, OUT_OF_RANGE, Interface, Leaf
from .structures import MISS, bind_python, python_function
from .threads import load_pool
from .universal import origin_of, universal
