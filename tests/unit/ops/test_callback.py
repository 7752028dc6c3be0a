"""What stands for a user's function in a program."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.ops import callback
from symgrad.errors import ArgumentError


def test_a_program_belongs_to_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = sg.compile(lambda x: sg.pure_callback(np.sin, x, x))
    f(1.0)
    program = f.program(1.0)
    namespace: dict[str, Any] = {}
    exec(program.source(), namespace)
    assert namespace["program"](0.5) == np.sin(0.5)
    assert pickle.loads(pickle.dumps(program))(0.5) == np.sin(0.5)
    program.save(tmp_path / "sine.json")
    assert sg.load(tmp_path / "sine.json")(0.5) == np.sin(0.5)
    monkeypatch.setattr(callback, "_functions", {})  # as another process has it
    with pytest.raises(ArgumentError, match="belongs to the process that made it"):
        sg.load(tmp_path / "sine.json")(0.5)
