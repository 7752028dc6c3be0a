"""A network of two layers with softmax cross-entropy, trained on scikit-learn's digits.

1797 pictures of 8 by 8 pixels; a fifth is kept for the test. The time per step is printed: it
falls when the backward pass has been compiled (SYMGRAD_LOG=1 says when). Needs scikit-learn.
"""

import argparse
import sys
import time

import numpy as np

import symgrad as sg
import symgrad.torch as torch

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("this example needs scikit-learn: pip install scikit-learn")

HIDDEN, BATCH, RATE = 32, 50, 0.3

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=12)
epochs = parser.parse_args().epochs

images, labels = load_digits(return_X_y=True)
images = images / 16.0
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
images, labels = images[order], labels[order]
cut = 4 * len(images) // 5
one_hot = np.eye(10)[labels]

torch.manual_seed(0)
W1 = (torch.randn(64, HIDDEN) * 0.2).requires_grad_()
b1 = torch.zeros(HIDDEN, requires_grad=True)
W2 = (torch.randn(HIDDEN, 10) * 0.2).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)
parameters = (W1, b1, W2, b2)


def scores(x):
    return torch.tanh(x @ W1 + b1) @ W2 + b2


def step(batch):
    """Do one step of gradient descent on a batch and return the loss."""
    x, y = torch.tensor(images[batch]), torch.tensor(one_hot[batch])
    loss = -(torch.log_softmax(scores(x), dim=1) * y).sum() / BATCH
    loss.backward()
    with torch.no_grad():
        for parameter in parameters:
            parameter -= RATE * parameter.grad
            parameter.grad = None
    return loss.item()


def accuracy(part):
    with torch.no_grad():
        guessed = torch.argmax(scores(torch.tensor(images[part])), dim=1)
    return float((guessed.numpy() == labels[part]).mean())


def check_gradient():
    """Compare one gradient with the compiled one of the same function."""
    x, y = images[:BATCH], one_hot[:BATCH]

    def loss(W1, b1, W2, b2):
        z = np.tanh(x @ W1 + b1) @ W2 + b2
        return -np.sum((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))) * y) / BATCH

    expected = sg.grad(loss, (0, 1, 2, 3))(*(p.detach().numpy() for p in parameters))
    for parameter in parameters:
        parameter.grad = None
    loss(*parameters).backward()
    for parameter, gradient in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(parameter.grad, gradient, rtol=1e-9, atol=1e-15)
        parameter.grad = None


check_gradient()
print(f"{'epoch':>6}{'loss':>10}{'test accuracy':>15}{'µs a step':>11}")
for epoch in range(1, epochs + 1):
    shuffled = rng.permutation(cut)
    losses, times = [], []
    for first in range(0, cut - BATCH + 1, BATCH):
        start = time.perf_counter()
        losses.append(step(shuffled[first : first + BATCH]))
        times.append(time.perf_counter() - start)
        if epoch == 1 and first == 4 * BATCH:
            print(f"{'first':>6}{'':>25}{np.median(times) * 1e6:11.0f}")
    tested = accuracy(slice(cut, None))
    print(f"{epoch:6}{np.mean(losses):10.4f}{tested:15.3f}{np.median(times) * 1e6:11.0f}")

assert epochs < 10 or tested > 0.95, tested
