"""Machine learning by hand: a convolutional network, a GRU, a transformer."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- convolutional network


def convolve(x, kernels, bias):
    """Valid convolution of images (n, h, w, c) with kernels (k, k, c, out)."""
    k = kernels.shape[0]
    n, h, w, _ = x.shape
    out = np.zeros((n, h - k + 1, w - k + 1, kernels.shape[3]))
    for i in range(k):
        for j in range(k):
            out += x[:, i : i + h - k + 1, j : j + w - k + 1, :] @ kernels[i, j]
    return out + bias


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def conv_net(params, images, labels):
    """Cross entropy of two convolutions, pools and a dense layer."""
    x = images
    for kernels, bias in params["conv"]:
        x = pool(np.maximum(convolve(x, kernels, bias), 0))
    scores = x.reshape(len(x), -1) @ params["dense"][0] + params["dense"][1]
    scores = scores - scores.max(axis=1, keepdims=True)
    logp = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(labels)), labels])


def digits(n):
    rng = np.random.default_rng(0)
    params = {
        "conv": [(rng.normal(size=(3, 3, 1, 4)) * 0.4, np.zeros(4)),
                 (rng.normal(size=(3, 3, 4, 6)) * 0.2, np.zeros(6))],
        "dense": (rng.normal(size=(24, 5)) * 0.3, np.zeros(5)),
    }  # fmt: skip
    return params, rng.normal(size=(n, 14, 14, 1)), rng.integers(0, 5, n)


# ---------------------------------------------------------------- GRU


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(params, xs, targets):
    """Squared error of a gated recurrent unit over a sequence."""
    h = np.zeros(params["Uz"].shape[0])
    loss = 0.0
    for x, y in zip(xs, targets):
        z = sigmoid(params["Wz"] @ x + params["Uz"] @ h + params["bz"])
        r = sigmoid(params["Wr"] @ x + params["Ur"] @ h + params["br"])
        new = np.tanh(params["Wh"] @ x + params["Uh"] @ (r * h) + params["bh"])
        h = (1 - z) * h + z * new
        loss += (params["V"] @ h - y) ** 2
    return loss / len(xs)


def sequence(n):
    rng = np.random.default_rng(1)
    params = {}
    for gate in "zrh":
        params["W" + gate] = 0.5 * rng.normal(size=(8, 4))
        params["U" + gate] = 0.3 * rng.normal(size=(8, 8))
        params["b" + gate] = np.zeros(8)
    params["V"] = rng.normal(size=8)
    return params, rng.normal(size=(n, 4)), rng.normal(size=n)


# ---------------------------------------------------------------- transformer


def layer_norm(x, g, b):
    mean = x.mean(axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5) + b


def attention(x, block, heads):
    T, d = x.shape
    q, k, v = np.split(x @ block["qkv"], 3, axis=-1)
    mask = np.triu(np.full((T, T), -1e10), k=1)
    out = []
    for h in range(heads):
        part = slice(h * d // heads, (h + 1) * d // heads)
        scores = q[:, part] @ k[:, part].T / np.sqrt(d // heads) + mask
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out.append(scores / scores.sum(axis=-1, keepdims=True) @ v[:, part])
    return np.concatenate(out, axis=-1) @ block["out"]


def transformer(params, tokens):
    """Next-token loss of a small GPT."""
    x = params["embed"][tokens[:-1]] + params["places"][: len(tokens) - 1]
    for block in params["blocks"]:
        x = x + attention(layer_norm(x, *block["ln1"]), block, 2)
        y = layer_norm(x, *block["ln2"]) @ block["up"]
        y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        x = x + y @ block["down"]
    scores = layer_norm(x, *params["ln"]) @ params["embed"].T
    scores = scores - scores.max(axis=-1, keepdims=True)
    logp = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    return -np.mean(logp[np.arange(len(tokens) - 1), tokens[1:]])


def sentence(n):
    rng = np.random.default_rng(3)
    d = 8

    def block():
        return {
            "qkv": 0.3 * rng.normal(size=(d, 3 * d)), "out": 0.3 * rng.normal(size=(d, d)),
            "up": 0.3 * rng.normal(size=(d, 4 * d)), "down": 0.3 * rng.normal(size=(4 * d, d)),
            "ln1": (np.ones(d), np.zeros(d)), "ln2": (np.ones(d), np.zeros(d)),
        }  # fmt: skip

    params = {
        "embed": 0.5 * rng.normal(size=(12, d)), "places": 0.1 * rng.normal(size=(64, d)),
        "blocks": [block(), block()], "ln": (np.ones(d), np.zeros(d)),
    }  # fmt: skip
    return params, rng.integers(0, 12, n)


PROGRAMS = [
    Program("image recognition", conv_net, digits, (2, 16, 20), step=1e-6, tolerance=1e-5),
    Program("speech", gru, sequence, (3, 50, 60)),
    Program("language", transformer, sentence, (4, 24, 32), step=1e-3),
]  # fmt: skip
