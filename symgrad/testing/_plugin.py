"""The plugin that pytest finds: a fixture, and a line in the summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from . import assert_derivatives_exact as _assert

_KEY = "symgrad: largest error in ulp"


@pytest.fixture
def assert_derivatives_exact(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Assert that a function's derivatives are exact: symgrad.testing.assert_derivatives_exact."""

    def checked(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        reports = _assert(f, *args, **options)
        worst = max(report.max_ulp for report in reports)
        request.node.user_properties.append((_KEY, worst))
        return reports

    return checked


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many functions were checked, and the largest error."""
    found = [
        (value, report.nodeid)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for key, value in report.user_properties
        if key == _KEY
    ]
    if found:
        worst, where = max(found)
        terminalreporter.write_sep("-", "derivatives")
        many = "1 function has" if len(found) == 1 else f"{len(found)} functions have"
        terminalreporter.write_line(
            f"{many} exact derivatives; the largest error is {worst:.2g} ulp, in {where}"
        )
