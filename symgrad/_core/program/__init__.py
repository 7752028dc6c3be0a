"""Scheduling: a graph becomes a Program, its steps in Kahn order."""

from ._guard_implications import Known
from ._kahn import kahn
from ._program import Program, load, schedule
from ._run import concrete
from ._steps import Steps, body_program
from ._text import guard_texts, shape_text
