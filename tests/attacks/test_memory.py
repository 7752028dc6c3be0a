"""Memory: functions that keep something of their arguments, in all sorts of places.

Each case is a module of its own, written out as source: a function of one array that reads and
assigns to places which outlive its calls. Plain Python judges: compiled, the function gives in
each call what it gives there, or has warned that what a loop changes is undone, or refused.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, SymgradError

HEAD = "import collections, types\nimport numpy as np\nimport symgrad as sg\n"

#: Each: what sets it up, what reads it, what assigns ``@`` to it. ``$`` is the place's own number.
PLACES: dict[str, tuple[str, str, str]] = {
    "global": ("k$ = #", "k$", "k$ = @"),
    "item": ("l$ = [#, 1.0]", "l$[0]", "l$[0] = @"),
    "end of a list": ("l$ = [#]", "l$[-1]", "l$.append(@)"),
    "deque": ("q$ = collections.deque([#], maxlen=2)", "q$[-1]", "q$.append(@)"),
    "entry": ("d$ = dict(a=#)", "d$['a']", "d$['a'] = @"),
    "new entry": ("d$ = {}", "d$.get('a', #)", "d$['a'] = @"),
    "nested": ("d$ = dict(a=[dict(b=#)])", "d$['a'][0]['b']", "d$['a'][0]['b'] = @"),
    "attribute": ("o$ = types.SimpleNamespace(a=#)", "o$.a", "o$.a = @"),
    "new attribute": ("o$ = types.SimpleNamespace()", "getattr(o$, 'a', #)", "o$.a = @"),
    "set by name": ("o$ = types.SimpleNamespace(a=#)", "o$.a", "setattr(o$, 'a', @)"),
    "slot": ("class S$:\n    __slots__ = ('a',)\ns$ = S$()\ns$.a = #", "s$.a", "s$.a = @"),
    "class": ("class C$:\n    a = #", "C$.a", "C$.a = @"),
    "object over class": ("class C$:\n    a = #\nc$ = C$()", "c$.a", "c$.a = @"),
    "function": ("def h$():\n    pass\nh$.a = #", "h$.a", "h$.a = @"),
    "module": ("m$ = types.ModuleType('m$')\nm$.a = #", "m$.a", "m$.a = @"),
    "method": (
        ("class M$:\n    def __init__(self):\n        self.a = #\n    def get(self):\n"
        "        return self.a\n    def put(self, v):\n        self.a = v\nm$ = M$()"),
        "m$.get()", "m$.put(@)",
    ),
    "cell": (
        ("def make$(a):\n    def get():\n        return a\n    def put(v):\n"
        "        nonlocal a\n        a = v\n    return get, put\nget$, put$ = make$(#)"),
        "get$()", "put$(@)",
    ),
    "default": (
        ("def h$(v=None, held=[#]):\n    if v is not None:\n        held[0] = v\n"
        "    return held[0]"),
        "h$()", "h$(@)",
    ),
    "update": ("d$ = dict(a=#)", "d$['a']", "d$.update(a=@)"),
    "array": ("a$ = np.full(3, #)", "a$", "a$[:] = @"),
}  # fmt: skip
VALUES = [
    "x", "{r} * x", "np.sin(x)", "np.sum(x)", "y", "0.5 * ? + x", "x[::-1]", "x[0]",
    "{r}", "x.shape[0]", "1.0 * np.ndim(x)", "? + 1.0",
]  # fmt: skip
#: ``?`` reads the place, ``!`` assigns a value to it.
STATEMENTS = [
    ["y = y + ?"], ["y = y * ?", "!"], ["!", "y = y + ?"], ["!"], ["!", "y = y * ?", "!"],
    ["if ? is None:", "    !", "y = y + (0.0 if ? is None else ?)"],
    ["for _ in range(2):", "    y = y + ?", "    !"],
    [
        "def step(_, y):", "    z = y + ?", "    !", "    return z",
        "y = sg.fori_loop(0, 2, step, y)",
    ],
]  # fmt: skip


def filled(text: str, rng: np.random.Generator) -> str:
    while "{r}" in text:
        text = text.replace("{r}", f"{rng.uniform(0.5, 1.5):.3f}", 1)
    return text


def source(rng: np.random.Generator) -> str:
    """Return a module with a function ``f`` of one array."""
    setups, body = [HEAD], ["y = x"]
    for k in range(rng.integers(1, 3)):
        setup, read, assign = PLACES[str(rng.choice(list(PLACES)))]
        lines = STATEMENTS[rng.integers(len(STATEMENTS))]
        first = "None" if " is None" in lines[0] else "{r}"
        if first == "None" and "np.full" in setup:
            continue
        setups.append(filled(setup.replace("#", first), rng).replace("$", str(k)))
        for line in lines:
            value = str(rng.choice(VALUES if first != "None" else VALUES[:3]))
            line = line.replace("!", assign.replace("@", value)).replace("?", read)
            line = filled(line.replace("#", first), rng).replace("$", str(k))
            body.append(line)
            if f"k{k} = " in line and f"global k{k}" not in setups[-1]:
                setups[-1] += f"\n# global k{k}"
    names = [f"k{k}" for k in range(2) if f"# global k{k}" in "\n".join(setups)]
    if names:
        said = f"global {', '.join(names)}"
        body = [said] + [x for b in body for x in ((b, f"    {said}") if b[:4] == "def " else (b,))]
    return "\n".join([*setups, "def f(x):", *("    " + b for b in body), "    return np.sum(y)"])


def module_of(text: str, name: str) -> ModuleType:
    made = sys.modules[name] = ModuleType(name)
    exec(compile(text, name, "exec"), vars(made))
    return made


@pytest.mark.attack(quick=40, whole=4_000, part=100, judge="plain Python, call by call")
def test_memory(attack: Any) -> None:
    """Functions that read what an earlier call has left, or only seem to."""
    for case in attack:
        with case, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rng, name = case.rng, f"memory_{case.number}"
            text = source(rng)
            machine = rng.integers(4) == 0
            try:
                with contextlib.nullcontext() if machine else sg.backend("numpy"):
                    case.tally(compared(text, name, rng, said))
            except Exception as error:
                raise AssertionError(f"{text}\n{error}") from error
            finally:
                for made in (name, f"{name}_plain"):
                    sys.modules.pop(made, None)


def compared(text: str, name: str, rng: np.random.Generator, said: list[Any]) -> str:
    """Compare calls with plain Python's; return how it ended."""
    plain, f = module_of(text, f"{name}_plain").f, module_of(text, name).f
    kind = sg.compile if rng.integers(2) else sg.value_and_grad
    g = kind(f)
    points = rng.uniform(0.5, 1.5, size=(5, 3))
    for k, x in enumerate(points):
        wanted = plain(x)
        try:
            found = g(x) if kind is sg.compile else g(x)[0]
        except SymgradError:
            return "refused"
        warned = [w for w in said if issubclass(w.category, CaptureWarning)]
        if any("undone" in str(w.message) for w in warned):
            assert "fori_loop" in text, "undone, and no loop changes it"
            return "undone"
        np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=f"call {k}: {kind.__name__}")
    return "equal"
