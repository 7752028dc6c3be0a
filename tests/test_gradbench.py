"""The tool for GradBench: every problem against formulas written anew, in 40 digits.

The references share nothing with the tool: derivatives are mpmath's numerical ones, rotations
are exponentials of matrices, Newton's step is a mean. Only for the two descents, whose results
depend on their path, GradBench's own expected results are taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symgrad as sg

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "gradbench"


pytestmark = pytest.mark.usefixtures("scripts", "digits")


@pytest.fixture(scope="module")
def digits() -> Iterator[None]:
    """Compute with 40 digits."""
    with mp.workdps(40):
        yield


@pytest.fixture(params=["numpy", pytest.param("llvm", marks=pytest.mark.slow)])
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test on both backends; the one that compiles nothing is quick."""
    with sg.backend(request.param):
        yield


on_both = pytest.mark.usefixtures("backend")


def output(module: str, function: str, given: Any) -> Any:
    """Return what the tool answers."""
    from protocol import answer

    message = {"kind": "evaluate", "module": module, "function": function, "input": given}
    found = answer(json.loads(json.dumps(message)))
    assert found["success"], found["error"]
    json.dumps(found)
    return found["output"]


def close(found: Any, expected: Any) -> None:
    """Both are numbers or nested lists of numbers."""
    expected = np.array(expected).astype(float)
    assert np.shape(found) == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    assert np.max(np.abs(found - expected), initial=0.0) <= 1e-11 * scale, (found, expected)


def slopes(f: Callable[[Any], Any], x: Any) -> Any:
    """The derivatives of f, a number or an array of numbers, by each element of x."""
    x = np.array(x, dtype=object)
    parts = []
    for place in np.ndindex(x.shape):

        def moved(step: Any, place: Any = place) -> Any:
            near = x + mp.mpf(0)
            near[place] += step
            return np.array(f(near), dtype=object)

        h = mp.mpf(10) ** -10
        # Four points: the error is of order h**4, and 40 digits leave 30 for the difference.
        near, far = moved(h) - moved(-h), moved(2 * h) - moved(-2 * h)
        parts.append((8 * near - far) / (12 * h))
    whole = np.array(parts, dtype=object).reshape(x.shape + np.shape(parts[0]))
    return np.moveaxis(whole, range(x.ndim), range(-x.ndim, 0))


def exact(values: Any) -> Any:
    """Numbers as mpmath's."""
    return np.vectorize(mp.mpf, otypes=[object])(np.array(values, dtype=float))


def each(f: Any, values: Any) -> Any:
    return np.vectorize(f, otypes=[object])(values)


def turned(axis: Any) -> Any:
    """The rotation about an axis by its length, as an exponential."""
    x, y, z = axis
    cross = mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.array(mp.expm(cross, method="taylor").tolist(), dtype=object)


RNG = np.random.default_rng(5)

# ---------------------------------------------------------------- problems


def test_hello() -> None:
    assert output("hello", "square", 3) == 9
    assert output("hello", "double", 3.0) == 6


@on_both
def test_llsq() -> None:
    given = {"x": RNG.normal(size=5).tolist(), "n": 7}

    def objective(x: Any) -> Any:
        places = [mp.mpf(2 * i) / 6 - 1 for i in range(7)]
        return sum((mp.sign(t) - mp.polyval(list(x[::-1]), t)) ** 2 for t in places) / 2

    close(output("llsq", "primal", given), objective(exact(given["x"])))
    close(output("llsq", "gradient", given), slopes(objective, exact(given["x"])))


@on_both
@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_lse(shift: float) -> None:
    given = {"x": (RNG.normal(size=9) + shift).tolist()}
    x = exact(given["x"])
    total = mp.fsum(each(mp.exp, x))
    close(output("lse", "primal", given), mp.log(total))
    close(output("lse", "gradient", given), each(mp.exp, x) / total)


@on_both
def test_ode() -> None:
    # Up to four elements the solution is of fourth degree, and the method exact.
    x = RNG.uniform(0.5, 1.5, 4)
    given = {"x": x.tolist(), "s": 3}
    rise = [2.0 ** (i + 1) / mp.factorial(i + 1) for i in range(4)]
    solution = np.cumprod(exact(x)) * rise
    close(output("ode", "primal", given), solution)
    close(output("ode", "gradient", given), solution[-1] / exact(x))


@on_both
@pytest.mark.parametrize("size", [1, 2, 5])
def test_det(size: int) -> None:
    matrix = RNG.normal(size=(size, size))
    given = {"A": matrix.ravel().tolist(), "ell": size}
    a = mp.matrix(matrix.tolist())
    close(output("det", "primal", given), mp.det(a))
    adjugate = np.array((mp.det(a) * a**-1).T.tolist()).ravel()
    close(output("det", "gradient", given), adjugate)


@on_both
def test_gmm() -> None:
    d, k, n, m = 3, 2, 4, 2
    sizes = {"alpha": k, "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2), "x": (n, d)}
    given = {name: RNG.normal(size=size).tolist() for name, size in sizes.items()}
    given |= {"d": d, "k": k, "n": n, "m": m, "gamma": 0.7}
    names = list(sizes)[:4]

    def posterior(**values: Any) -> Any:
        """The density itself, factor by factor."""
        alpha, mu, q, l = (values[name] for name in names)
        roots = []
        for j in range(k):
            root, below = mp.zeros(d), iter(l[j])
            for column in range(d):
                root[column, column] = mp.exp(q[j][column])
                for row in range(column + 1, d):
                    root[row, column] = next(below)
            roots.append(root)
        density, weights = mp.mpf(1), each(mp.exp, alpha)
        for x in exact(given["x"]):
            total = mp.mpf(0)
            for j in range(k):
                image = roots[j] * mp.matrix(list(x - mu[j]))
                height = mp.det(roots[j]) * mp.exp(-sum(v**2 for v in image) / 2)
                total += weights[j] / sum(weights) * height / mp.sqrt((2 * mp.pi) ** d)
            density *= total
        freedom, gamma = d + m + 1, mp.mpf(0.7)
        norm = mp.mpf(2) ** (mp.mpf(freedom * d) / 2) * gamma ** (-freedom * d)
        norm *= mp.pi ** (mp.mpf(d * (d - 1)) / 4)
        for i in range(d):
            norm *= mp.gamma(mp.mpf(freedom - i) / 2)
        for root in roots:
            precision = root.T * root
            trace = sum(precision[i, i] for i in range(d))
            density *= mp.det(precision) ** (mp.mpf(m) / 2) * mp.exp(-(gamma**2) * trace / 2) / norm
        return mp.log(density)

    start = {name: exact(given[name]) for name in names}
    close(output("gmm", "objective", given), posterior(**start))
    found = output("gmm", "jacobian", given)
    assert list(found) == names
    for name in names:
        expected = slopes(lambda v, name=name: posterior(**{**start, name: v}), start[name])
        close(found[name], expected)


@on_both
@pytest.mark.parametrize("turn", [[0.3, -0.5, 0.2], [0.0, 0.0, 0.0]])
def test_ba(turn: list[float]) -> None:
    n, m, p = 2, 3, 5
    camera = [*turn, 0.1, -0.2, 5.0, 500.0, 30.0, 20.0, 0.02, -0.01]
    x, w, feat = [0.3, 0.4, -0.5], 0.8, [12.0, -7.0]
    given = {"n": n, "m": m, "p": p, "cam": camera, "x": x, "w": w, "feat": feat}

    def reprojection(v: Any) -> Any:
        place = turned(v[:3]) @ (v[11:14] - v[3:6])
        flat = place[:2] / place[2]
        square = flat @ flat
        stretch = 1 + v[9] * square + v[10] * square**2
        return v[14] * (v[6] * stretch * flat + v[7:9] - exact(feat))

    start = exact([*camera, *x, w])
    found = output("ba", "objective", given)
    close(found["reproj_error"]["elements"], reprojection(start))
    close(found["w_err"]["element"], 1 - w**2)
    assert (found["reproj_error"]["repeated"], found["w_err"]["repeated"]) == (p, p)

    found = output("ba", "jacobian", given)
    block = slopes(reprojection, start)
    close(found["vals"], [*block.ravel(), -2 * w])
    first = [*range(11), *(11 * n + i for i in range(3)), 11 * n + 3 * m]
    assert found["cols"] == [*first, *first, 11 * n + 3 * m + p - 1]
    starts = [*range(0, 15 * 2 * p + 1, 15), *range(15 * 2 * p + 1, 15 * 2 * p + p + 1)]
    assert found["rows"] == [*starts[:30], starts[-1]]


@pytest.mark.slow
def test_ba_matrix() -> None:
    """The sparse matrix as a whole is the Jacobian of all errors by all parameters."""
    import ba

    n, m, p = 2, 3, 4
    cameras, points = RNG.uniform(0.1, 0.5, (n, 11)), RNG.uniform(1.0, 2.0, (m, 3))
    weights, seen = RNG.uniform(0.5, 1.0, p), RNG.normal(size=(p, 2))
    which = (np.arange(p) % n, np.arange(p) % m)

    def flat(v: Any) -> Any:
        parts = v[: 11 * n].reshape(n, 11), v[11 * n : 11 * n + 3 * m].reshape(m, 3)
        each, of_weights = ba.errors(*parts, v[11 * n + 3 * m :], seen, which)
        return np.concatenate([each.ravel(), of_weights])

    values = np.concatenate([cameras.ravel(), points.ravel(), weights])
    with sg.backend("numpy"):
        dense = sg.jacobian(flat)(values)
        sparse = ba.jacobian(cameras, points, weights, seen, which)
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-11, atol=1e-11)
    assert sparse.nnz == 2 * p * 15 + p


@on_both
def test_lstm() -> None:
    layers, width, count = 2, 3, 4
    shapes = {
        "main_params": (2 * layers, 4 * width),
        "extra_params": (3, width),
        "state": (2 * layers, width),
        "sequence": (count, width),
    }
    given = {name: RNG.normal(size=shape).tolist() for name, shape in shapes.items()}
    state, sequence = exact(given["state"]), exact(given["sequence"])

    def loss(main: Any, extra: Any) -> Any:
        memory, total = [list(row) for row in state], mp.mpf(0)
        gate = lambda v: 1 / (1 + mp.exp(-v))  # noqa: E731
        for t in range(count - 1):
            y = [a * b for a, b in zip(sequence[t], extra[0], strict=True)]
            for k in range(layers):
                hidden, cell = memory[2 * k], memory[2 * k + 1]
                for i in range(width):
                    w, b = main[2 * k][i::width], main[2 * k + 1][i::width]
                    forget, out = gate(y[i] * w[0] + b[0]), gate(y[i] * w[2] + b[2])
                    into = gate(hidden[i] * w[1] + b[1])
                    cell[i] = cell[i] * forget + into * mp.tanh(hidden[i] * w[3] + b[3])
                    hidden[i] = out * mp.tanh(cell[i])
                y = list(hidden)
            guess = [a * b + c for a, b, c in zip(y, extra[1], extra[2], strict=True)]
            top = mp.log(2 + mp.fsum(map(mp.exp, guess)))
            total += sum(a * (b - top) for a, b in zip(sequence[t + 1], guess, strict=True))
        return -total / (width * (count - 1))

    main, extra = exact(given["main_params"]), exact(given["extra_params"])
    close(output("lstm", "objective", given), loss(main, extra))
    by_main = slopes(lambda v: loss(v, extra), main)
    by_extra = slopes(lambda v: loss(main, v), extra)
    close(output("lstm", "jacobian", given), [*by_main.ravel(), *by_extra.ravel()])


def turned_about(axis: Any) -> Any:
    """The rotation about an axis by its length, as a series, also for complex numbers."""
    x, y, z = axis
    cross = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
    term = total = np.eye(3, dtype=cross.dtype)
    for k in range(1, 40):
        term = term @ cross / k
        total = total + term
    return total


@on_both
@pytest.mark.parametrize("complicated", [False, True])
@pytest.mark.slow
def test_ht(complicated: bool) -> None:
    vertices, bones, count = 5, 22, 3
    fingers = [0 if j == 0 else 4 * f + j for f in range(5) for j in range(4)]
    small = lambda *shape: RNG.normal(size=shape) / 2  # noqa: E731
    positions = np.concatenate([small(vertices, 3), np.ones((vertices, 1))], axis=1)
    frames = [np.tile(np.eye(4), (bones, 1, 1)) for _ in range(2)]
    for frame in frames:
        frame[:, :3] += small(bones, 3, 4)
    weights = RNG.random((vertices, bones)) / bones
    model = {
        "bone_count": bones,
        "bone_names": ["bone"] * bones,
        "parents": [-1, *fingers, 0],
        "base_relatives": frames[0].tolist(),
        "inverse_base_absolutes": frames[1].tolist(),
        "base_positions": positions.tolist(),
        "weights": weights.tolist(),
        "triangles": [[0, 1, 2], [1, 2, 3], [2, 3, 4], [4, 0, 2]],
        "is_mirrored": complicated,
    }
    us, points = small(count, 2), small(count, 3)
    data = {"model": model, "correspondences": [3, 0, 2], "points": points.tolist()}
    given = {
        "theta": small(26).tolist(),
        "data": data,
        "us": us.tolist() if complicated else [],
    }

    def errors(v: Any) -> Any:
        """The coordinates u come first, as columns that all points share."""
        shift, theta = (v[:2], v[2:]) if complicated else (None, v)
        absolutes: list[Any] = []
        for bone, parent in enumerate(model["parents"]):
            motion = np.eye(4, dtype=v.dtype)
            finger, joint = divmod(bone - 1, 4)
            if 0 < bone < bones - 1 and joint > 0:
                own = theta[6 + 4 * finger : 10 + 4 * finger]
                flexion, spread = (own[0], own[1]) if joint == 1 else (own[joint], 0)
                motion[:3, :3] = turned_about((0, 0, spread)) @ turned_about((flexion, 0, 0))
            relative = frames[0][bone] @ motion
            absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
        skin = []
        for p, shares in zip(positions, weights, strict=True):
            moved = [a @ b @ p for a, b in zip(absolutes, frames[1], strict=True)]
            place = sum(w * q for w, q in zip(shares, moved, strict=True))[:3]
            place = place * ([-1, 1, 1] if complicated else [1, 1, 1])
            skin.append(turned_about(theta[:3]) @ place + theta[3:6])
        parts = []
        for k, which in enumerate(data["correspondences"]):
            if complicated:
                u, w = us[k] + shift
                a, b, c = (skin[corner] for corner in model["triangles"][which])
                parts.append(points[k] - (u * a + w * b + (1 - u - w) * c))
            else:
                parts.append(points[k] - skin[which])
        return np.concatenate(parts)

    start = np.array([*([0.0, 0.0] if complicated else []), *given["theta"]], np.clongdouble)
    close(output("ht", "objective", given), errors(start).real)
    # A step along the imaginary axis: no difference, so no cancellation.
    columns = [errors(start + 1e-30j * e).imag / 1e-30 for e in np.eye(len(start))]
    close(output("ht", "jacobian", given), np.array(columns).T)


def test_ht_without_rotation() -> None:
    import ht

    with sg.backend("numpy"):
        close(sg.compile(ht.turned)(np.zeros(3)), np.eye(3))
        close(sg.jacobian(ht.turned)(np.zeros(3)), np.zeros((3, 3, 3)))


@on_both
def test_kmeans() -> None:
    points = RNG.normal(size=(12, 3))
    centroids = points[-3:] + 0.1
    given = {"points": points.tolist(), "centroids": centroids.tolist()}
    squares = np.sum((points[:, None] - centroids) ** 2, axis=2)
    nearest = np.argmin(squares, axis=1)
    close(output("kmeans", "cost", given), np.sum(np.min(squares, axis=1)))
    # A Newton step from a centroid leads to the mean of its points.
    means = [points[nearest == k].mean(axis=0) for k in range(3)]
    close(output("kmeans", "dir", given), centroids - means)


@pytest.mark.parametrize("function", ["ff", "fr", "rf", "rr"])
@pytest.mark.quick(1)
def test_particle(function: str) -> None:
    w = output("particle", function, {"w": 0.0})
    assert abs(w - 0.2071918746486116) < 1e-9  # GradBench's
    # The particle meets the axis at the origin, by the forces' formula.
    x, velocity = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while x[1] > 0:
        away = [x - (10.0, 10.0 - w), x - (10.0, 0.0)]
        before, x = velocity, x + 0.1 * velocity
        velocity = velocity + 0.1 * sum(a / np.linalg.norm(a) ** 3 for a in away)
    assert abs(x[0] - x[1] / before[1] * before[0]) < 1e-4


@pytest.mark.parametrize("function", ["ff", "fr", "rf", "rr"])
@pytest.mark.quick(1)
def test_saddle(function: str) -> None:
    found = output("saddle", function, {"start": [1.0, 1.0]})
    close(found, [8.246324826140356e-06] * 4)  # GradBench's; the saddle itself is 0


# ---------------------------------------------------------------- protocol


@pytest.mark.slow
def test_protocol() -> None:
    """The tool as GradBench runs it: a process that answers lines with lines."""
    evaluate = {"kind": "evaluate", "module": "lse", "function": "gradient"}
    messages = [
        {"kind": "start", "eval": "lse"},
        {"kind": "define", "module": "lse"},
        {**evaluate, "input": {"x": [0.0, 0.0], "min_runs": 3, "min_seconds": 0.0}},
        {"kind": "analysis", "of": 2, "valid": True},
        {"kind": "define", "module": "none"},
        {**evaluate, "function": "hessian", "input": {"x": [0.0]}},
        {**evaluate, "input": {"x": "text"}},
        {"kind": "end"},
    ]
    done = subprocess.run(
        [sys.executable, str(FOLDER)],
        input="".join(json.dumps({"id": k, **m}) + "\n" for k, m in enumerate(messages)),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [a.pop("id") for a in answers] == list(range(len(messages)))
    assert answers[0] == {"tool": "symgrad"}
    assert answers[1] == {"success": True}
    assert answers[3] == answers[7] == {}
    assert (answers[2]["success"], answers[2]["output"]) == (True, [0.5, 0.5])
    names = [t["name"] for t in answers[2]["timings"]]
    assert names == ["prepare", "evaluate", "evaluate", "evaluate"]
    assert all(isinstance(t["nanoseconds"], int) for t in answers[2]["timings"])
    for answer, part in zip(
        answers[4:7], ("no problem 'none'", "no function", "text"), strict=True
    ):
        assert not answer["success"]
        assert part in answer["error"]


def test_modules() -> None:
    """All twelve problems are there, with the functions that GradBench asks for."""
    from protocol import MODULES, find

    assert len(MODULES) == 12
    names = {module: set(find(module)) for module in MODULES}
    assert {"primal", "gradient"} == names["llsq"] == names["lse"] == names["ode"] == names["det"]
    assert {"objective", "jacobian"} == names["gmm"] == names["ba"] == names["lstm"] == names["ht"]
    assert {"ff", "fr", "rf", "rr"} == names["particle"] == names["saddle"]
