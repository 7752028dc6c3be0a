"""Tasks from science and engineering, compiled as their authors wrote them.

``python examples/first_try [NAME ...]`` runs all, or those whose names contain one of these.
"""

import argparse
import os
import sys

os.environ.setdefault("SYMGRAD_CACHE_DIR", "")  # nothing from earlier runs

from task import attempt, modules, tasks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python examples/first_try", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of tasks' names")
    chosen = parser.parse_args().names
    total = passed = 0
    print(f"{'task':34} lines   plain/s   compiled/s   error   ")
    for module in modules():
        try:
            found = tasks(module)
        except ModuleNotFoundError as missing:
            print(f"{module}: needs {missing.name}")
            continue
        for task in found:
            full = f"{module}.{task}"
            if chosen and not any(part in full for part in chosen):
                continue
            result = attempt(task)
            total, passed = total + 1, passed + (not result.failure)
            start = f"{full:36} {task.lines():3}"
            if result.failure:
                print(f"{start}   {result.failure}", flush=True)
            else:
                rates = f"{result.plain:9.0f} {result.compiled:12.0f}"
                print(f"{start} {rates} {result.slopes:7.0e}   pass", flush=True)
    print(f"{passed} of {total} pass")
    return passed < total


if __name__ == "__main__":
    sys.exit(main())
