"""``scipy.spatial.transform``, for functions that symgrad traces: rotations.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.spatial.transform import Rotation
>>> def turned(angle):
...     return Rotation.from_euler("z", angle).apply([1.0, 0.0, 0.0])
>>> sg.jacobian(turned)(0.0)
array([0., 1., 0.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.transform

from ... import numpy as traced_numpy
from ..._core.trace.namespace import offering
from ...errors import ShapeError
from .._coverage import reasons
from .._versions import Standing, floats, increasing, refuse_option

__all__ = ["Rotation", "Slerp"]

_stack = traced_numpy.stack


def _sinc(x: Any) -> Any:
    """Return sin(x)/x."""
    return np.sinc(x / np.pi)


class Rotation(metaclass=Standing, of=scipy.spatial.transform.Rotation):
    """Rotations of space, one or many, as ``scipy.spatial.transform.Rotation``.

    Made by ``from_quat``, ``from_matrix``, ``from_rotvec``, ``from_euler`` or ``identity``; kept as
    unit quaternions, scalar last.
    """

    def __init__(self, quat: Any, normalize: bool = True) -> None:
        quat = floats(quat)
        if quat.shape[-1] != 4:
            raise ShapeError(f"a quaternion has four components, not shape {quat.shape}")
        if normalize:
            quat = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
        self._quat = quat

    # ---------------------------------------------------------------- made from

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Rotation:
        """Return rotations by quaternions, shape ``(..., 4)``, of any length but zero."""
        quat = floats(quat)
        return cls(np.roll(quat, -1, axis=-1) if scalar_first else quat)

    @classmethod
    def identity(cls, num: int | None = None) -> Rotation:
        """Return the rotation that turns nothing."""
        return cls(np.broadcast_to([0.0, 0.0, 0.0, 1.0], (4,) if num is None else (num, 4)))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Return rotations about axes by their lengths, shape ``(..., 3)``."""
        v = floats(rotvec)
        v = np.deg2rad(v) if degrees else v
        half = np.linalg.norm(v, axis=-1, keepdims=True) / 2
        return cls(traced_numpy.concatenate([0.5 * _sinc(half) * v, np.cos(half)], axis=-1), False)

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Return rotations about axes in turn: fixed (``"xyz"``) or the body's (``"XYZ"``)."""
        angles = floats(angles)
        angles = np.deg2rad(angles) if degrees else angles
        if len(seq) == 1 and (angles.ndim == 0 or angles.shape[-1] != 1):
            angles = angles[..., None]
        if angles.shape[-1] != len(seq):
            raise ShapeError(f"from_euler: {len(seq)} axes, angles of shape {angles.shape}")
        total: Rotation | None = None
        for k, letter in enumerate(seq):
            axis = np.eye(3)["xyz".index(letter.lower())]
            turn = cls.from_rotvec(angles[..., k : k + 1] * axis)
            total = turn if total is None else total * turn if seq.isupper() else turn * total
        assert total is not None
        return total

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Return the rotations that are closest to matrices, shape ``(..., 3, 3)``.

        Their rotations where they are orthogonal; nan where the determinant is not positive.
        """
        m = floats(matrix)
        a, b, c = (m[..., k, k] for k in range(3))
        plus, less = ({(i, j): m[..., i, j] + s * m[..., j, i] for i in range(3) for j in range(3)}
                      for s in (1, -1))  # fmt: skip
        # The matrix of Davenport's q method: its form is tr(R^T M) for the rotation R by q.
        rows = [
            [a - b - c, plus[0, 1], plus[0, 2], less[2, 1]],
            [plus[0, 1], b - a - c, plus[1, 2], less[0, 2]],
            [plus[0, 2], plus[1, 2], c - a - b, less[1, 0]],
            [less[2, 1], less[0, 2], less[1, 0], a + b + c],
        ]
        form = _stack([_stack(row, axis=-1) for row in rows], axis=-2)
        quat = np.linalg.eigh(form)[1][..., -1]
        largest = np.argmax(np.abs(quat), axis=-1, keepdims=True)
        quat = quat * np.sign(np.take_along_axis(quat, largest, axis=-1))
        quat = np.where((np.linalg.det(m) > 0)[..., None], quat, np.nan)
        return cls(quat)

    # ---------------------------------------------------------------- given as

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Return unit quaternions, shape ``(..., 4)``."""
        q = np.where(self._quat[..., 3:] < 0, -self._quat, self._quat) if canonical else self._quat
        return np.roll(q, 1, axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return orthogonal matrices, shape ``(..., 3, 3)``."""
        x, y, z, w = (self._quat[..., k] for k in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return _stack([_stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return axes whose lengths are the angles, shape ``(..., 3)``."""
        q = self.as_quat(canonical=True)
        sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
        angle = 2 * np.arctan2(sine, q[..., 3:])
        vector = q[..., :3] * (2.0 / _sinc(angle / 2))
        return np.rad2deg(vector) if degrees else vector

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Return the angles about three different axes, shape ``(..., 3)``."""
        order = seq.lower() if seq.isupper() else seq.lower()[::-1]
        if len(set(order)) != 3:
            refuse_option("as_euler", "seq", seq, "three different axes")
        i, j, k = ("xyz".index(letter) for letter in order)
        sign = 1.0 if (j - i) % 3 == 1 else -1.0
        m = self.as_matrix()
        first = np.arctan2(-sign * m[..., j, k], m[..., k, k])
        middle = np.arcsin(np.clip(sign * m[..., i, k], -1.0, 1.0))
        last = np.arctan2(-sign * m[..., i, j], m[..., i, i])
        angles = [first, middle, last] if seq.isupper() else [last, middle, first]
        result = _stack(angles, axis=-1)
        return np.rad2deg(result) if degrees else result

    # ---------------------------------------------------------------- used

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Turn vectors, shape ``(..., 3)``."""
        v, m = floats(vectors), self.as_matrix()
        m = np.swapaxes(m, -1, -2) if inverse else m
        return (m @ v[..., None])[..., 0]

    def inv(self) -> Rotation:
        """Return the rotations back."""
        return Rotation.ours(self._quat * np.array([-1.0, -1.0, -1.0, 1.0]), False)

    def magnitude(self) -> Any:
        """Return the angles, from 0 to pi."""
        q = self._quat
        return 2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3]))

    def __mul__(self, other: Rotation) -> Rotation:
        x, y, z, w = (self._quat[..., k] for k in range(4))
        a, b, c, d = (other.as_quat()[..., k] for k in range(4))  # perhaps one of SciPy's
        parts = [
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        ]
        return Rotation.ours(_stack(parts, axis=-1), False)

    def __pow__(self, n: Any) -> Rotation:
        """Return the rotation by n times the angle."""
        return Rotation.from_rotvec(self.as_rotvec() * n)

    def __rmul__(self, other: Any) -> Rotation:
        return Rotation.ours(floats(other.as_quat()), False) * self

    def __getitem__(self, index: Any) -> Rotation:
        return Rotation.ours(self._quat[index], False)

    def __len__(self) -> int:
        if self._quat.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return int(self._quat.shape[0])


class Slerp(metaclass=Standing, of=scipy.spatial.transform.Slerp):
    """Rotations between given ones at a steady pace, as ``scipy.spatial.transform.Slerp``.

    Parameters
    ----------
    times, rotations:
        Times, increasing, shape ``(n,)``, and as many rotations.
    turns:
        Rotation vectors from each to the next, where they are known.

    Examples
    --------
    >>> half = Slerp([0.0, 1.0], Rotation.from_rotvec([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> sg.jacobian(lambda t: half(t).as_rotvec())(0.5).round(12)
    array([0., 0., 1.])
    """

    def __init__(self, times: Any, rotations: Any, turns: Any = None) -> None:
        self.times = floats(times)
        self._quat = floats(rotations.as_quat())
        if turns is None:
            self.times = increasing(np.diff(self.times), self.times)
            before, after = (Rotation.ours(q, False) for q in (self._quat[:-1], self._quat[1:]))
            turns = (before.inv() * after).as_rotvec()
        self._turns = floats(turns)

    def __call__(self, times: Any) -> Rotation:
        """Return the rotations at times, nan beyond those that are given."""
        t, given = floats(times), self.times
        if t.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        piece = np.clip(traced_numpy.searchsorted(given, t) - 1, 0, given.shape[0] - 2)
        begin, end = traced_numpy.take(given, piece), traced_numpy.take(given, piece + 1)
        share = np.where((t >= given[0]) & (t <= given[-1]), (t - begin) / (end - begin), np.nan)
        turned = Rotation.from_rotvec(traced_numpy.take(self._turns, piece, 0) * share[..., None])
        return Rotation.ours(traced_numpy.take(self._quat, piece, 0), False) * turned


__getattr__, __dir__ = offering(scipy.spatial.transform, globals(), reasons("spatial.transform"))
