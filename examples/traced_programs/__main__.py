"""Which programs of others trace as they are: ``python examples/traced_programs --scipy PATH``."""

import sys

from programs import main

if __name__ == "__main__":
    sys.exit(main())
