"""Splines, shapes, geometry."""

from math import comb

import numpy as np
from numpy.polynomial import chebyshev as cheb
from scipy.integrate import simpson
from scipy.interpolate import BSpline
from task import Task

knots = [0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4]


def de_boor(x, t, c, p):
    k = p
    while k < len(t) - p - 2 and x >= t[k + 1]:
        k += 1
    d = [c[j + k - p] for j in range(0, p + 1)]
    for r in range(1, p + 1):
        for j in range(p, r - 1, -1):
            a = (x - t[j + k - p]) / (t[j + 1 + k - r] - t[j + k - p])
            d[j] = (1 - a) * d[j - 1] + a * d[j]
    return d[p]


def curve_length(control):
    pts = [de_boor(x, knots, control, 3) for x in np.linspace(0, 4, 41)]
    length = 0
    for a, b in zip(pts[:-1], pts[1:]):
        length += np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)
    return length


def move_knot():
    knots[5] = 1.5


def smoothness(coefficients):
    spline = BSpline(knots, coefficients, 3)
    x = np.linspace(0.05, 3.95, 30)
    return np.sum((spline(x) - np.sin(x)) ** 2) + 0.1 * np.sum(spline.derivative(2)(x) ** 2)


def bezier(points, t):
    n = len(points) - 1
    return sum(comb(n, i) * (1 - t) ** (n - i) * t**i * points[i] for i in range(n + 1))


def bezier_area(points):
    xy = np.array([bezier(points, t) for t in np.linspace(0, 1, 25)])
    x, y = xy[:, 0], xy[:, 1]
    return 0.5 * np.abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def brachistochrone(heights):
    x = np.linspace(0, 1, len(heights) + 2)
    y = np.concatenate(([0], heights, [-0.6]))
    dx = np.diff(x)
    dy = np.diff(y)
    v = np.sqrt(-2 * 9.81 * y)
    return np.sum(2 * np.hypot(dx, dy) / (v[:-1] + v[1:]))


def lift_coefficient(camber, order=3):
    """Thin aerofoil: circulation from the slope of the camber line."""
    theta = np.linspace(0, np.pi, 101)
    x = (1 - np.cos(theta)) / 2
    slope = np.polyval(np.polyder(np.append(camber, 0)), x)
    A = [simpson(slope * np.cos(n * theta), x=theta) * 2 / np.pi for n in range(order)]
    alpha = np.deg2rad(angle_of_attack)
    return 2 * np.pi * (alpha - A[0] / 2 + A[1] / 2)


angle_of_attack = 4


def steeper():
    global angle_of_attack
    angle_of_attack = 7


def chebyshev_fit(coef):
    x = np.cos(np.pi * (np.arange(20) + 0.5) / 20)
    return np.sum((cheb.chebval(x, coef) - 1 / (1 + 25 * x**2)) ** 2)


CONTROL = np.array([[0, 0], [1, 2], [2, -1], [3, 1], [4, 3], [5, 0], [6, 1]])

TASKS = [
    Task(curve_length, lambda: (CONTROL + 0.0,), move_knot),
    Task(smoothness, lambda: ([0, 0.4, 1, 1, 0.1, -0.6, -0.8],), move_knot),
    Task(bezier_area, lambda: (CONTROL[:4] * [1.0, 1.1] + [[0], [0], [0], [0.3]],)),
    Task(brachistochrone, lambda: (-np.linspace(0.1, 0.55, 10),)),
    Task(lift_coefficient, lambda: ([-0.1, 0.05, 0.1],), steeper),
    Task(chebyshev_fit, lambda: ([0.2, 0, -0.3, 0, 0.1],)),
]
