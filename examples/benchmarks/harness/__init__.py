"""What the workloads share: cases, isolated workers, tables, plots, records."""

from ._c import compiled, pointer
from ._command import main
from ._generated import jacobian_in_c
from ._workload import Aim, Case, Workload, complex_step

__all__ = [
    "Aim",
    "Case",
    "Workload",
    "compiled",
    "complex_step",
    "jacobian_in_c",
    "main",
    "pointer",
]
