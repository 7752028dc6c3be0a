"""Hand tracking: how far the skin of a posed hand is from measured points, and the Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg
import symgrad.numpy as snp

FINGERS, BONES = 5, 4  # of a finger


def turned(axis: Any) -> Any:
    """The rotation about an axis by its length; none below 0.0001."""
    square = np.sum(axis**2)
    angle = np.sqrt(np.where(square < 1e-8, 1.0, square))
    x, y, z = axis / angle
    s, c = np.sin(angle), np.cos(angle)
    rows = (
        (x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s),
        (x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s),
        (x * z * (1 - c) - y * s, y * z * (1 - c) + x * s, z * z + (1 - z * z) * c),
    )
    return np.where(square < 1e-8, np.eye(3), np.stack([np.stack(row) for row in rows]))


def bent(flexion: Any, spread: Any) -> Any:
    """The motion (4 x 4) of a joint: about the x axis, then about the z axis."""
    cx, sx, cz, sz = np.cos(flexion), np.sin(flexion), np.cos(spread), np.sin(spread)
    motion = snp.eye(4)
    motion[0, :3] = np.stack([cz, -sz * cx, sz * sx])
    motion[1, :3] = np.stack([sz, cz * cx, -cz * sx])
    motion[2, 1:3] = np.stack([sx, cx])
    return motion


def angles(theta: Any) -> dict[int, Any]:
    """The angles of the bones that move: of each finger all but the first.

    A finger has four numbers: flexion and spread of its second bone, flexion of the others.
    The wrist is bone 0.
    """
    found = {}
    for finger in range(FINGERS):
        first, own = 1 + BONES * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        found[first + 1] = (own[0], own[1])
        found[first + 2] = (own[2], 0.0)
        found[first + 3] = (own[3], 0.0)
    return found


def skin(theta: Any, model: Any) -> Any:
    """The positions of the vertices, as rows."""
    moving = angles(theta)
    absolutes: list[Any] = []
    for bone, parent in enumerate(model["parents"]):
        own = model["base_relatives"][bone]
        relative = own @ bent(*moving[bone]) if bone in moving else own
        absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
    motions = np.stack(absolutes) @ model["inverse_base_absolutes"]
    # A vertex moves with the weighted mean of the bones' motions: one product of matrices.
    count = len(motions)
    weighted = model["weights"][:, :, None] * model["base_positions"][:, None, :]
    across = motions[:, :3].transpose(0, 2, 1).reshape(4 * count, 3)
    places = weighted.reshape(-1, 4 * count) @ across
    if model["is_mirrored"]:
        places = places * np.array([-1.0, 1.0, 1.0])
    return places @ turned(theta[:3]).T + theta[3:6]


def errors(theta: Any, us: Any, model: Any, which: Any, points: Any) -> Any:
    """What is missing from the skin to the measured points, one number after the other.

    Point i belongs to vertex ``which[i]``, or, if there are ``us``, to the place with these
    barycentric coordinates in triangle ``which[i]``.
    """
    places = skin(theta, model)
    if us is None:
        return (points - places[which]).ravel()
    a, b, c = (places[model["triangles"][which, corner]] for corner in range(3))
    u, v = us[:, :1], us[:, 1:]
    return (points - (u * a + v * b + (1 - u - v) * c)).ravel()


def jacobian(theta: Any, us: Any, model: Any, which: Any, points: Any) -> Any:
    """The Jacobian by theta; before it, if there are ``us``, two columns for them.

    A point depends on its own two coordinates only. So the columns of all points fit into
    two: the derivative by a number that is added to all first coordinates, and to all second.
    """
    if us is None:
        return sg.jacobian(errors, mode="forward")(theta, us, model, which, points)

    def moved(shift: Any, theta: Any) -> Any:
        return errors(theta, us + shift, model, which, points)

    by = sg.jacobian(moved, argnums=(0, 1), mode="forward")(np.zeros(2), theta)
    return np.concatenate(by, axis=1)


def read(given: Any) -> tuple[Any, ...]:
    data = given["data"]
    model = dict(data["model"])
    for name in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights"):
        model[name] = np.array(model[name], dtype=float)
    model["triangles"] = np.array(model["triangles"], dtype=np.int64).reshape(-1, 3)
    model["parents"] = tuple(model["parents"])
    del model["bone_names"], model["bone_count"]
    us = np.array(given["us"], dtype=float).reshape(-1, 2) if len(given["us"]) else None
    which = np.array(data["correspondences"], dtype=np.int64)
    points = np.array(data["points"], dtype=float)
    return np.array(given["theta"], dtype=float), us, model, which, points


FUNCTIONS = {
    "objective": Function(read, sg.compile(errors)),
    "jacobian": Function(read, sg.compile(jacobian)),
}
