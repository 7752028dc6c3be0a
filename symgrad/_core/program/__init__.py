"""Scheduling: a graph becomes a Program, its steps in Kahn order."""

from ._guard_implications import Known
from ._json import to_json
from ._kahn import kahn
from ._program import Program, load, schedule
from ._run import computed, concrete
from ._steps import Steps, body_program
from ._text import call_text, guard_texts, shape_text, type_text
