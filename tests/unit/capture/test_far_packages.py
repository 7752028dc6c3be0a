"""How far the code of installed packages is followed when it is adapted."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import symgrad as sg
from symgrad._capture import _locations as _places

#: Each function calls the next; the last one takes numbers alone.
CHAIN = "import math\n" + "\n".join(
    f"def f{k}(x):\n    return math.sin(x) if {k} == 60 else f{k + 1}(x)\n" for k in range(200)
)


@pytest.mark.parametrize("bound", ["FARTHEST", "LONGEST", None])
def test_a_package_is_adapted_up_to_a_bound(
    bound: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "lib" / "site-packages"
    place.mkdir(parents=True)
    name = f"chain_{bound}".lower()
    (place / f"{name}.py").write_text(CHAIN)
    monkeypatch.syspath_prepend(place)
    package = importlib.import_module(name)
    if bound is None:
        assert sg.grad(lambda x: package.f0(x))(0.5) == np.cos(0.5)
    else:
        monkeypatch.setattr(_places, bound, 50 if bound == "FARTHEST" else 0.0)
        monkeypatch.setattr(_places, "LOOKED", 10)
        with pytest.raises(sg.errors.UnsupportedError, match=f"{name} .*too large") as caught:
            sg.grad(lambda x: package.f0(x))(0.5)
        assert "[test_far_packages.py:" in str(caught.value)
        assert sg.grad(lambda x: package.f60(np.sin(x)) if x < 0 else x)(0.5) == 1.0
    del sys.modules[name]
