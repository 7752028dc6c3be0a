"""symgrad as a tool of GradBench (https://github.com/gradbench/gradbench): all twelve problems.

    gradbench run --eval "gradbench eval lstm" --tool "python examples/gradbench"

Messages come on standard input and are answered on standard output; see ``protocol.py``.
"""

from __future__ import annotations

import os
import sys

# As GradBench's other tools: one thread, unless the environment says otherwise. BLAS reads it
# when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from protocol import serve


def main() -> None:
    """Serve; nothing but answers goes to standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
