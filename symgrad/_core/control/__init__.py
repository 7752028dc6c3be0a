"""Control flow that stays rolled: loops and branches as nodes that hold bodies."""

from ._array_recovery import in_arrays
from ._batch_loops import batch_examples, lockstep
from ._bisection import INSTEAD
from ._body_merging import with_one_body
from ._build import build_branch, build_count, build_scan, build_while, close, refuse_leaks
from ._cleanup import inlined, tidy
from ._custom_rules import CUSTOM, ByPullback, ByTangent, Slopes, build_custom
from ._fields import Branch, Loop, project, result
from ._records import BRANCH, LOOP, RESULT, TAPE
from ._reroll import rerolled
from ._row_groups import all_of
from ._unrolling import straight, without_counted_loops
from ._values import Values, by_elements
