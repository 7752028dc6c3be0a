"""Light: rays through a triplet of lenses, extinction by spheres."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- a triplet (Cooke)

INDICES = [1.0, 1.6910, 1.0, 1.6475, 1.0, 1.6910, 1.0]
GAPS = [3.25, 6.0, 1.0, 4.75, 3.0, 42.2]


def trace(curvatures, x, y, z, k, l, m):
    """Follow a ray through all surfaces to the image plane."""
    for s, c in enumerate(curvatures):
        # To the vertex plane, and from there to the sphere.
        t = -z / m
        x, y, z = x + t * k, y + t * l, 0.0
        f = c * (x * x + y * y)
        g = m - c * (x * k + y * l)
        root = g * g - c * f
        if root < 0:
            return None
        t = f / (g + np.sqrt(root))
        x, y, z = x + t * k, y + t * l, z + t * m
        cosine = np.sqrt(root)
        mu = INDICES[s] / INDICES[s + 1]
        inside = 1 - mu * mu * (1 - cosine * cosine)
        if inside < 0:
            return None
        q = np.sqrt(inside) - mu * cosine
        k = mu * k - q * c * x
        l = mu * l - q * c * y
        m = mu * m + q * (1 - c * z)
        z = z - GAPS[s]
    t = -z / m
    return x + t * k, y + t * l


def lens_triplet(curvatures, aperture, rings):
    """Mean squared size of the spots of three fields."""
    merit = 0.0
    for field in [0.0, 0.12, 0.2]:
        spots = []
        for ring in range(1, rings + 1):
            for arm in range(6):
                r, phi = aperture * ring / rings, np.pi * arm / 3
                start = (r * np.cos(phi), r * np.sin(phi) - 4 * field, 0.0)
                direction = (0.0, np.sin(field), np.cos(field))
                spot = trace(curvatures, *start, *direction)
                if spot is not None:
                    spots.append(spot)
        cx = sum(s[0] for s in spots) / len(spots)
        cy = sum(s[1] for s in spots) / len(spots)
        merit += sum((s[0] - cx) ** 2 + (s[1] - cy) ** 2 for s in spots) / len(spots)
    return merit


TRIPLET = np.array([1 / 23.7, 1 / 7331.0, -1 / 24.5, 1 / 21.9, 1 / 86.8, -1 / 20.9])

# ---------------------------------------------------------------- Mie scattering


def efficiency(x, refrel):
    """Extinction efficiency of a sphere of size parameter x (Bohren and Huffman's bhmie)."""
    y = x * refrel
    nstop = int(x + 4 * x ** (1 / 3) + 2)
    nmx = int(max(nstop, abs(y)) + 15)
    d = np.zeros(nmx + 1, dtype=complex)
    for n in range(nmx, 0, -1):
        d[n - 1] = n / y - 1.0 / (d[n] + n / y)
    psi0, psi1 = np.cos(x), np.sin(x)
    chi0, chi1 = -np.sin(x), np.cos(x)
    xi1 = psi1 - 1j * chi1
    total = 0.0
    for n in range(1, nstop + 1):
        psi = (2 * n - 1) * psi1 / x - psi0
        chi = (2 * n - 1) * chi1 / x - chi0
        xi = psi - 1j * chi
        an = ((d[n] / refrel + n / x) * psi - psi1) / ((d[n] / refrel + n / x) * xi - xi1)
        bn = ((refrel * d[n] + n / x) * psi - psi1) / ((refrel * d[n] + n / x) * xi - xi1)
        total += (2 * n + 1) * (an.real + bn.real)
        psi0, psi1, chi0, chi1 = psi1, psi, chi1, chi
        xi1 = psi1 - 1j * chi1
    return 2 / (x * x) * total


def extinction(particle, wavelengths, measured):
    """Misfit of a spectrum of extinction; the particle has a radius and a refractive index."""
    radius, n, k = particle
    misfit = 0.0
    for wavelength, tau in zip(wavelengths, measured):
        x = 2 * np.pi * radius / wavelength
        misfit += (efficiency(x, n + 1j * k) - tau) ** 2
    return misfit


PROGRAMS = [
    Program("lens design", lens_triplet, lambda n: (TRIPLET, 3.0, n), (1, 4, 5),
            lambda a: (a[0], 3.5, a[2]), step=1e-3),
    Program("atmospheric optics", extinction,
            lambda n: (np.array([0.5, 1.45, 0.01]), np.linspace(0.4, 1.0, n), np.full(n, 2.5)),
            (2, 12, 16), step=1e-3),
]  # fmt: skip
