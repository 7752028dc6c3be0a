"""Scheduling: a graph becomes a Program, its steps in Kahn order."""

from ._kahn import kahn
from ._program import Program, concrete, schedule, shape_text, step_text, type_text

__all__ = ["Program", "concrete", "kahn", "schedule", "shape_text", "step_text", "type_text"]
