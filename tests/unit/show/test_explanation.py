"""Derivations in HTML."""

from __future__ import annotations

import re

from symgrad._show._explanation import _STYLE


def test_a_derivation_sets_no_colour_of_ink() -> None:
    """A dark page's ink is light: a style that fixed one of both could not be read there."""
    assert not re.search(r"[ {;]color:", _STYLE)
    assert not re.search(r"background: #\w{3}(\w{3})?\b(?!\w)", _STYLE)
