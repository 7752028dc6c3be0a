"""Images and light."""

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.signal import convolve2d, fftconvolve
from task import Task

rng = np.random.default_rng(5)

# ---------------------------------------------------------------- inverse rendering of a sphere

light = [0.3, 0.5, 0.8]


def normalize(v):
    return v / np.sqrt(np.sum(v**2))


def render(center, radius, albedo, size=12):
    image = np.zeros((size, size))
    l = normalize(np.array(light))
    for i in range(size):
        for j in range(size):
            d = normalize(np.array([(j - size / 2) / size, (i - size / 2) / size, 1.0]))
            b = np.dot(d, center)
            disc = b**2 - (np.dot(center, center) - radius**2)
            if disc > 0:
                t = b - np.sqrt(disc)
                n = (t * d - center) / radius
                image[i, j] = albedo * max(0, np.dot(n, -l))
    return image


photo = render(np.array([0.1, -0.05, 3.0]), 1.0, 0.8)


def render_loss(scene):
    img = render(scene["center"], scene["radius"], scene["albedo"])
    return ((img - photo) ** 2).sum()


def scene():
    return ({"center": np.array([0.0, 0.02, 3.1]), "radius": 0.93, "albedo": 0.7},)


def turn_light():
    light[0] = -0.4


# ---------------------------------------------------------------- registration of two images

yy, xx = np.mgrid[:24, :24]
fixed = np.exp(-((xx - 12) ** 2 + (yy - 11) ** 2) / 20.0)
moving = np.exp(-((xx - 13.3) ** 2 + (yy - 10.2) ** 2) / 22.0)


def bilinear(img, y, x):
    h, w = img.shape
    y0 = np.clip(np.floor(y).astype(int), 0, h - 2)
    x0 = np.clip(np.floor(x).astype(int), 0, w - 2)
    fy, fx = y - y0, x - x0
    return (
        img[y0, x0] * (1 - fy) * (1 - fx)
        + img[y0, x0 + 1] * (1 - fy) * fx
        + img[y0 + 1, x0] * fy * (1 - fx)
        + img[y0 + 1, x0 + 1] * fy * fx
    )


def registration(p):
    angle, tx, ty = p
    c, s = np.cos(angle), np.sin(angle)
    x = c * (xx - 12) - s * (yy - 12) + 12 + tx
    y = s * (xx - 12) + c * (yy - 12) + 12 + ty
    inside = (x >= 0) & (x <= 23) & (y >= 0) & (y <= 23)
    warped = np.where(inside, bilinear(moving, y, x), 0)
    return np.mean((warped - fixed) ** 2)


def registration_ndimage(p):
    coords = np.array([yy + p[0], xx + p[1]])
    warped = map_coordinates(moving, coords, order=1, mode="nearest")
    return 1 - np.corrcoef(warped.ravel(), fixed.ravel())[0, 1]


def next_frame():
    moving[:] = np.roll(moving, 1, axis=0)


# ---------------------------------------------------------------- deblurring

psf = np.outer([1, 2, 1], [1, 2, 1]) / 16
blurred = convolve2d(fixed, psf, mode="same") + 0.01 * rng.normal(size=fixed.shape)
cfg = {"lam": 0.02, "eps": 1e-3}


def deblur_objective(x):
    x = x.reshape(blurred.shape)
    data = convolve2d(x, psf, mode="same", boundary="fill") - blurred
    dx, dy = np.diff(x, axis=0)[:, :-1], np.diff(x, axis=1)[:-1, :]
    tv = np.sqrt(dx**2 + dy**2 + cfg["eps"] ** 2).sum()
    return 0.5 * np.sum(data**2) + cfg["lam"] * tv


def smoother():
    cfg["lam"] = 0.1


def phase_retrieval(phi):
    field = np.exp(1j * phi) * aperture
    intensity = np.abs(np.fft.fftshift(np.fft.fft2(field))) ** 2
    return np.sum((intensity / intensity.sum() - seen) ** 2)


aperture = (np.hypot(xx - 12, yy - 12) < 7).astype(float)
seen = np.abs(np.fft.fftshift(np.fft.fft2(aperture * np.exp(0.3j * (xx - 12) / 12)))) ** 2
seen /= seen.sum()


def blob_match(params):
    img = np.zeros((24, 24))
    img[10:13, 9:12] = params
    smooth = gaussian_filter(img, sigma=1.5)
    return np.sum((smooth - fftconvolve(fixed, psf, mode="same")) ** 2)


# ---------------------------------------------------------------- lens and coating

glass = {"n": 1.5168, "thickness": 4.0}


def refract(d, n, n1, n2):
    mu = n1 / n2
    cos_i = -np.dot(n, d)
    sin_t2 = mu**2 * (1 - cos_i**2)
    if sin_t2 > 1:
        raise ValueError("total internal reflection")
    return mu * d + (mu * cos_i - np.sqrt(1 - sin_t2)) * n


def spot_size(curvatures):
    heights = []
    for h in [1, 2, 3, 4, 5]:
        pos = np.array([h, -10.0])
        d = np.array([0.0, 1.0])
        z = 0
        for c, n1, n2, gap in [
            (curvatures[0], 1.0, glass["n"], glass["thickness"]),
            (curvatures[1], glass["n"], 1.0, 0),
        ]:
            R = 1 / c
            center = np.array([0, z + R])
            oc = pos - center
            b = np.dot(oc, d)
            root = np.sqrt(b**2 - (np.dot(oc, oc) - R**2))
            t = -b - root if R > 0 else -b + root
            pos = pos + t * d
            normal = (pos - center) / R
            d = refract(d, normal, n1, n2)
            z += gap
        t = (50 - pos[1]) / d[1]
        heights.append(pos[0] + t * d[0])
    return np.sqrt(np.mean(np.square(heights)))


def flint():
    glass.update(n=1.62)


def reflectance(thicknesses, wavelength=550, indices=(1.38, 2.3, 1.38)):
    M = np.eye(2, dtype=complex)
    for n, d in zip(indices, thicknesses):
        delta = 2 * np.pi * n * d / wavelength
        layer = np.array(
            [
                [np.cos(delta), 1j * np.sin(delta) / n],
                [1j * n * np.sin(delta), np.cos(delta)],
            ]
        )
        M = M @ layer
    B, C = M @ np.array([1, 1.52])
    r = (B - C) / (B + C)
    return abs(r) ** 2


TASKS = [
    Task(render_loss, scene, turn_light),
    Task(registration, lambda: ([0.05, 1.03, -0.5],), next_frame),
    Task(registration_ndimage, lambda: (np.array([-0.3, 0.7]),), next_frame),
    Task(
        deblur_objective,
        lambda: (fixed.ravel() * 0.9 + 0.01 * np.sin(np.arange(fixed.size)),),
        smoother,
    ),
    Task(phase_retrieval, lambda: (0.01 * xx,), lambda: aperture.__setitem__((12, 12), 0)),
    Task(blob_match, lambda: (np.ones((3, 3)),)),
    Task(spot_size, lambda: ([1 / 50, -1 / 60],), flint),
    Task(reflectance, lambda: ([100, 60, 100],)),
]
