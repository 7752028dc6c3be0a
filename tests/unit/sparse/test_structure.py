"""The structure of what lies behind loops."""

import sys
import warnings
from dataclasses import replace

import numpy as np

import symgrad as sg
from symgrad._core.graph import Literal
from symgrad._sparse import _structure as structure
from symgrad._sparse._dependence import dependence
from symgrad._sparse._structure import Places
from symgrad.errors import SparsityWarning


def test_a_loop_is_walked_once_for_all_of_its_results(monkeypatch):
    """Results of nested loops would else walk over the innermost body in all combinations."""
    walked = []
    walk = structure.blocks_of

    def counting(outputs, inputs, note, places=False):
        walked.append(len(outputs))
        return walk(outputs, inputs, note, places)

    monkeypatch.setattr(structure, "blocks_of", counting)

    def shooting(u):
        def outer(k, s):
            inner = sg.fori_loop(0, 2, lambda j, t: (t[1], t[2] * t[0], np.sin(t[0])), s)
            return inner[2], inner[0], inner[1] * u

        return np.concatenate(sg.fori_loop(0, 3, outer, (u, u**2, np.cos(u))))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsityWarning)
        jacobian = sg.jacobian(shooting, sparse=True)(np.array([0.3, 0.5]))
    assert walked == [3, 3]
    assert np.allclose(jacobian.toarray(), sg.jacobian(shooting)(np.array([0.3, 0.5])))


def test_many_steps_in_a_row_behind_which_lanes_end():
    """They are followed without recursion, each once; all entries lie behind the first one."""
    count, place = 2 * sys.getrecursionlimit(), Literal(0, np.int64)
    # The output is of the last step, each step of the one before, and the first of the input.
    links = [(0, count), *((k, k - 1) for k in range(1, count + 1))]
    places = tuple(Places(k, j, (2,), (place, place, None)) for k, j in links)
    sizes = (2,) * (count + 1)
    found = structure.Structure((1, 1), sizes, sizes, places, (), (), frozenset({1}))
    assert found.leads_on
    rows = [np.array([0, 1]), np.array([1, 0]), *(np.array([0, 1]) for _ in range(2 * count))]
    matrix = dependence(found, rows, {})
    np.testing.assert_array_equal(matrix.toarray(), [[False, True], [True, False]])
    # Without a barrier nothing does.
    unbarred = replace(found, barriers=frozenset())
    assert not unbarred.leads_on
    assert dependence(unbarred, rows, {}).nnz == 0
