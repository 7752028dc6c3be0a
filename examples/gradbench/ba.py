"""Bundle adjustment: reprojection errors of points seen by cameras, and their sparse Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function
from scipy.sparse import csr_array

import symgrad as sg

CAMERA, POINT = 11, 3


def rotated(turn: Any, p: Any) -> Any:
    """Return a point turned about an axis by the axis's length, after Rodrigues."""
    square = np.sum(turn**2)
    angle = np.sqrt(np.where(square > 0, square, 1.0))
    axis = turn / angle
    along = axis * np.sum(axis * p) * (1 - np.cos(angle))
    far = p * np.cos(angle) + np.cross(axis, p) * np.sin(angle) + along
    return np.where(square > 0, far, p + np.cross(turn, p))


def reprojection(camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """The error of one observation."""
    turn, place, focus = camera[:3], camera[3:6], camera[6]
    centre, distortion = camera[7:9], camera[9:11]
    p = rotated(turn, point - place)
    flat = p[:2] / p[2]
    square = np.sum(flat**2)
    stretch = 1 + distortion[0] * square + distortion[1] * square**2
    return weight * (focus * stretch * flat + centre - seen)


def errors(cameras: Any, points: Any, weights: Any, seen: Any, which: Any) -> Any:
    """The errors of all observations, and how far their weights are from 1."""
    by_camera, by_point = which
    each = sg.vmap(reprojection)(cameras[by_camera], points[by_point], weights, seen)
    return each, 1 - weights**2


def blocks(cameras: Any, points: Any, weights: Any, seen: Any, which: Any) -> Any:
    """The entries of the Jacobian that are not zero, observation by observation.

    An observation's error depends on one camera, one point and one weight: its Jacobian is
    dense and small, and all of them are computed by one batched function.
    """
    by_camera, by_point = which
    of_one = sg.vmap(sg.jacobian(reprojection, argnums=(0, 1, 2)))
    camera, point, weight = of_one(cameras[by_camera], points[by_point], weights, seen)
    return np.concatenate([camera, point, weight[:, :, None]], axis=2), -2 * weights


compiled_blocks = sg.compile(blocks)


def jacobian(cameras: Any, points: Any, weights: Any, seen: Any, which: Any) -> Any:
    """The Jacobian by all cameras, points and weights, as a sparse matrix.

    Rows: two for each observation, then one for each weight.
    """
    dense, diagonal = compiled_blocks(cameras, points, weights, seen, which)
    count = len(weights)
    by_camera, by_point = which
    own = cameras.size + points.size + np.arange(count)
    columns = np.concatenate(
        [
            CAMERA * by_camera[:, None] + np.arange(CAMERA),
            cameras.size + POINT * by_point[:, None] + np.arange(POINT),
            own[:, None],
        ],
        axis=1,
    )
    width = columns.shape[1]
    starts = np.concatenate(
        [np.arange(2 * count) * width, 2 * count * width + np.arange(count + 1)]
    )
    values = np.concatenate([dense.ravel(), diagonal])
    where = np.concatenate([np.repeat(columns, 2, axis=0).ravel(), own])
    return csr_array((values, where, starts), shape=(3 * count, cameras.size + points.size + count))


def read(given: Any) -> tuple[Any, ...]:
    """All cameras, points and weights are alike; observations go round."""
    n, m, p = given["n"], given["m"], given["p"]
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    weights, seen = np.full(p, float(given["w"])), np.tile(given["feat"], (p, 1))
    return cameras, points, weights, seen, (np.arange(p) % n, np.arange(p) % m)


def write_errors(result: Any) -> Any:
    """The first of each, and how many there are."""
    each, of_weights = result
    return {
        "reproj_error": {"elements": each[0].tolist(), "repeated": len(each)},
        "w_err": {"element": float(of_weights[0]), "repeated": len(of_weights)},
    }


def write_jacobian(matrix: Any) -> Any:
    """The first observation's entries of each array, and its last entry."""
    some = 2 * (CAMERA + POINT + 1)
    parts = {"rows": matrix.indptr, "cols": matrix.indices, "vals": matrix.data}
    return {name: [*part[:some].tolist(), part[-1].item()] for name, part in parts.items()}


FUNCTIONS = {
    "objective": Function(read, sg.compile(errors), write_errors),
    "jacobian": Function(read, jacobian, write_jacobian),
}
