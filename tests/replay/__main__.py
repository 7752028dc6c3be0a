"""``python -m tests.replay record FILE [NAMES]`` and ``compare FILE [NAMES]``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

# Read when NumPy and Numba are imported. Nothing is taken from a cache, or noted in one.
os.environ |= {"SYMGRAD_CACHE_DIR": "", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

from .corpus import corpus
from .record import difference, read, recorded, write


def main(command: str, file: str, *names: str) -> int:
    """Record the corpus, or compare it with what was recorded; return how many entries differ."""
    before = read(Path(file)) if command == "compare" else {}
    start, found, differ = time.perf_counter(), {}, 0
    for name, texts in recorded(corpus(*names)):
        found[name] = texts
        if command == "compare":
            lines = difference(name, before.get(name), texts)
            differ += bool(lines)
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)
    if command == "record":
        write(Path(file), found)
    gone = [] if names else [name for name in before if name not in found]
    differ += len(gone)
    print(*(f"{name}: is gone" for name in gone), sep="\n", end="\n" if gone else "")
    print(f"{len(found)} entries, {differ} differ, {time.perf_counter() - start:.0f} s")
    return min(differ, 100)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
