"""Words of memory: random changes of what expressions read, after which words may say no change.

Each case is a namespace with objects of all kinds and expressions that read them. Changes are made
at random. As long as the words are as they were, each expression gives the object that it gave,
and the places of data hold what the expressions give; Python is the judge.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from symgrad._capture._dict_words import UnwatchedError
from symgrad._capture._layout_checks import can_watch
from symgrad._capture._watch import Watch
from symgrad._core.codegen.cache import loaded

SETUP = """
import types, functools
import numpy as np
class A:
    shared = 1.5
    def __init__(self):
        self.a, self.b = 2.5, [1.5, 2.5]
    def method(self):
        return self.a
class B(A):
    __slots__ = ('slot', 'empty')
    def __init__(self):
        super().__init__()
        self.slot = 3.5
    @staticmethod
    def apart():
        return 1
    @classmethod
    def whole(cls):
        return 2
class S:
    __slots__ = ('x', 'y')
def helper(x, k=1.5, *, w=2.5):
    return k
def outer(k):
    return lambda: k
closed = outer(4.5)
k, n, name = 1.5, 1000, 'sine'
a, b, s = A(), B(), S()
s.x = 5.5
c = types.SimpleNamespace(p=1.25, q=types.SimpleNamespace(r=2.25))
d = {'u': 1.5, 'v': [2.5, {'w': 3.5}]}
e = {(0, 1): 1.5, 2: 2.5, 'u': 3.5}
l = [1.5, [2.5, 3.5], (4.5, [5.5])]
m = types.ModuleType('m')
m.z = 1.5
i = np.array([2, 0, 1])
p = functools.partial(helper, 1.5, k=2.5)
"""

EXPRESSIONS = [
    "k", "n", "name", "len", "closed.__closure__[0].cell_contents", "a.a", "a.b", "a.b[1]",
    "a.shared", "a.method.__func__", "a.method.__func__.__code__", "b.a", "b.slot", "b.shared",
    "b.apart", "b.whole.__func__", "A.shared", "B.method", "B.whole.__func__", "s.x",
    "_sg_hasattr(s, 'y')", "_sg_hasattr(b, 'empty')", "c.p", "c.q.r", "d['u']", "d['v'][1]['w']",
    "e[2]", "e['u']", "l[0]", "l[1][-1]", "l[2][1][0]", "m.z", "helper.__code__",
    "helper.__defaults__[0]", "helper.__kwdefaults__['w']", "_sg_len(l)", "_sg_len(d)",
    "_sg_type(a)", "_sg_type(b)", "(*d,)", "(*e,)", "(*a.__dict__,)", "(*c.__dict__,)",
    "(*m.__dict__,)", "'len' in scope", "'u' in d", "p.func", "p.args[0]", "p.keywords['k']",
    "_sg_packed(l)", "_sg_packed(d)", "_sg_packed(e)",
]  # fmt: skip

#: ``#`` is a number, and ``?`` a name.
CHANGES = [
    "k = #", "n = 999 + 1", "name = 'si' + 'ne'", "new_? = #", "del new_?", "len = max", "del len",
    "globals().update(k=#, other_?=1)", "globals().popitem()", "globals().setdefault('set_?', 1)",
    "a.a = #", "a.b = [#]", "a.b[1] = #", "a.b.append(#)", "del a.b[0]", "A.shared = #",
    "a.shared = #", "del a.shared", "a.? = #", "del a.?", "a.__dict__ = {'a': #, 'b': a.b}",
    "vars(a)", "vars(a).update(a=#)", "vars(a).popitem()", "a.__class__ = C", "a.__class__ = A",
    "a = A()", "b = B()", "del a.a", "A.a = property(lambda self: #)", "del A.a",
    "A.method = lambda self: 1", "B.method = lambda self: 1", "del B.method", "B.shared = #",
    "B.apart = staticmethod(max)", "B.whole = classmethod(lambda cls: 1)", "B.slot = #",
    "B.__bases__ = (C,)", "b.slot = #", "del b.slot", "b.empty = #", "del b.empty", "s.x = #",
    "s.y = #", "del s.y", "del s.x", "s = S()", "c.p = #", "c.q = types.SimpleNamespace(r=#)",
    "c.q.r = #", "c.? = #", "del c.?", "vars(c).clear()", "c.__init__(p=#)", "d['u'] = #",
    "d['?'] = #", "d.pop('?')", "d |= {'u': #, '?': 1}", "d.popitem()", "d['v'][1]['w'] = #",
    "d['v'][1].clear()", "d = dict(d)", "d.clear()", "d.update(u=#, v=[#, {'w': #}])", "e[2] = #",
    "e['?'] = #", "del e[(0, 1)]", "e[(0, 1)] = #", "e = dict(reversed(e.items()))", "l[0] = #",
    "l[1] = [#, #]", "l[1][-1] = #", "l[1].reverse()", "l.insert(0, #)", "l.pop(0)", "l = l[:]",
    "l[2][1][0] = #", "l[2] = (#, [#])", "m.z = #", "m.? = #", "del m.?", "vars(m).update(z=#)",
    "m.__class__ = M", "del m.z", "helper.__code__ = (lambda x, k=1, *, w=2: x).__code__",
    "helper.__defaults__ = (#,)", "helper.__defaults__ = None", "helper.__kwdefaults__['w'] = #",
    "helper.__kwdefaults__ = None", "helper.__kwdefaults__ = {'w': #}", "closed = outer(#)",
    "closed.__closure__[0].cell_contents = #", "def helper(x, k=#, *, w=#): return 1", "i[1] = #",
    "i.sort()", "i = i.copy()", "i = i[::-1]", "i.shape = (3, 1)", "i.shape = (3,)",
    "p.keywords['k'] = #", "p = functools.partial(helper, #, k=#)",
    "[setattr(a, f'many{j}', j) for j in range(40)]",
    "[d.setdefault(f'x{j}', j) for j in range(9)]",
    "[d.pop(f'x{j}', 0) for j in range(9)]", "[globals().pop(f'new_{j}', 0) for j in 'fgh']",
]  # fmt: skip

MORE = """
class C:
    shared = 0.5
    def method(self):
        return 0
class M(types.ModuleType):
    z = property(lambda self: 7.5)
"""


def pointer(at: int) -> Any:
    return ctypes.c_void_p.from_address(at).value


def begun(
    names: dict[str, Any], chosen: list[str], constants: dict[str, Any]
) -> tuple[Watch, dict[str, tuple[Any, Any]], list[tuple[str, int]], Callable[[str], Any]]:
    """Return words that hold, with what they say: compared values, and places of data."""
    helpers = {**constants, "_sg_len": len, "_sg_type": type, "_sg_hasattr": hasattr,
               "_sg_packed": repr}  # fmt: skip

    def value(text: str) -> Any:
        return eval(text, {"__builtins__": names["__builtins__"], **helpers, **names})

    watch = Watch({}, constants, names)
    compared, data = {}, []
    for k, text in enumerate(chosen):
        with contextlib.suppress(UnwatchedError, NameError, AttributeError, LookupError, TypeError):
            found = value(text)
            if k % 3 and not text.startswith(("_", "(", "'")) and type(found) is float:
                data.append(text)
            elif watch.finds(text, watch.value(text), False):
                compared[text] = found, repr(found)
    places = []
    for text in data:
        with contextlib.suppress(UnwatchedError):
            watch.fetches([text])
            places.append((text, watch._places[-1]))
    return watch, compared, places, value


@pytest.mark.skipif(not can_watch(loaded), reason="the structures are others")
@pytest.mark.attack(quick=50, whole=20_000, part=1000, judge="the expressions, read by Python")
def test_words(attack: Any) -> None:
    """Random changes of objects of all kinds, of which words of memory may tell nothing."""
    for case in attack:
        with case:
            rng, names = case.rng, {}
            exec(SETUP + MORE, names)
            constants = {"scope": names}
            history: list[str] = []
            for _ in range(3):
                count = int(rng.integers(1, 12))
                chosen = [str(t) for t in rng.choice(EXPRESSIONS, size=count, replace=False)]
                for _ in range(2):  # the first may ask an object for its dictionary
                    watch, compared, places, value = begun(names, chosen, constants)
                assert watch.holds(), (history, chosen)
                for _ in range(int(rng.integers(1, 12))):
                    change = str(rng.choice(CHANGES)).replace("?", str(rng.choice([*"fghj"])))
                    while "#" in change:
                        change = change.replace("#", str(rng.integers(5)), 1)
                    history.append(change)
                    with contextlib.suppress(Exception):
                        exec(change, names)
                    if not watch.holds():
                        history.append("# seen")
                        break
                    for text, (before, shown) in compared.items():
                        now = value(text)
                        assert now is before or repr(now) == shown, (text, history)
                    for text, at in places:
                        try:
                            now = id(value(text))
                        except (NameError, AttributeError, LookupError):
                            now = None
                        assert pointer(at) == now, (text, history)
