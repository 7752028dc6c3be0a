"""A bicycle that balances by itself: the Whipple model, linearised by symgrad.

    python examples/bicycle.py [--plot bicycle.png]

SymPy derives the equations of motion by Kane's method. The program solves for the accelerations
and for the forces that keep the front wheel from slipping, and its Jacobian at steady running
straight ahead has the eigenvalues of J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab,
Linearized dynamics equations for the balance and steer of a bicycle: a benchmark and review,
Proc. R. Soc. A 463 (2007), table 2. docs/gallery/bicycle.md explains it.
"""

import argparse

import numpy as np
import sympy as sp
import sympy.physics.mechanics as me
from scipy.optimize import brentq

import symgrad as sg

yaw, roll, pitch, steer = q = me.dynamicsymbols("yaw roll pitch steer")
u = me.dynamicsymbols("u:6")  # yaw, roll, pitch, steer, wheels' rates
radii = r1, r2 = sp.symbols("r1 r2")  # of the wheels, rear and front
tilt, fork_x, fork_z, frame_z = sp.symbols("tilt fork_x fork_z frame_z")
centres = B_x, B_z, H_x, H_z = sp.symbols("B_x B_z H_x H_z")
wheels = R_x, R_y, F_x, F_y = sp.symbols("R_x R_y F_x F_y")
masses = m1, m2, m3, m4, g = sp.symbols("m1:5 g")
frame, fork = sp.symbols("IB:4"), sp.symbols("IH:4")  # xx, yy, zz, xz

ground = me.ReferenceFrame("N")
ahead = ground.orientnew("Y", "Axis", [yaw, ground.z])
lean = ahead.orientnew("R", "Axis", [roll, ahead.x])
body = lean.orientnew("B", "Axis", [pitch + tilt, lean.y])
bars = body.orientnew("H", "Axis", [steer, body.x])
rear, front = me.ReferenceFrame("rear"), me.ReferenceFrame("front")
ahead.set_ang_vel(ground, u[0] * ahead.z)
lean.set_ang_vel(ahead, u[1] * lean.x)
body.set_ang_vel(lean, u[2] * body.y)
bars.set_ang_vel(body, u[3] * bars.x)
rear.set_ang_vel(body, u[4] * body.y)
front.set_ang_vel(bars, u[5] * bars.y)


def point(name, place, base, axes):
    found = base.locatenew(name, place)
    found.v2pt_theory(base, ground, axes)
    return found


contact = me.Point("P")
contact.set_vel(ground, 0)
hub = point("R", r1 * lean.z, contact, rear)
head = point("S", frame_z * body.z, hub, body)
rider = point("B", B_z * body.z - B_x * body.x, hub, body)
stem = point("H", H_z * bars.z - H_x * bars.x, head, bars)
wheel = point("F", fork_x * bars.x + fork_z * bars.z, head, bars)
down = (me.dot(bars.y, ahead.z) * bars.y - ahead.z).normalize()
touch = point("Q", r2 * down, wheel, front)

upright = body.orientnew("b", "Axis", [-tilt, body.y])
forward = bars.orientnew("h", "Axis", [-tilt, bars.y])
parts = [
    (hub, rear, m1, me.inertia(body, R_x, R_y, R_x)),
    (rider, body, m2, me.inertia(upright, *frame[:3], 0, 0, frame[3])),
    (stem, bars, m3, me.inertia(forward, *fork[:3], 0, 0, fork[3])),
    (wheel, front, m4, me.inertia(bars, F_x, F_y, F_x)),
]
bodies = [me.RigidBody(str(p), p, f, m, (I, p)) for p, f, m, I in parts]
loads = [(p, -m * g * ground.z) for p, _, m, _ in parts]
rates = [a.diff() - b for a, b in zip(q, u[:4], strict=True)]
kane = me.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
kane.kanes_equations(bodies, loads)

slip = [touch.vel(ground).dot(a) for a in (ahead.x, ahead.y, ahead.z)]
values = [*radii, tilt, fork_x, fork_z, frame_z, *centres]
values += [*wheels, *masses, *frame, *fork]
system = sg.lambdify([q, u, values], [kane.mass_matrix, kane.forcing])
slips = sg.lambdify([q, u, values], slip)
height = sg.lambdify([q, values], touch.pos_from(contact).dot(ahead.z))


def measured():
    """The bicycle of the benchmark's table 1, in the lengths used here."""
    lift, base, trail = np.pi / 2 - np.pi / 10, 1.02, 0.08
    rear, front = 0.3, 0.35
    s, c = np.sin(lift), np.cos(lift)
    rake = front * c - trail * s
    long = base * c - (front - rear) * s
    tall = base * s + (front - rear) * c
    back, up = 0.3, 0.9 - rear - 0.3 / s * c  # the frame's centre
    d = np.hypot(0.35, 0.12)
    turn = np.pi / 10 - np.arccos(0.35 / d)
    lengths = [long, rake, tall - rake, up * s, back / s + up * c]
    fork = [d * np.cos(turn) - long, rake + d * np.sin(turn)]
    inertias = [0.0603, 0.12, 0.1405, 0.28]
    masses = [2.0, 85.0, 4.0, 3.0, 9.81]
    frames = [9.2, 11.0, 2.8, -2.4, 0.05892, 0.06, 0.00708, 0.00756]
    wheels = [rear, front, lift, *lengths, *fork]
    return np.array([*wheels, *inertias, *masses, *frames])


bike = measured()


def above(pitch, roll, steer):
    """The height of the front wheel's lowest point."""
    return height(np.stack([0.0, roll, pitch, steer]), bike)


def newton(roll, steer):
    def step(k, pitch):
        slope = sg.grad(above)(pitch, roll, steer)
        return pitch - above(pitch, roll, steer) / slope

    return sg.fori_loop(0, 5, step, 0.0)


touching = sg.implicit_root(above, newton)


def slipping(pose, speeds):
    return np.stack(slips(pose, speeds, bike))


def motion(state):
    """Rates of roll, steer, their speeds, and the rear wheel's speed."""
    roll, steer, roll_rate, steer_rate, spin = state
    pose = np.stack([0.0, roll, touching(roll, steer), steer])
    A = sg.jacobian(slipping, argnums=1)(pose, np.zeros(6))
    own = np.stack([roll_rate, steer_rate, spin])
    follow, lead = A[:, [0, 2, 5]], A[:, [1, 3, 4]]
    yaw, pitch, turn = np.linalg.solve(follow, -lead @ own)
    speeds = np.stack([yaw, roll_rate, pitch, steer_rate, spin, turn])
    M, force = system(pose, speeds, bike)
    turned = sg.jvp(slipping, (pose, speeds), (speeds[:4], np.zeros(6)))[1]
    whole = np.block([[M, A.T], [A, np.zeros((3, 3))]])
    found = np.linalg.solve(whole, np.concatenate([force[:, 0], -turned]))
    return np.stack([roll_rate, steer_rate, found[1], found[3], found[4]])


linear = sg.jacobian(motion)


def modes(speed):
    """The eigenvalues at a speed in m/s, sorted by their real parts."""
    straight = np.array([0.0, 0.0, 0.0, 0.0, speed / bike[0]])
    found = np.linalg.eigvals(linear(straight)[:4, :4])
    return found[np.argsort(found.real)]


def growth(speed, oscillates):
    found = [z for z in modes(speed) if (abs(z.imag) > 1e-6) == oscillates]
    return max(z.real for z in found)


weave = brentq(growth, 3.0, 5.0, args=(True,), xtol=1e-12)
capsize = brentq(growth, 5.5, 7.0, args=(False,), xtol=1e-12)
print(f"{weave:.9f} {capsize:.9f}")


#: Speed in m/s; weave, real and imaginary part, capsize, castering.
PUBLISHED = [
    (1, 3.52696170990070, 0.80774027519930, -3.13423125066578, -7.11008014637442),
    (2, 2.68234517512745, 1.68066296590675, -3.07158645641514, -8.67387984831735),
    (3, 1.70675605663975, 2.31582447384325, -2.63366137253667, -10.35101467245920),
    (4, 0.41325331521125, 3.07910818603206, -1.42944427361326, -12.15861426576447),
    (5, -0.77534188219585, 4.46486771378823, -0.32286642900409, -14.07838969279822),
    (6, -1.52644486584142, 5.87673060598709, -0.00406690076970, -16.08537123098026),
    (7, -2.13875644258362, 7.19525913329805, 0.10268170574766, -18.15788466125262),
    (8, -2.69348683581097, 8.46037971396931, 0.14327879765713, -20.27940894394569),
    (9, -3.21675402252485, 9.69377351531791, 0.15790184030917, -22.43788559040858),
    (10, -3.72016840437287, 10.90681139476287, 0.16105338653172, -24.62459635017404),
]


def compared() -> float:
    """Return the largest difference from the published eigenvalues."""
    largest = 0.0
    for speed, real, imaginary, capsize, castering in PUBLISHED:
        wanted = np.array([complex(real, imaginary), complex(real, -imaginary), capsize, castering])
        found = modes(float(speed))
        largest = max(largest, *(np.abs(found - z).min() for z in wanted))
    return float(largest)


def draw(file: str) -> None:
    """Draw the eigenvalues over the speed."""
    import matplotlib.pyplot as plt

    speeds = np.linspace(0.0, 10.0, 201)
    found = np.array([modes(v) for v in speeds])
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(speeds, found.real, "b.", markersize=2)
    axes.plot(speeds, np.abs(found.imag), "r.", markersize=2)
    axes.set(xlabel="speed, m/s", ylabel="real (blue), imaginary (red) part, 1/s", ylim=(-10, 10))
    axes.axvspan(weave, capsize, color="0.85")
    figure.savefig(file)


def main() -> None:
    """Print the comparison with the published table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", help="file to draw the eigenvalues to")
    options = parser.parse_args()
    for speed, *_ in PUBLISHED:
        print(f"{speed:2} m/s ", *(f"{z:22.10f}" for z in modes(float(speed))))
    print(f"stable from {weave:.9f} to {capsize:.9f} m/s")
    print(f"largest difference from the published table: {compared():.1e}")
    if options.plot:
        draw(options.plot)


if __name__ == "__main__":
    main()
