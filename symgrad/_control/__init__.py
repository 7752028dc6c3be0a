"""Control flow that stays rolled: loops and branches as nodes that hold bodies."""

from ._as_arrays import in_arrays
from ._build import build_branch, build_count, build_scan, build_while, close, refuse_leaks
from ._custom import ByPullback, ByTangent, Slopes, build_custom
from ._examples import batch_examples, lockstep
from ._narrowing import INSTEAD
from ._one_body import with_one_body
from ._parts import Branch, Loop
from ._records import BRANCH, LOOP, RESULT, TAPE
from ._regroup import all_of
from ._reroll import rerolled
from ._straight import straight
from ._tidy import inlined, tidy
