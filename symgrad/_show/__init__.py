"""Printing what becomes of a function, stage by stage."""

from ._stages import Stage, show, stages

__all__ = ["Stage", "show", "stages"]
