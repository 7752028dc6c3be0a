"""Bundle adjustment: cameras and points from where the points are seen in pictures.

    python examples/bundle_adjustment.py [--cameras 8] [--points 150] [--plot scene.png]

A ring of cameras looks at points on a wavy sphere. Each sees some of them, with errors of half a
pixel. From a bad guess, all positions and directions are fitted at once: two residuals for each
sighting, each of one camera and one point, so the Jacobian is sparse. That is found by itself; the
model below is all that there is to write. ``least_squares`` is SciPy's, with the derivative that
it was not given (B. Triggs et al., Bundle adjustment: a modern synthesis, 2000).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import symgrad as sg
from symgrad.scipy.optimize import least_squares

PIXEL = 0.5 / 800.0  # half a pixel, where the picture is as wide as it is far away


# ---------------------------------------------------------------- the model


def rotated(x: Any, turn: Any) -> Any:
    """Rotate vectors by rotation vectors (O. Rodrigues, 1840)."""
    angle = np.sqrt(np.sum(turn**2, axis=1, keepdims=True) + 1e-30)
    axis = turn / angle
    along = np.sum(axis * x, axis=1, keepdims=True)
    c, s = np.cos(angle), np.sin(angle)
    return c * x + s * np.cross(axis, x) + (1.0 - c) * along * axis


def seen(cameras: Any, points: Any, camera: Any, point: Any) -> Any:
    """Return where points are in pictures; a camera is a rotation vector and a translation."""
    x = rotated(points[point], cameras[camera, :3]) + cameras[camera, 3:]
    return x[:, :2] / x[:, 2:]


def residuals(unknowns: Any, camera: Any, point: Any, pictures: Any, count: int) -> Any:
    """Return the errors in pixels; the unknowns are ``count`` cameras, and behind them points."""
    cameras = np.reshape(unknowns[: 6 * count], (count, 6))
    points = np.reshape(unknowns[6 * count :], (-1, 3))
    return np.ravel((seen(cameras, points, camera, point) - pictures) / PIXEL)


# ---------------------------------------------------------------- a scene


def scene(cameras: int, points: int, rng: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return cameras, points, which camera sees which point, and where in its picture."""
    turn = np.linspace(0.0, 2.0 * np.pi, cameras, endpoint=False)
    rings = np.stack([0.0 * turn, turn, 0.0 * turn], axis=1)  # about the axis that is up
    found = np.column_stack([rings, np.zeros((cameras, 2)), np.full(cameras, 4.0)])
    direction = rng.normal(size=(points, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    where = direction * (1.0 + 0.15 * np.sin(5.0 * direction[:, :1]))
    camera, point = np.nonzero(rng.random((cameras, points)) < 0.5)
    pictures = seen(found, where, camera, point)
    return found, where, camera, point, pictures + PIXEL * rng.normal(size=pictures.shape)


def apart(found: Any, wanted: Any) -> Any:
    """Return points as close to others as a similarity brings them (S. Umeyama, 1991)."""
    a, b = found - found.mean(axis=0), wanted - wanted.mean(axis=0)
    u, s, vt = np.linalg.svd(b.T @ a)
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    scale = np.trace(np.diag(s) @ sign) / np.sum(a**2)
    return scale * a @ (u @ sign @ vt).T + wanted.mean(axis=0)


def main() -> None:
    """Make a scene, disturb it, and fit it."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--cameras", type=int, default=8)
    parser.add_argument("--points", type=int, default=150)
    parser.add_argument("--plot", help="a file for the picture")
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    cameras, points, camera, point, pictures = scene(chosen.cameras, chosen.points, rng)
    begin = [cameras + 0.02 * rng.normal(size=cameras.shape),
             points + 0.1 * rng.normal(size=points.shape)]  # fmt: skip
    start = np.concatenate([x.ravel() for x in begin])
    data = camera, point, pictures, len(cameras)

    jacobian = sg.jacobian(residuals, sparse=True)
    pattern = jacobian.pattern(start, *data)
    full = pattern.shape[0] * pattern.shape[1]
    print(f"{len(cameras)} cameras, {len(points)} points, {len(camera)} sightings")
    print(f"Jacobian: {pattern.shape}, {pattern.nnz} entries, {pattern.nnz / full:.2%} of all")

    found = least_squares(residuals, start, args=data, tr_solver="lsmr", x_scale="jac")
    before = residuals(start, *data)
    print(f"error in pictures: {0.5 * np.sqrt(np.mean(before**2)):.1f} pixels before,", end=" ")
    print(f"{0.5 * np.sqrt(np.mean(found.fun**2)):.2f} after {found.nfev} evaluations")
    fitted = apart(found.x[6 * len(cameras) :].reshape(-1, 3), points)
    off = [np.median(np.linalg.norm(x - points, axis=1)) for x in (fitted, begin[1])]
    print(f"half of the points are off by less than {off[0]:.4f} instead of {off[1]:.4f}")
    if chosen.plot:
        plot(points, begin[1], fitted, pattern, len(cameras), chosen.plot)


def plot(wanted: Any, before: Any, after: Any, pattern: Any, count: int, file: str) -> None:
    """Draw the points from above, and the pattern of the Jacobian."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.3))
    for axes, points, title in ((left, before, "the guess"), (middle, after, "fitted")):
        axes.scatter(*wanted[:, [0, 2]].T, s=30, facecolors="none", edgecolors="0.6")
        axes.scatter(*points[:, [0, 2]].T, s=5, color="C3")
        axes.set(title=f"points from above: {title}", aspect="equal", xlim=(-1.6, 1.6))
        axes.set(ylim=(-1.6, 1.6))
    some = pattern[:400].tocoo()
    right.plot(some.col, some.row, "C0,")
    right.axvline(6 * count - 0.5, color="0.6", linewidth=1)
    right.set(title="the Jacobian's first 400 rows", xlabel="cameras | points", ylim=(400, 0))
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
