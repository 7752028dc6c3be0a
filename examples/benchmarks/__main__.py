"""Time symgrad beside its peers: ``python examples/benchmarks``."""

import sys

from harness import main

if __name__ == "__main__":
    sys.exit(main())
