"""Programs of forty fields, as their authors write them: NumPy and SciPy, loops, branches.

Each module is a group of fields and ends in ``PROGRAMS``. ``reused`` runs tasks of
``examples/first_try`` at two lengths. ``jax_forms`` has the same functions in JAX's idiom. No
module but ``reused`` imports symgrad.
"""

from __future__ import annotations

import importlib

from .program import Program

#: The modules with programs.
GROUPS = (
    "control", "fluids", "soils_and_waves", "optics", "quantum", "statistics", "biology",
    "finance", "robotics", "learning", "reused",
)  # fmt: skip


def programs() -> dict[str, Program]:
    """Return the programs by name, in the order of the table."""
    found: dict[str, Program] = {}
    for group in GROUPS:
        for program in importlib.import_module(f"{__name__}.{group}").PROGRAMS:
            assert program.name not in found, program.name
            found[program.name] = program
    return found


__all__ = ["GROUPS", "Program", "programs"]
