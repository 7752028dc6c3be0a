"""The structure of what lies behind loops."""

import warnings

import numpy as np

import symgrad as sg
from symgrad._sparse import _structure as structure
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
