#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recorded cases that Regimen's tests compare with: small inputs, and what PyTorch computes from them.

    python3 tests/recorded/make.py            writes *.safetensors and gpt2/ beside this file

Every case is computed twice from the same fp32 inputs: in fp64, which is the truth (to about 1e-15), and in fp32, which
shows how near a good fp32 implementation comes to it. README.md beside this file lists the tensors. Nothing that builds
or tests Regimen runs this program.
"""

import json
import pathlib
import re
import struct

import numpy
import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = {numpy.dtype(numpy.float64): "F64", numpy.dtype(numpy.float32): "F32", numpy.dtype(numpy.int32): "I32"}


# --- files -----------------------------------------------------------------------------------------------------------


def write(name, meaning, tensors, **options):
    """A safetensors file whose bytes depend on its content alone: widest elements first, then by name."""
    arrays = {key: numpy.ascontiguousarray(value) for key, value in tensors.items()}
    names = sorted(arrays, key=lambda key: (-arrays[key].itemsize, key))
    metadata = {"meaning": meaning, "torch": torch.__version__.split("+")[0], **{k: str(v) for k, v in options.items()}}
    header, offset = {"__metadata__": dict(sorted(metadata.items()))}, 0
    for key in names:
        array = arrays[key]
        header[key] = {"dtype": DTYPES[array.dtype], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = HERE / f"{name}.safetensors"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(arrays[key].tobytes() for key in names))
    return path


def whole(tensor):
    return tensor.detach().to(torch.int32).numpy()


def results(truth, fp32, exact=True):
    """Results by name, from tensors in both precisions: NAME is the truth rounded to fp32, fp32.NAME is what PyTorch
    computes in fp32, fp64.NAME is the truth."""
    tensors = {}
    for key in truth:
        assert truth[key].dtype == torch.float64 and fp32[key].dtype == torch.float32, key
        assert torch.isfinite(truth[key]).all(), key
        tensors[key] = truth[key].detach().float().numpy()
        if exact:
            tensors[f"fp32.{key}"] = fp32[key].detach().numpy()
            tensors[f"fp64.{key}"] = truth[key].detach().numpy()
    return tensors


def leaf(tensor, dtype):
    """A copy that collects a gradient."""
    return tensor.detach().to(dtype, copy=True).requires_grad_()


def twice(compute):
    """compute(dtype) in both precisions, fp64 first."""
    return compute(torch.float64), compute(torch.float32)


# --- layers ----------------------------------------------------------------------------------------------------------


def layer(name, meaning, forward, x, parameters=None, seed=0, integers=None, **options):
    """A case `y = forward(x, parameters)` with an upstream gradient; x is None where integers are the input."""
    parameters = parameters or {}
    generator = torch.Generator().manual_seed(1000 + seed)
    with torch.no_grad():
        shape = forward(x, parameters).shape
    upstream = torch.randn(shape, generator=generator)

    def compute(dtype):
        inner = None if x is None else leaf(x, dtype)
        weights = {key: leaf(value, dtype) for key, value in parameters.items()}
        y = forward(inner, weights)
        y.backward(upstream.to(dtype))
        found = {"output": y}
        if inner is not None:
            found["gradient.input"] = inner.grad
        found.update({f"gradient.{key}": value.grad for key, value in weights.items()})
        return found

    given = {"upstream": upstream.numpy(), **{f"parameter.{key}": value.numpy() for key, value in parameters.items()}}
    if x is not None:
        given["input"] = x.numpy()
    for key, value in (integers or {}).items():
        given[key] = whole(value)
    write(name, meaning, {**given, **results(*twice(compute))}, **options)


def random(generator, *shape, scale=1.0, shift=0.0):
    return torch.randn(*shape, generator=generator) * scale + shift


def attention(x, p, heads, causal):
    batch, length, width = x.shape
    qkv = functional.linear(x, p["qkv.weight"], p["qkv.bias"])
    q, k, v = (part.reshape(batch, length, heads, width // heads).transpose(1, 2) for part in qkv.split(width, dim=2))
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return functional.linear(y.transpose(1, 2).reshape(batch, length, width), p["projection.weight"], p["projection.bias"])


def rotated(x, theta):
    """x (B,H,T,D): channels i and i + D/2 are a complex number, multiplied by e^(i position theta^(-2i/D))."""
    length, half = x.shape[2], x.shape[3] // 2
    speed = theta ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.outer(torch.arange(length, dtype=x.dtype), speed)
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], -1)


def rotary_attention(x, p, heads, key_heads, width, theta):
    """Causal attention, in which heads / key_heads neighbouring heads share keys and values; with weights of norms, each
    head's q and k are normalised."""
    batch, length, _ = x.shape
    qkv = functional.linear(x, p["qkv.weight"], p.get("qkv.bias"))
    q, k, v = (part.reshape(batch, length, -1, width).transpose(1, 2)
               for part in qkv.split([heads * width, key_heads * width, key_heads * width], dim=2))
    if "norm.query" in p:
        q, k = (functional.rms_norm(part, (width,), p[f"norm.{name}"], 1e-6) for part, name in ((q, "query"), (k, "key")))
    y = functional.scaled_dot_product_attention(rotated(q, theta), rotated(k, theta), v, is_causal=True,
                                                enable_gqa=key_heads != heads)
    y = y.transpose(1, 2).reshape(batch, length, heads * width)
    return functional.linear(y, p["projection.weight"], p.get("projection.bias"))


def layers():
    g = torch.Generator().manual_seed(1)

    layer("linear", "y = x weight^T + bias", lambda x, p: functional.linear(x, p["weight"], p["bias"]),
          random(g, 2, 3, 5), {"weight": random(g, 7, 5), "bias": random(g, 7)}, 1)

    rows = random(g, 2, 3, 16)
    rows[0, 1] += 100  # a mean far from zero: a variance computed as E[x²] − E[x]² loses half of its digits
    rows[0, 2] *= 1e-3  # a variance below epsilon
    rows[1, 2] = 0.5  # no variance at all
    norm = {"weight": random(g, 16, scale=0.3, shift=1), "bias": random(g, 16)}
    layer("layer_norm", "LayerNorm over the last axis",
          lambda x, p: functional.layer_norm(x, (16,), p["weight"], p["bias"], 1e-5), rows, norm, 2, epsilon=1e-5)
    layer("rms_norm", "RMSNorm over the last axis: y = x / sqrt(mean(x^2) + epsilon) weight",
          lambda x, p: functional.rms_norm(x, (16,), p["weight"], 1e-5), rows, {"weight": norm["weight"]}, 3, epsilon=1e-5)

    points = torch.cat([torch.linspace(-6, 6, 49), torch.tensor([-100.0, -30, -12, -1e-3, -1e-20, 1e-20, 1e-3, 12, 30, 100, 0.0])])
    points = points.reshape(2, 5, 6)
    layer("gelu_erf", "y = x Phi(x)", lambda x, p: functional.gelu(x), points, seed=4)
    layer("gelu_tanh", "y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
          lambda x, p: functional.gelu(x, approximate="tanh"), points, seed=5)
    layer("relu", "y = max(x, 0); the derivative at 0 is 0", lambda x, p: functional.relu(x), points, seed=6)
    layer("silu", "y = x sigmoid(x)", lambda x, p: functional.silu(x), points, seed=7)

    tokens = torch.tensor([[3, 0, 10, 3, 3, 7], [7, 10, 1, 0, 3, 9]])  # 3 often; 2, 4, 5, 6, 8 never
    layer("embedding", "y = token.weight[tokens] + position.weight", lambda x, p: p["token.weight"][tokens] + p["position.weight"],
          None, {"token.weight": random(g, 11, 8), "position.weight": random(g, 6, 8)}, 8, {"tokens": tokens})

    for name, shape, heads, causal in (
        ("self_attention_causal", (2, 7, 12), 3, True),
        ("self_attention_full", (2, 7, 12), 2, False),
        ("self_attention_causal_long", (1, 131, 4), 2, True),  # longer than a tile of 64 or 128, and odd
        ("self_attention_full_long", (1, 67, 4), 1, False),
    ):
        width = shape[-1]
        layer(name, "qkv Linear, softmax(q k^T / sqrt(width / heads)) v per head, output Linear",
              lambda x, p: attention(x, p, heads, causal), random(g, *shape),
              {"qkv.weight": random(g, 3 * width, width, scale=0.6), "qkv.bias": random(g, 3 * width, scale=0.3),
               "projection.weight": random(g, width, width, scale=0.4), "projection.bias": random(g, width)},
              9, heads=heads, causal=str(causal).lower())


def rotary_layers():
    g = torch.Generator().manual_seed(21)
    layer("self_attention_rotary", "causal attention whose q and k are turned by their positions",
          lambda x, p: rotary_attention(x, p, 3, 3, 4, 100.0), random(g, 2, 7, 12),
          {"qkv.weight": random(g, 36, 12, scale=0.6), "qkv.bias": random(g, 36, scale=0.3),
           "projection.weight": random(g, 12, 12, scale=0.4), "projection.bias": random(g, 12)},
          22, heads=3, causal="true", theta=100)
    layer("self_attention_shared", "the same in 4 heads of 6 channels, of which two share keys and values; without biases",
          lambda x, p: rotary_attention(x, p, 4, 2, 6, 100.0), random(g, 2, 7, 12),
          {"qkv.weight": random(g, 48, 12, scale=0.6), "projection.weight": random(g, 12, 24, scale=0.4)},
          23, heads=4, key_heads=2, width=6, causal="true", theta=100)
    layer("self_attention_normalised", "the same, with RMSNorm of each head's q and k before they are turned",
          lambda x, p: rotary_attention(x, p, 4, 2, 6, 100.0), random(g, 2, 7, 12),
          {"qkv.weight": random(g, 48, 12, scale=0.6), "norm.query": random(g, 6, scale=0.3, shift=1),
           "norm.key": random(g, 6, scale=0.3, shift=1), "projection.weight": random(g, 12, 24, scale=0.4)},
          24, heads=4, key_heads=2, width=6, causal="true", theta=100, norm_epsilon=1e-6)


def window_attention():
    g = torch.Generator().manual_seed(34)

    def forward(x, p):
        q, k, v = (part.reshape(2, 9, 3, 4).transpose(1, 2)
                   for part in functional.linear(x, p["qkv.weight"], p["qkv.bias"]).split(12, dim=2))
        sees = torch.ones(9, 9, dtype=torch.bool).tril().triu(-3)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=sees)
        return functional.linear(y.transpose(1, 2).reshape(2, 9, 12), p["projection.weight"], p["projection.bias"])

    layer("self_attention_window", "causal attention, in which a position sees four positions, its own among them", forward,
          random(g, 2, 9, 12),
          {"qkv.weight": random(g, 36, 12, scale=0.6), "qkv.bias": random(g, 36, scale=0.3),
           "projection.weight": random(g, 12, 12, scale=0.4), "projection.bias": random(g, 12)}, 34, heads=3, window=4)


def alibi_slopes(heads):
    """As get_slopes of Press et al."""
    power = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return slopes if power == heads else slopes + alibi_slopes(2 * power)[0::2][:heads - power]


def distance_attention():
    from transformers.models.t5.modeling_t5 import T5Attention

    g = torch.Generator().manual_seed(36)

    def attend(x, p, heads, bias, causal, scale=None):
        batch, length, _ = x.shape
        q, k, v = (part.reshape(batch, length, heads, -1).transpose(1, 2)
                   for part in functional.linear(x, p["qkv.weight"], p.get("qkv.bias")).chunk(3, dim=2))
        if causal:
            bias = bias + torch.full((length, length), -torch.inf, dtype=x.dtype).triu(1)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
        return functional.linear(y.transpose(1, 2).flatten(2), p["projection.weight"], p.get("projection.bias"))

    def distances(length):
        return torch.arange(length)[None, :] - torch.arange(length)[:, None]

    def relative(x, p, heads, causal, scale=None):
        buckets = T5Attention._relative_position_bucket(distances(x.shape[1]), bidirectional=not causal, num_buckets=8,
                                                        max_distance=16)
        return attend(x, p, heads, p["attend.table"][buckets].permute(2, 0, 1), causal, scale)

    layer("self_attention_alibi", "causal attention, with -slope |t - u| added to the scores",
          lambda x, p: attend(x, p, 3, torch.tensor(alibi_slopes(3), dtype=x.dtype)[:, None, None]
                              * -distances(x.shape[1]).abs(), True), random(g, 2, 9, 12),
          {"qkv.weight": random(g, 36, 12, scale=0.6), "qkv.bias": random(g, 36, scale=0.3),
           "projection.weight": random(g, 12, 12, scale=0.4), "projection.bias": random(g, 12)}, 36, heads=3)
    layer("self_attention_relative", "attention as in T5: with a number for each bucket of distances, without scale and biases",
          lambda x, p: relative(x, p, 2, False, 1.0), random(g, 2, 21, 6),
          {"qkv.weight": random(g, 18, 6, scale=0.4), "attend.table": random(g, 8, 2),
           "projection.weight": random(g, 6, 6, scale=0.4)}, 37, heads=2, buckets=8, max_distance=16)
    layer("self_attention_relative_causal", "the same, causal, with scale and biases",
          lambda x, p: relative(x, p, 2, True), random(g, 1, 21, 6),
          {"qkv.weight": random(g, 18, 6, scale=0.6), "qkv.bias": random(g, 18, scale=0.3),
           "attend.table": random(g, 8, 2), "projection.weight": random(g, 6, 6, scale=0.4),
           "projection.bias": random(g, 6)}, 38, heads=2, buckets=8, max_distance=16)


def cross_attention():
    """Positions 7 to 10 attend to the first ten channels of positions 0 to 6."""
    g = torch.Generator().manual_seed(33)
    module = torch.nn.MultiheadAttention(12, 3, kdim=10, vdim=10, batch_first=True)

    def forward(x, p):
        weights = {"q_proj_weight": p["q.weight"], "k_proj_weight": p["kv.weight"][:12], "v_proj_weight": p["kv.weight"][12:],
                   "in_proj_bias": torch.cat([p["q.bias"], p["kv.bias"]]),
                   "out_proj.weight": p["projection.weight"], "out_proj.bias": p["projection.bias"]}
        text = x[:, :7, :10]
        return torch.func.functional_call(module, weights, (x[:, 7:], text, text), {"need_weights": False})[0]

    layer("cross_attention", "torch.nn.MultiheadAttention of four positions to seven others", forward, random(g, 2, 11, 12),
          {"q.weight": random(g, 12, 12, scale=0.6), "q.bias": random(g, 12, scale=0.3),
           "kv.weight": random(g, 24, 10, scale=0.6), "kv.bias": random(g, 24, scale=0.3),
           "projection.weight": random(g, 12, 12, scale=0.4), "projection.bias": random(g, 12)}, 33, heads=3)


def cross_attention_normalised():
    """Positions 7 to 9 attend to the first five channels of positions 0 to 6."""
    g = torch.Generator().manual_seed(39)

    def forward(x, p):
        heads = [part.reshape(2, -1, 4, 4).transpose(1, 2) for part in (
            functional.linear(x[:, 7:], p["q.weight"]),
            *functional.linear(x[:, :7, :5], p["kv.weight"]).split(16, dim=2))]
        q, k = (functional.rms_norm(part, (4,), p[name], 1e-6) for part, name in zip(heads, ("norm.query", "kv.norm")))
        y = functional.scaled_dot_product_attention(q, k, heads[2], scale=1.0)
        return functional.linear(y.transpose(1, 2).flatten(2), p["projection.weight"])

    layer("cross_attention_normalised", "the same, of three positions, with RMSNorm of each head's q and k; without scale and biases",
          forward, random(g, 2, 10, 8),
          {"q.weight": random(g, 16, 8, scale=0.6), "norm.query": random(g, 4, scale=0.3, shift=1),
           "kv.weight": random(g, 32, 5, scale=0.6), "kv.norm": random(g, 4, scale=0.3, shift=1),
           "projection.weight": random(g, 8, 16, scale=0.4)}, 39, heads=4, width=4, norm_epsilon=1e-6)


def more_layers():
    g = torch.Generator().manual_seed(7)

    layer("linear_no_bias", "y = x weight^T", lambda x, p: functional.linear(x, p["weight"]),
          random(g, 2, 3, 5), {"weight": random(g, 7, 5)}, 11)
    rows = random(g, 2, 3, 16, scale=1e-3)  # variances near epsilon
    norm = {"weight": random(g, 16, scale=0.3, shift=1), "bias": random(g, 16)}
    layer("layer_norm_epsilon", "LayerNorm over the last axis",
          lambda x, p: functional.layer_norm(x, (16,), p["weight"], p["bias"], 1e-6), rows, norm, 12, epsilon=1e-6)
    layer("rms_norm_epsilon", "RMSNorm over the last axis: y = x / sqrt(mean(x^2) + epsilon) weight",
          lambda x, p: functional.rms_norm(x, (16,), p["weight"], 1e-6), rows, {"weight": norm["weight"]}, 13, epsilon=1e-6)

    points = torch.cat([torch.linspace(-6, 6, 49), torch.tensor([-100.0, -30, -12, -1e-3, -1e-20, 1e-20, 1e-3, 12, 30, 100, 0.1])])
    points = points.reshape(2, 5, 6)
    layer("sigmoid", "y = 1 / (1 + e^-x)", lambda x, p: torch.sigmoid(x), points, seed=14)
    layer("tanh", "y = tanh(x)", lambda x, p: torch.tanh(x), points, seed=15)
    layer("hard_swish", "y = x min(max(x + 3, 0), 6) / 6", lambda x, p: functional.hardswish(x), points + 0.01, seed=16)

    layer("class_token", "token before all positions",
          lambda x, p: torch.cat([p["token"].expand(x.shape[0], 1, -1), x], 1), random(g, 2, 3, 5), {"token": random(g, 5)}, 17)
    layer("take_first", "the first position", lambda x, p: x[:, 0], random(g, 2, 3, 5), seed=18)
    layer("mean_pool", "the mean over positions", lambda x, p: x.mean(1), random(g, 2, 7, 5), seed=19)
    layer("gate", "y = silu(x first^T) (x second^T)",
          lambda x, p: functional.silu(functional.linear(x, p["first"])) * functional.linear(x, p["second"]),
          random(g, 2, 3, 5), {"first": random(g, 7, 5), "second": random(g, 7, 5)}, 20)
    layer("concatenation", "[x, x weight^T + bias] over the last axis",
          lambda x, p: torch.cat([x, functional.linear(x, p["weight"], p["bias"])], -1),
          random(g, 2, 3, 5), {"weight": random(g, 7, 5), "bias": random(g, 7)}, 21)
    layer("layer_scale", "y = x weight", lambda x, p: x * p["weight"], random(g, 2, 3, 16), {"weight": random(g, 16)}, 22)


def norms_and_pools():
    g = torch.Generator().manual_seed(23)
    x = random(g, 3, 2, 3, 16)  # images of 2 x 3 pixels; tests read them as 6 positions
    x[1, ..., :4] += 100  # a mean far from zero
    x[2, ..., 4:8] *= 1e-3  # a variance below epsilon

    def norm(x, p):
        image = x.reshape(3, 2, 3, 16).permute(0, 3, 1, 2)
        return functional.group_norm(image, 4, p["weight"], p["bias"], 1e-3).permute(0, 2, 3, 1).reshape(3, 6, 16)

    layer("group_norm", "GroupNorm in 4 groups of images (3,2,3,16), which are permuted to (3,16,2,3) and back", norm,
          x.reshape(3, 6, 16), {"weight": random(g, 16, scale=0.3, shift=1), "bias": random(g, 16)}, 24, epsilon=1e-3)
    layer("global_max_pool", "the largest of all positions", lambda x, p: functional.adaptive_max_pool1d(x.transpose(1, 2), 1)[..., 0],
          random(g, 2, 7, 5), seed=25)
    scores = random(g, 2, 5, 6, scale=3)
    scores[0, 1] *= 30  # probabilities that underflow
    scores[1, 2] += 1000  # exponentials that overflow unless the largest is taken off first
    layer("softmax", "softmax over the last axis", lambda x, p: functional.softmax(x, -1), scores, seed=26)


def recurrent_layers():
    """By PyTorch's own layers, whose parameters are named weight_ih_l0, ..."""
    g = torch.Generator().manual_seed(27)

    def by(kind, bias):
        def forward(x, p):
            recurrent = kind(x.shape[2], p["weight_hh"].shape[1], batch_first=True, bias=bias).to(x.dtype)
            return torch.func.functional_call(recurrent, {f"{name}_l0": value for name, value in p.items()}, (x,))[0]

        return forward

    for name, kind, parts in (("lstm", nn.LSTM, 4), ("gru", nn.GRU, 3)):
        weights = {"weight_ih": random(g, parts * 4, 5, scale=0.6), "weight_hh": random(g, parts * 4, 4, scale=0.6)}
        biases = {"bias_ih": random(g, parts * 4, scale=0.5), "bias_hh": random(g, parts * 4, scale=0.5)}
        x = random(g, 2, 7, 5)
        layer(name, f"torch.nn.{kind.__name__}, zero initial state", by(kind, True), x, {**weights, **biases}, 28)
        layer(f"{name}_no_bias", "the same without biases", by(kind, False), x, weights, 29)


def state():
    g = torch.Generator().manual_seed(9)
    x = random(g, 3, 5, 16, shift=1)
    x[..., 3] += 100  # a mean far from zero
    x[..., 5] *= 1e-3  # a variance below epsilon
    parameters = {"weight": random(g, 16, scale=0.3, shift=1), "bias": random(g, 16)}
    before = {"running_mean": random(g, 16), "running_var": random(g, 16, scale=0.1, shift=1)}
    upstream = random(g, 3, 5, 16)

    def compute(dtype):
        inner = leaf(x, dtype)
        weights = {key: leaf(value, dtype) for key, value in parameters.items()}
        running = {key: value.to(dtype, copy=True) for key, value in before.items()}

        def norm(training):
            y = functional.batch_norm(inner.reshape(-1, 16), running["running_mean"], running["running_var"],
                                      weights["weight"], weights["bias"], training, 0.2, 1e-3)
            return y.reshape(x.shape)

        norm(True).backward(upstream.to(dtype))
        found = {"gradient.input": inner.grad, **{f"gradient.{key}": value.grad for key, value in weights.items()}}
        return {**found, **running, "output": norm(False)}

    given = {**parameters, **before}
    write("batch_norm", "BatchNorm over all but the last axis, momentum 0.2: gradients and running statistics of a batch; "
          "output: of the same input by these statistics",
          {"input": x.numpy(), "upstream": upstream.numpy(),
           **{f"parameter.{key}": value.numpy() for key, value in given.items()}, **results(*twice(compute))}, epsilon=1e-3)


def convolutions():
    g = torch.Generator().manual_seed(9)
    for name, image, weight, biased, options in (
        ("conv2d", (2, 5, 4, 3), (6, 3, 3, 3), True, dict(stride=2, padding=1, dilation=1, groups=1)),
        ("conv2d_groups", (2, 6, 5, 4), (6, 2, 3, 2), True, dict(stride=1, padding=2, dilation=2, groups=2)),
        ("conv2d_depthwise", (2, 4, 5, 6), (6, 3, 3, 1), False, dict(stride=1, padding=1, dilation=1, groups=6)),
        ("conv2d_pixels", (2, 3, 2, 5), (7, 1, 1, 5), True, dict(stride=1, padding=0, dilation=1, groups=1)),
    ):
        def forward(x, p):  # channels last, in the weight too; positions row by row
            y = functional.conv2d(x.reshape(image).permute(0, 3, 1, 2), p["weight"].permute(0, 3, 1, 2), p.get("bias"), **options)
            return y.permute(0, 2, 3, 1).flatten(1, 2)

        batch, height, width, channels = image
        parameters = {"weight": random(g, *weight), **({"bias": random(g, weight[0])} if biased else {})}
        layer(name, "convolution of images: positions (height width), weight (out, window height, window width, channels / groups)",
              forward, random(g, batch, height * width, channels), parameters, 23, height=height, width=width, **options)


def other_convolutions():
    g = torch.Generator().manual_seed(64)

    def positions(x, p):  # channels last, in the weight too
        return functional.conv1d(x.mT, p["weight"].mT, p["bias"], stride=2, padding=1, groups=2).mT

    layer("conv1d", "convolution of positions, weight (out, window, channels / groups); stride 2, padding 1, 2 groups",
          positions, random(g, 2, 9, 4), {"weight": random(g, 6, 3, 2), "bias": random(g, 6)}, 65)

    def causal(x, p):
        return functional.conv1d(functional.pad(x.mT, (4, 0)), p["weight"].mT, dilation=2).mT

    layer("conv1d_causal", "convolution of positions with 4 zeros before the first, weight (out, window, channels); "
          "dilation 2", causal, random(g, 2, 7, 3), {"weight": random(g, 4, 3, 3)}, 66)

    def volumes(x, p):  # channels last, positions frame by frame; the weight's last extent has frames, then channels
        weight = p["weight"].reshape(6, 3, 2, 2, 2).permute(0, 4, 3, 1, 2)
        y = functional.conv3d(x.reshape(2, 3, 4, 3, 4).permute(0, 4, 1, 2, 3), weight, p["bias"], stride=2, padding=1, groups=2)
        return y.permute(0, 2, 3, 4, 1).flatten(1, 3)

    layer("conv3d", "convolution of volumes of 3 x 4 x 3: positions (depth height width), weight (out, window height, window "
          "width, window depth * channels / groups); stride 2, padding 1, 2 groups", volumes,
          random(g, 2, 36, 4), {"weight": random(g, 6, 3, 2, 4), "bias": random(g, 6)}, 67)


def transposed_convolution():
    g = torch.Generator().manual_seed(36)

    def forward(x, p):  # channels last, in the weight too; positions row by row
        y = functional.conv_transpose2d(x.reshape(2, 3, 2, 4).permute(0, 3, 1, 2), p["weight"].permute(0, 3, 1, 2),
                                        p["bias"], stride=2, padding=1, output_padding=1, groups=2)
        return y.permute(0, 2, 3, 1).flatten(1, 2)

    layer("conv_transpose2d", "transposed convolution of images of 3 x 2: positions (height width), weight (in, window "
          "height, window width, out / groups); stride 2, padding 1, output padding 1, 2 groups", forward,
          random(g, 2, 6, 4), {"weight": random(g, 4, 3, 2, 2), "bias": random(g, 4)}, 39)


def pools():
    g = torch.Generator().manual_seed(35)

    def of_image(name, meaning, height, width, map_image, seed):
        def forward(x, p):  # channels last, positions row by row
            y = map_image(x.reshape(2, height, width, 3).permute(0, 3, 1, 2))
            return y.permute(0, 2, 3, 1).reshape(2, -1, 3)

        layer(name, f"{meaning} of images (2,{height},{width},3), which are permuted to (2,3,{height},{width}) and back",
              forward, random(g, 2, height * width, 3), seed=seed)

    of_image("max_pool", "MaxPool2d(3, stride 2, padding 1)", 7, 6, lambda x: functional.max_pool2d(x, 3, 2, 1), 35)
    of_image("average_pool", "AvgPool2d(3, stride 2, padding 1)", 7, 6, lambda x: functional.avg_pool2d(x, 3, 2, 1), 36)
    for size, name, height, width in (2, "upsample_bilinear", 3, 4), (3, "upsample_bilinear_3", 2, 3):
        of_image(name, f"Upsample({size}, bilinear, align_corners=False)", height, width,
                 lambda x: functional.interpolate(x, scale_factor=size, mode="bilinear", align_corners=False), 35 + size)
    of_image("downsample", "interpolate(1/3, nearest)", 6, 9, lambda x: functional.interpolate(x, scale_factor=1 / 3), 39)
    for size, name, height, width in (3, "downsample_bilinear_3", 6, 9), (4, "downsample_bilinear_4", 4, 8):
        of_image(name, f"interpolate(1/{size}, bilinear, align_corners=False)", height, width,
                 lambda x: functional.interpolate(x, scale_factor=1 / size, mode="bilinear", align_corners=False), 37 + size)


# --- losses ----------------------------------------------------------------------------------------------------------


def losses():
    g = torch.Generator().manual_seed(2)
    rows, vocabulary = 10, 7
    logits = random(g, rows, vocabulary, scale=3)
    logits[2] *= 30  # probabilities that underflow
    logits[3] += 1000  # exponentials that overflow unless the largest logit is taken off first
    target = torch.randint(vocabulary, (rows,), generator=g)
    ignoring = target.clone()
    ignoring[[0, 4, 5]] = -100
    mask = torch.tensor([1, 1, 0, 1, 0, 1, 1, 1, 0, 1])
    masked = torch.where(mask == 1, target, -100)

    def case(name, meaning, target, smoothing, extra=None):
        def compute(dtype):
            x = leaf(logits, dtype)
            total = functional.cross_entropy(x, target, reduction="sum", ignore_index=-100, label_smoothing=smoothing)
            total.backward()
            mean = functional.cross_entropy(logits.to(dtype), target, ignore_index=-100, label_smoothing=smoothing)
            return {"loss_sum": total.reshape(1), "loss": mean.reshape(1), "gradient.logits": x.grad}

        count = numpy.array([int((target != -100).sum())], dtype=numpy.int32)
        write(name, meaning, {"logits": logits.numpy(), "target": whole(target), "count": count, **(extra or {}),
                              **results(*twice(compute))}, smoothing=smoothing, ignore_index=-100)

    about = "softmax cross-entropy; gradient.logits is of loss_sum, loss = loss_sum / count"
    case("cross_entropy", about, target, 0.0)
    case("cross_entropy_ignore", about + "; rows with target -100 count for nothing", ignoring, 0.0)
    case("cross_entropy_smoothing", about + "; q = (1 - smoothing) onehot + smoothing / classes", target, 0.1)
    case("cross_entropy_ignore_smoothing", about + "; both", ignoring, 0.1)
    case("cross_entropy_masked", about + "; only rows with mask 1 count; target has -100 in the others, target.unmasked "
         "has the classes", masked, 0.0, {"mask": whole(mask), "target.unmasked": whole(target)})

    output, goal = random(g, 4, 3), random(g, 4, 3)

    def compute(dtype):
        x = leaf(output, dtype)
        total = functional.mse_loss(x, goal.to(dtype), reduction="sum")
        total.backward()
        return {"loss_sum": total.reshape(1), "loss": functional.mse_loss(output.to(dtype), goal.to(dtype)).reshape(1), "gradient.output": x.grad}

    write("squared_error", "sum of (output - target)^2; gradient.output is of loss_sum, loss = loss_sum / count",
          {"output": output.numpy(), "target": goal.numpy(), "count": numpy.array([output.numel()], dtype=numpy.int32),
           **results(*twice(compute))})


def more_losses():
    g = torch.Generator().manual_seed(8)
    output = random(g, 4, 3, scale=2)
    for name, meaning, function, goal in (
        ("huber", "d^2 / 2 up to delta = 1/2, delta (d - delta / 2) beyond, summed",
         lambda x, t, reduction: functional.huber_loss(x, t, reduction=reduction, delta=0.5), random(g, 4, 3)),
        ("binary_cross_entropy", "binary cross-entropy of logits, summed",
         lambda x, t, reduction: functional.binary_cross_entropy_with_logits(x, t, reduction=reduction),
         torch.rand(4, 3, generator=g)),
    ):
        def compute(dtype):
            x = leaf(output, dtype)
            total = function(x, goal.to(dtype), "sum")
            total.backward()
            return {"loss_sum": total.reshape(1), "loss": function(output.to(dtype), goal.to(dtype), "mean").reshape(1),
                    "gradient.output": x.grad}

        write(name, meaning + "; gradient.output is of loss_sum, loss = loss_sum / count",
              {"output": output.numpy(), "target": goal.numpy(), "count": numpy.array([output.numel()], dtype=numpy.int32),
               **results(*twice(compute))})


def masked_losses():
    """Targets that are NaN do not exist; nor does the output there."""
    g = torch.Generator().manual_seed(63)
    output, goal = random(g, 4, 3, scale=2), random(g, 4, 3)
    for i in (0, 4, 5, 11):
        goal.view(-1)[i] = float("nan")
    logits, wanted = random(g, 10, 7, scale=3), torch.softmax(random(g, 10, 7, scale=2), dim=1)
    for i in (1, 2, 9):
        wanted[i] = float("nan")
    for name, given, of, x, target, function in (
        ("masked_huber", "output", "elements", output, goal,
         lambda x, t, reduction: functional.huber_loss(x, t, reduction=reduction, delta=0.5)),
        ("masked_soft_cross_entropy", "logits", "rows", logits, wanted, functional.cross_entropy),
    ):
        counts = ~torch.isnan(target) if of == "elements" else ~torch.isnan(target[:, 0])

        def compute(dtype):
            y = leaf(x, dtype)
            total = function(y[counts], target.to(dtype)[counts], reduction="sum")
            total.backward()
            return {"loss_sum": total.reshape(1), "gradient." + given: y.grad,
                    "loss": function(x.to(dtype)[counts], target.to(dtype)[counts], reduction="mean").reshape(1)}

        write(name, f"of the {of} whose target is not NaN; gradient.{given} is of loss_sum, loss = loss_sum / count",
              {given: x.numpy(), "target": target.numpy(),
               "count": numpy.array([int(counts.sum())], dtype=numpy.int32), **results(*twice(compute))})


def weighted_losses():
    """Each target has a weight: loss = loss_sum / the sum of the weights of those that count."""
    g = torch.Generator().manual_seed(71)
    logits, target = random(g, 10, 7, scale=3), torch.randint(7, (10,), generator=g)
    target[[1, 6]] = -100
    classes = torch.rand(7, generator=g) * 3
    classes[3] = 0
    target[4] = 3
    weight = torch.where(target == -100, torch.tensor(0.25), classes[target.clamp(min=0)])

    def compute(dtype):
        x = leaf(logits, dtype)
        given = {"weight": classes.to(dtype), "ignore_index": -100}
        total = functional.cross_entropy(x, target, reduction="sum", **given)
        total.backward()
        mean = functional.cross_entropy(logits.to(dtype), target, **given)
        return {"loss_sum": total.reshape(1), "loss": mean.reshape(1), "gradient.logits": x.grad}

    write("weighted_cross_entropy", "cross_entropy with weight=classes; weight is that of each row's class; gradient.logits is "
          "of loss_sum", {"logits": logits.numpy(), "target": whole(target), "classes": classes.numpy(),
                          "weight": weight.numpy(), **results(*twice(compute))})

    output, goal, weight = random(g, 4, 3, scale=2), random(g, 4, 3), torch.rand(4, 3, generator=g)
    weight.view(-1)[[2, 7]] = 0

    def compute(dtype):
        x = leaf(output, dtype)
        total = (weight.to(dtype) * functional.huber_loss(x, goal.to(dtype), reduction="none", delta=0.5)).sum()
        total.backward()
        return {"loss_sum": total.reshape(1), "loss": (total / weight.to(dtype).sum()).reshape(1), "gradient.output": x.grad}

    write("weighted_huber", "of elements, each with a weight; gradient.output is of loss_sum",
          {"output": output.numpy(), "target": goal.numpy(), "weight": weight.numpy(), **results(*twice(compute))}, delta=0.5)


def soft_cross_entropy():
    g = torch.Generator().manual_seed(9)
    rows, vocabulary = 10, 7
    logits = random(g, rows, vocabulary, scale=3)
    logits[2] *= 30
    logits[3] += 1000
    goal = torch.softmax(random(g, rows, vocabulary, scale=2), dim=1)  # as distillation has them
    goal[0] = 0.75 * torch.eye(vocabulary)[2] + 0.25 * torch.eye(vocabulary)[5]  # as mixup has them
    goal[4] = torch.eye(vocabulary)[6]
    goal[5] = 0
    goal[6] *= 3  # sums to 3

    def compute(dtype):
        x = leaf(logits, dtype)
        total = functional.cross_entropy(x, goal.to(dtype), reduction="sum")
        total.backward()
        return {"loss_sum": total.reshape(1), "gradient.logits": x.grad,
                "loss": functional.cross_entropy(logits.to(dtype), goal.to(dtype)).reshape(1)}

    write("soft_cross_entropy", "softmax cross-entropy with a distribution for each row; gradient.logits is of loss_sum, "
          "loss = loss_sum / count",
          {"logits": logits.numpy(), "target": goal.numpy(), "count": numpy.array([rows], dtype=numpy.int32),
           **results(*twice(compute))})


def nt_xent():
    g = torch.Generator().manual_seed(10)
    samples, channels = 5, 3
    views = random(g, samples, 2, channels, scale=2)
    views[3] *= 100
    target = torch.tensor([0, -100, 0, 0, 0])

    def compute(dtype):
        x = leaf(views, dtype)
        z = functional.normalize(x[target == 0].flatten(0, 1), dim=1)
        similarity = (z @ z.T / 0.1).masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        total = functional.cross_entropy(similarity, torch.arange(len(z)) ^ 1, reduction="sum")
        total.backward()
        return {"loss_sum": total.reshape(1), "loss": (total.detach() / len(z)).reshape(1), "gradient.output": x.grad}

    write("nt_xent", "cross-entropy of cosine similarities, divided by a temperature of 1/10, of all views but the row's "
          "own, with the other view as target; samples of target -100 do not exist; gradient.output is of loss_sum",
          {"output": views.numpy(), "target": whole(target), "count": numpy.array([8], dtype=numpy.int32),
           **results(*twice(compute))})
def weighted_sum():
    g = torch.Generator().manual_seed(31)
    logits, numbers = random(g, 6, 5, scale=2), random(g, 6, 3)
    target, goal = torch.randint(5, (6,), generator=g), random(g, 6, 3)
    ignoring = target.clone()
    ignoring[[1, 4]] = -100

    def total(x, y, dtype, target):
        if (target == -100).any():  # an ignored target adds nothing, and counts
            classes = functional.cross_entropy(x, target, reduction="none", ignore_index=-100).mean()
        else:
            classes = functional.cross_entropy(x, target)
        return classes + 0.5 * functional.mse_loss(y, goal.to(dtype))

    def compute(dtype):
        found = {}
        for suffix, labels in (("", target), (".ignoring", ignoring)):
            x, y = leaf(logits, dtype), leaf(numbers, dtype)
            loss = total(x, y, dtype, labels)
            loss.backward()
            found |= {"loss" + suffix: loss.reshape(1), "gradient.logits" + suffix: x.grad, "gradient.numbers" + suffix: y.grad}
        return found

    write("weighted_sum", "cross-entropy of logits plus 1/2 mean squared error of numbers; .ignoring: the same with "
          "target.ignoring, where -100 adds nothing and counts",
          {"logits": logits.numpy(), "numbers": numbers.numpy(), "target": whole(target), "target.ignoring": whole(ignoring),
           "goal": goal.numpy(), **results(*twice(compute))})


# --- optimizers ------------------------------------------------------------------------------------------------------


def optimizers():
    g = torch.Generator().manual_seed(3)
    steps, count = 5, 13
    start = random(g, count)
    gradients = random(g, steps, count) * torch.tensor([1.0, 10.0, 0.1, 1e-4, 1.0]).unsqueeze(1)
    gradients[:, 4] = 0  # one that never gets a gradient: only decay moves it
    gradients[:, 7] *= 1e-8  # one whose gradients are near Adam's epsilon

    for name, kind, options in (
        ("adamw", torch.optim.AdamW, dict(lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)),
        ("adam", torch.optim.Adam, dict(lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)),
        ("sgd", torch.optim.SGD, dict(lr=1e-1, weight_decay=0.1)),
        ("sgd_momentum", torch.optim.SGD, dict(lr=1e-1, momentum=0.9, weight_decay=0.1)),
        ("sgd_nesterov", torch.optim.SGD, dict(lr=1e-1, momentum=0.9, nesterov=True, weight_decay=0.1)),
        ("rmsprop", torch.optim.RMSprop, dict(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.1)),
        ("rmsprop_momentum", torch.optim.RMSprop, dict(lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.9)),
    ):
        def compute(dtype):
            weight = leaf(start, dtype)
            optimizer = kind([weight], foreach=False, **options)
            history = []
            for gradient in gradients:
                weight.grad = gradient.to(dtype).clone()
                optimizer.step()
                history.append(weight.detach().clone())
            return {"weights": torch.stack(history)}

        write(f"optimizer_{name}", f"torch.optim.{kind.__name__}: row i of weights is what step i leaves",
              {"start": start.numpy(), "gradients": gradients.numpy(), **results(*twice(compute))}, **options)


class Lamb(torch.optim.Optimizer):
    """You et al. 2020, algorithm 2, with phi(z) = z. PyTorch has none."""

    def __init__(self, parameters, lr, betas, eps, weight_decay):
        super().__init__(parameters, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                state, (beta1, beta2) = self.state[w], group["betas"]
                t = state["t"] = state.get("t", 0) + 1
                m = state["m"] = torch.lerp(w.grad, state.get("m", torch.zeros_like(w)), beta1)
                v = state["v"] = torch.lerp(w.grad.square(), state.get("v", torch.zeros_like(w)), beta2)
                r = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"]) + group["weight_decay"] * w
                w -= group["lr"] * w.norm() / r.norm() * r


class Muon(torch.optim.Optimizer):
    """torch.optim.Muon, which iterates in bf16, in the type of the weights."""

    def __init__(self, parameters, lr, weight_decay, momentum, nesterov):
        super().__init__(parameters, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                state, mu = self.state[w], group["momentum"]
                m = state["m"] = mu * state.get("m", 0) + w.grad
                u = w.grad + mu * m if group["nesterov"] else m
                x = u / u.norm()
                for _ in range(5):
                    square = x.T @ x
                    x = 3.4445 * x + x @ (-4.7750 * square + 2.0315 * square @ square)
                w *= 1 - group["lr"] * group["weight_decay"]
                w -= group["lr"] * 0.2 * max(w.shape) ** 0.5 * x


def whole_tensor_optimizers():
    g = torch.Generator().manual_seed(37)
    steps = 5

    def record(name, meaning, kind, start, gradients, options, peer=None):
        def compute(dtype, kind=kind, **more):
            weight = leaf(start, dtype)
            optimizer = kind([weight], **options, **more)
            history = []
            for gradient in gradients:
                weight.grad = gradient.to(dtype).clone()
                optimizer.step()
                history.append(weight.detach().clone())
            return {"weights": torch.stack(history)}

        truth = compute(torch.float64)
        if peer is not None:  # within bf16's roundings of the way that the weights went
            other = compute(torch.float64, peer, adjust_lr_fn="match_rms_adamw")["weights"][-1]
            way = truth["weights"][-1] - start
            assert (other - truth["weights"][-1]).norm() < 0.02 * way.norm()
        write(name, meaning, {"start": start.numpy(), "gradients": gradients.numpy(),
                              **results(truth, compute(torch.float32))}, **options)

    record("optimizer_lamb", "LAMB: row i of weights is what step i leaves", Lamb, random(g, 13),
           random(g, steps, 13) * torch.tensor([1.0, 10.0, 0.1, 1e-4, 1.0]).unsqueeze(1),
           dict(lr=1e-1, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.1))
    for name, nesterov in (("muon", True), ("muon_plain", False)):
        record(f"optimizer_{name}", "Muon: matrix i of weights is what step i leaves", Muon, random(g, 16, 3),
               random(g, steps, 16, 3), dict(lr=1e-2, weight_decay=0.1, momentum=0.9, nesterov=nesterov), torch.optim.Muon)


# --- loss scale ------------------------------------------------------------------------------------------------------


def dynamic_scale(initial, growth, finite):
    """Keras' dynamic loss scale. Finite: the streak grows, and at `growth` of them the scale doubles if that is a finite
    fp32 number, and the streak starts anew. Not finite: the scale halves, but not below 1; the streak starts anew, and
    the step is skipped."""
    scale, streak, scales, streaks = initial, 0, [], []
    largest = float(numpy.finfo(numpy.float32).max)
    for good in finite:
        if good:
            streak += 1
            if streak == growth:
                scale = scale * 2 if scale * 2 <= largest else scale
                streak = 0
        else:
            scale, streak = max(scale / 2, 1.0), 0
        scales.append(scale)
        streaks.append(streak)
    return scales, streaks


def loss_scales():
    seeded = numpy.random.RandomState(4)
    for name, initial, growth, finite in (
        ("usual", 2.0**15, 20, [0, 0, 0] + list((seeded.rand(197) > 0.05).astype(int))),
        ("floor", 8.0, 3, [0] * 5 + [1] * 7 + [0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0]),
        ("ceiling", 2.0**125, 2, [1] * 9 + [0] + [1] * 6),
        ("default", 2.0**15, 2000, [0, 0] + [1] * 1999 + [1] + [1] * 1999 + [0]),
    ):
        scales, streaks = dynamic_scale(initial, growth, finite)
        keep = range(len(finite))
        if name == "default":  # thousands of steps: only where something happens, and the steps around
            keep = [i for i in keep if i < 4 or i > 3998 or 1998 < i < 2006]
        write(f"loss_scale_{name}", "dynamic loss scale: what step[i] (from 1) leaves, given whether its gradients were finite; "
              "the steps between those listed are finite",
              {"step": numpy.array([i + 1 for i in keep], numpy.int32), "finite": numpy.array([finite[i] for i in keep], numpy.int32),
               "scale": numpy.array([scales[i] for i in keep], numpy.float32), "streak": numpy.array([streaks[i] for i in keep], numpy.int32)},
              initial=initial, growth_steps=growth, steps=len(finite))


# --- training curves -------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        return attention(x, dict(self.named_parameters()), self.heads, True)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, 4 * width)
        self.projection = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.projection(functional.gelu(self.hidden(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


class Mlp(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for linear in self.layers[:-1]:
            x = functional.relu(linear(x))
        return self.layers[-1](x)


def groups(model, decay):
    """Weights of Linear layers decay; biases, norms and embeddings do not."""
    matrices = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
    rest = [p for p in model.parameters() if not any(p is m for m in matrices)]
    return [{"params": matrices, "weight_decay": decay}, *([{"params": rest, "weight_decay": 0.0}] if rest else [])]


def curve(name, meaning, model, updater, inputs, targets, given, keeps_start=True, **options):
    """Trains copies of the model in both precisions."""
    start = {key: value.detach().clone() for key, value in model.state_dict().items()}

    def compute(dtype):
        model.to(dtype).load_state_dict(start)
        update = updater(model)
        losses, norms, found = [], [], {}
        for x, y in zip(inputs, targets):
            loss = functional.cross_entropy(model(x.to(dtype) if x.is_floating_point() else x).flatten(0, -2), y.flatten())
            update.zero_grad()
            loss.backward()
            losses.append(loss.detach())
            norms.append(torch.stack([p.grad.square().sum() for p in model.parameters()]).sum().sqrt())
            update.step()
        found = {f"final.{key}": value.detach().clone() for key, value in model.named_parameters()}
        return {"losses": torch.stack(losses), "gradient_norms": torch.stack(norms)}, found

    (truth, final), (fp32, final32) = twice(compute)
    tensors = {**given, **results(truth, fp32), **results(final, final32, exact=False)}
    if keeps_start:
        tensors.update({f"parameter.{key}": value.numpy() for key, value in start.items()})
    # Scores do not change when all keys move by the same vector, so the key part of a qkv.bias has gradient 0, of which fp32
    # leaves rounding noise, and Adam makes steps of the learning rate out of noise. It has no effect on anything else.
    drift, drift_key = 0.0, 0.0
    for key in final:
        difference = (final32[key].double() - final[key]).abs()
        if key.endswith("qkv.bias"):
            query, middle, value = difference.chunk(3)
            difference, drift_key = torch.cat([query, value]), max(drift_key, float(middle.max()))
        drift = max(drift, float(difference.max()))
    if drift_key:
        options["fp32_key_bias_difference"] = f"{drift_key:.3g}"
    write(name, meaning, tensors, parameters=",".join(start), fp32_final_difference=f"{drift:.3g}", **options)


def curves():
    torch.manual_seed(5)
    layers, heads, width, context, vocabulary, batch, steps = 2, 2, 16, 8, 11, 4, 20
    model = Gpt(layers, heads, width, context, vocabulary)
    for key, parameter in model.named_parameters():  # not the usual initial values: biases and gains that are 0 and 1 hide mistakes
        nn.init.normal_(parameter, mean=1.0 if re.search(r"norm\d?\.weight$", key) else 0.0, std=0.15)
    text = torch.empty(steps, batch, context + 1, dtype=torch.long)
    text[:, :, 0] = torch.randint(vocabulary, (steps, batch))
    for t in range(context):  # mostly a rule (times 3 plus 1), so that there is something to learn
        noise = torch.randint(vocabulary, (steps, batch))
        text[:, :, t + 1] = torch.where(torch.rand(steps, batch) < 0.8, (3 * text[:, :, t] + 1) % vocabulary, noise)
    tokens, targets = text[:, :, :-1], text[:, :, 1:]
    adamw = dict(lr=1e-2, betas=(0.9, 0.99), eps=1e-8)
    curve("train_gpt", "20 steps of a small GPT: losses and gradient norms before each update, weights after the last",
          model, lambda m: torch.optim.AdamW(groups(m, 0.1), foreach=False, **adamw), tokens, targets,
          {"tokens": whole(tokens), "targets": whole(targets)}, layers=layers, heads=heads, width=width, context=context,
          vocabulary=vocabulary, batch=batch, optimizer="AdamW", weight_decay="0.1 on the weights of Linear layers", gelu="tanh",
          norm_epsilon=1e-5, **adamw)

    torch.manual_seed(6)
    widths, batch = (6, 12, 9, 5), 8
    model = Mlp(*widths)
    inputs = torch.randn(steps, batch, widths[0])
    labels = (inputs @ torch.randn(widths[0], widths[-1])).argmax(-1)
    sgd = dict(lr=0.1, momentum=0.9)
    curve("train_mlp", "20 steps of a small MLP with ReLU: losses and gradient norms before each update, weights after the last",
          model, lambda m: torch.optim.SGD(groups(m, 0.0), foreach=False, **sgd), inputs, labels,
          {"inputs": inputs.numpy(), "targets": whole(labels)}, widths=",".join(map(str, widths)), batch=batch, optimizer="SGD", **sgd)


class TiedGpt(Gpt):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        table = self.token
        del self.output, self.token
        self.token = table  # comes last in the model, which both ends use

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.token.weight)


class Normed(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.hidden = nn.Linear(widths[0], widths[1], bias=False)
        self.norm = nn.BatchNorm1d(widths[1], track_running_stats=False)
        self.output = nn.Linear(widths[1], widths[2])

    def forward(self, x):
        return self.output(functional.relu(self.norm(self.hidden(x))))


def decays():
    """40 steps of the recipes whose weight decay reaches other parameters than the weights of products."""
    import transformers

    steps, batch, context, vocabulary = 40, 4, 8, 11
    sizes = dict(layers=1, heads=2, width=8, context=context, vocabulary=vocabulary)

    def texts(seed):
        torch.manual_seed(seed)
        text = torch.randint(vocabulary - 1, (steps, batch, context + 1))  # the last token never occurs
        return text[:, :, :-1], text[:, :, 1:]

    def at_random(model):
        for key, parameter in model.named_parameters():
            nn.init.normal_(parameter, mean=1.0 if re.search(r"norm\d?\.weight$", key) else 0.0, std=0.15)
        return model

    def transformers_groups(model, decay):
        """As transformers' Trainer.create_optimizer."""
        names = transformers.Trainer.get_decay_parameter_names(None, model)
        assert "token.weight" in names and not any("bias" in n or "norm" in n for n in names)
        return [{"params": [p for n, p in model.named_parameters() if n in names], "weight_decay": decay},
                {"params": [p for n, p in model.named_parameters() if n not in names], "weight_decay": 0.0}]

    def nanogpt_groups(model, decay):
        """As nanoGPT's configure_optimizers."""
        return [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": decay},
                {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]

    def torchvision_groups(model, decay):
        """As torchvision's references with --norm-weight-decay 0."""
        norms = [p for m in model.modules() if isinstance(m, nn.BatchNorm1d) for p in m.parameters()]
        others = [p for p in model.parameters() if not any(p is n for n in norms)]
        return [{"params": others, "weight_decay": decay}, {"params": norms, "weight_decay": 0.0}]

    for name, model, groups_of, decay, options in (
        ("torch", Gpt, None, 0.01, dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8)),  # the defaults of torch.optim.AdamW
        ("transformers", Gpt, transformers_groups, 0.1, dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8)),
        ("nanogpt", TiedGpt, nanogpt_groups, 0.1, dict(lr=6e-4, betas=(0.9, 0.95), eps=1e-8)),
    ):
        tokens, targets = texts(8)
        curve(f"decay_{name}", "40 steps: losses and gradient norms before each update, weights after the last",
              at_random(model(*sizes.values())),
              lambda m: torch.optim.AdamW(m.parameters() if groups_of is None else groups_of(m, decay), foreach=False,
                                          weight_decay=decay, **options),
              tokens, targets, {"tokens": whole(tokens), "targets": whole(targets)}, **sizes, batch=batch, optimizer="AdamW",
              weight_decay=decay, gelu="tanh", norm_epsilon=1e-5, **options)

    for name, groups_of in (("torchvision", lambda m, decay: m.parameters()), ("torchvision_norms", torchvision_groups)):
        torch.manual_seed(9)
        widths, batch, options = (6, 9, 5), 8, dict(lr=0.1, momentum=0.9)
        model = at_random(Normed(*widths))
        inputs = torch.randn(steps, batch, widths[0])
        labels = (inputs @ torch.randn(widths[0], widths[-1])).argmax(-1)
        curve(f"decay_{name}", "40 steps: losses and gradient norms before each update, weights after the last", model,
              lambda m: torch.optim.SGD(groups_of(m, 1e-4), foreach=False, weight_decay=1e-4, **options), inputs, labels,
              {"inputs": inputs.numpy(), "targets": whole(labels)}, widths=",".join(map(str, widths)), batch=batch,
              optimizer="SGD", weight_decay=1e-4, **options)


# --- models of texts -------------------------------------------------------------------------------------------------


def set_at_random(model):
    """All weights: initial ones are 0 and 1 in many places, which would hide mistakes."""
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            if "embed_positions" not in key:
                tensor.normal_(mean=1.0 if "norm.weight" in key else 0.0, std=0.2)


def with_exact_sines(stacks):
    for part in (stacks.encoder, stacks.decoder):
        positions, width = part.embed_positions.weight.shape
        angle = torch.arange(positions).double()[:, None] / 10000 ** (2 * torch.arange(width // 2).double() / width)
        exact = torch.cat([angle.sin(), angle.cos()], dim=1)
        assert (part.embed_positions.weight - exact).abs().max() < 1e-7
        part.embed_positions.weight = nn.Parameter(exact, requires_grad=False)


def marian():
    """A small translator as transformers writes it, and its logits. Every position of the source is attended to."""
    import transformers

    torch.manual_seed(14)
    config = transformers.MarianConfig(
        vocab_size=11, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=9, activation_function="swish", scale_embedding=True,
        static_position_embeddings=True, pad_token_id=10, decoder_start_token_id=10, eos_token_id=0)
    model = transformers.MarianMTModel(config).eval()
    set_at_random(model)
    model.save_pretrained(HERE / "marian")
    (HERE / "marian" / "generation_config.json").unlink(missing_ok=True)
    (HERE / "marian" / "model.safetensors").chmod(0o644)
    source, target = torch.randint(config.vocab_size, (3, 7)), torch.randint(config.vocab_size, (3, 5))

    def compute(dtype):
        model.to(dtype)
        if dtype == torch.float64:  # transformers rounds the sines to fp32
            with_exact_sines(model.model)
        return {"logits": model(input_ids=source, attention_mask=torch.ones_like(source), decoder_input_ids=target).logits}

    fp32 = compute(torch.float32)  # first: it is exactly what the file holds
    truth = compute(torch.float64)
    write("marian/logits", "logits of marian/model.safetensors", {"source": whole(source), "target": whole(target), **results(truth, fp32)},
          transformers=transformers.__version__)


def padded():
    """Logits of the models of marian() and t5() for sources that end with padding, which a mask hides."""
    import copy
    import transformers

    torch.manual_seed(21)
    source, target = torch.randint(10, (4, 7)), torch.randint(10, (4, 5))
    mask = (torch.arange(7) < torch.tensor([4, 7, 1, 6])[:, None]).long()
    source = torch.where(mask == 1, source, 10)

    def compute(model):
        return {"logits": model(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits}

    for name, kind in (("marian", transformers.MarianMTModel), ("t5", transformers.T5ForConditionalGeneration)):
        model = kind.from_pretrained(HERE / name, attn_implementation="eager").eval()
        wide = with_norms_in_own_precision(copy.deepcopy(model))
        if name == "marian":
            with_exact_sines(wide.model)
        fp32, truth = compute(model), compute(wide)
        assert (fp32["logits"].double() - truth["logits"]).abs().max() < 1e-5 * truth["logits"].abs().max()
        write(f"{name}/padded", f"logits of {name}/model.safetensors; sources end with padding, 10, and are masked",
              {"source": whole(source), "target": whole(target), **results(truth, fp32)}, transformers=transformers.__version__)


def t5():
    """A small T5 and a small T5 1.1 as transformers writes them, and their logits. Every position of the source is attended to."""
    import copy
    import transformers

    for name, depth, form in (("t5", 2, dict(feed_forward_proj="relu")),
                              ("t5_v1_1", 1, dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False))):
        torch.manual_seed(16)
        config = transformers.T5Config(
            vocab_size=11, d_model=8, d_kv=3, d_ff=10, num_layers=depth, num_decoder_layers=depth, num_heads=2,
            relative_attention_num_buckets=8, relative_attention_max_distance=7, attn_implementation="eager", **form)
        model = transformers.T5ForConditionalGeneration(config).eval()
        if depth == 1:  # transformers ties what T5 1.1 does not, until it reads a file that has both
            model.lm_head.weight = nn.Parameter(torch.empty(11, 8))
            assert not config.scale_decoder_outputs
        set_at_random(model)
        model.save_pretrained(HERE / name)
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        (HERE / name / "model.safetensors").chmod(0o644)
        source, target = torch.randint(config.vocab_size, (3, 7)), torch.randint(config.vocab_size, (3, 5))

        def compute(model):
            return {"logits": model(input_ids=source, attention_mask=torch.ones_like(source), decoder_input_ids=target).logits}

        fp32, truth = compute(model), compute(with_norms_in_own_precision(copy.deepcopy(model)))
        assert (fp32["logits"].double() - truth["logits"]).abs().max() < 1e-5 * truth["logits"].abs().max()
        read = transformers.T5ForConditionalGeneration.from_pretrained(HERE / name, attn_implementation="eager").eval()
        assert torch.equal(compute(read)["logits"], fp32["logits"])  # the file is the model
        write(f"{name}/logits", f"logits of {name}/model.safetensors", {"source": whole(source), "target": whole(target), **results(truth, fp32)},
              transformers=transformers.__version__)


class LanguageModel(nn.Module):
    """The names of PyTorch's word_language_model."""

    def __init__(self, words, width, layers):
        super().__init__()
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


class Pairs(nn.Module):
    """Pictures of 4 x 5 x 2, texts of 5 tokens."""

    def __init__(self):
        super().__init__()
        self.picture = nn.Conv2d(2, 6, 3, padding=1)
        self.picture_projection = nn.Linear(6, 4, bias=False)
        self.words = nn.Embedding(9, 8)
        self.text_projection = nn.Linear(8, 4, bias=False)

    def forward(self, inputs):
        picture, tokens = inputs
        picture = functional.gelu(self.picture(picture.permute(0, 3, 1, 2))).amax((2, 3))
        return torch.stack([self.picture_projection(picture), self.text_projection(self.words(tokens).mean(1))], dim=1)


def models_of_texts():
    torch.manual_seed(15)
    pairs = (torch.randn(3, 4, 5, 2), torch.randint(9, (3, 5)))
    tokens = torch.randint(11, (3, 6))
    for name, model, inputs, given in (
            ("lstm_language_model", LanguageModel(11, 8, 2), tokens, {"tokens": whole(tokens)}),
            ("two_towers", Pairs(), pairs, {"pictures": pairs[0].numpy(), "tokens": whole(pairs[1])})):
        set_at_random(model)

        def compute(dtype):
            as_dtype = lambda x: x.to(dtype) if x.is_floating_point() else x
            return {"output": model.to(dtype)(as_dtype(inputs) if name != "two_towers" else tuple(map(as_dtype, inputs)))}

        weights = {key: tensor.clone().numpy() for key, tensor in model.state_dict().items()}
        fp32, truth = compute(torch.float32), compute(torch.float64)
        write(f"{name}/model", "weights by their names in make.py", weights)
        write(f"{name}/output", f"what {name}/model.safetensors makes of the inputs", {**given, **results(truth, fp32)})


# --- GPT-2 -----------------------------------------------------------------------------------------------------------


def gpt2():
    """A small GPT-2 as transformers writes it, its logits, and a few gradients: the table is tied, and collects both of its uses."""
    import transformers

    torch.manual_seed(7)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=32, n_positions=12, resid_pdrop=0.0,
                                     embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():  # transformers' initial values leave all biases 0 and all gains 1, which would hide mistakes
        for key, parameter in model.named_parameters():
            gain = re.search(r"ln_(1|2|f)\.weight$", key)
            parameter.normal_(mean=1.0 if gain else 0.0, std=0.2)
    model.save_pretrained(HERE / "gpt2")
    (HERE / "gpt2" / "generation_config.json").unlink(missing_ok=True)
    (HERE / "gpt2" / "model.safetensors").chmod(0o644)
    tokens = torch.randint(config.vocab_size, (3, config.n_positions))

    def compute(dtype):
        model.to(dtype)
        model.zero_grad()
        logits = model(tokens).logits
        loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())  # transformers' own is always fp32
        loss.backward()
        gradients = {f"gradient.{key}": model.get_parameter(key).grad.clone()
                     for key in ("transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f.weight")}
        return {"logits": logits, "loss": loss.reshape(1), **gradients}

    fp32 = compute(torch.float32)  # first: it is exactly what the file holds
    truth = compute(torch.float64)
    write("gpt2/logits", "logits of gpt2/model.safetensors; loss is the mean cross-entropy of position t against token t + 1",
          {"tokens": whole(tokens), **results(truth, fp32)}, transformers=transformers.__version__)


# --- Llama and Qwen --------------------------------------------------------------------------------------------------


def in_own_precision(model):
    """transformers computes norms and angles in fp32, whatever the model's type is: this one computes them in fp64."""
    config = model.config
    rope = config.rope_parameters
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    speed = rope["rope_theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    if rope["rope_type"] == "llama3":
        turns = rope["original_max_position_embeddings"] * speed / (2 * torch.pi)
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        share = ((turns - low) / (high - low)).clamp(0, 1)
        speed = speed * (share + (1 - share) / rope["factor"])

    def turn(x, position_ids):
        angle = position_ids[..., None].double() * speed
        angle = torch.cat([angle, angle], -1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)

    model.model.rotary_emb.forward = turn
    return with_norms_in_own_precision(model)


def with_norms_in_own_precision(model):
    for module in model.modules():
        if type(module).__name__.endswith(("RMSNorm", "T5LayerNorm")):
            module.forward = lambda x, m=module: functional.rms_norm(x, (x.shape[-1],), m.weight, m.variance_epsilon)
    return model.double()


def llama():
    """Small random models as transformers writes them, their logits, and a few gradients; and 30 steps of the first."""
    import copy
    import transformers

    common = dict(vocab_size=17, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, max_position_embeddings=12, bos_token_id=0, eos_token_id=0, attn_implementation="sdpa")
    plain = {"rope_type": "default", "rope_theta": 100.0}
    scaled = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 8}
    cases = {"llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(
                 **common, rope_parameters=scaled, rms_norm_eps=1e-5, tie_word_embeddings=False)),
             "qwen2": transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
                 **common, rope_parameters=plain, rms_norm_eps=1e-6, tie_word_embeddings=True)),
             "qwen3": transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
                 **common, rope_parameters=plain, rms_norm_eps=1e-6, tie_word_embeddings=True, head_dim=6))}
    for number, (name, model) in enumerate(cases.items()):
        generator = torch.Generator().manual_seed(70 + number)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.copy_(random(generator, *parameter.shape, scale=0.3, shift=1.0 if "norm" in key else 0.0))
        model.eval().save_pretrained(HERE / name)
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        (HERE / name / "model.safetensors").chmod(0o644)
        tokens = torch.randint(model.config.vocab_size, (3, 12), generator=generator)

        def compute(model):
            model.zero_grad()
            logits = model(tokens).logits
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            keys = ["model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.weight"]
            keys += [key for key, _ in model.named_parameters() if key.endswith("layers.0.self_attn.k_norm.weight")]
            return {"logits": logits, "loss": loss.reshape(1), **{f"gradient.{key}": model.get_parameter(key).grad.clone() for key in keys}}

        fp32, truth = compute(model), compute(in_own_precision(copy.deepcopy(model)))
        for key in truth:  # the formulas in fp64 are transformers'
            assert (fp32[key].double() - truth[key]).abs().max() < 1e-5 * truth[key].abs().max(), (name, key)
        write(f"{name}/logits", f"logits of {name}/model.safetensors; loss is the mean cross-entropy of position t against token t + 1",
              {"tokens": whole(tokens), **results(truth, fp32)}, transformers=transformers.__version__)

    torch.manual_seed(73)
    batch, context, steps = 4, 12, 30
    text = torch.empty(steps, batch, context + 1, dtype=torch.long)
    text[:, :, 0] = torch.randint(17, (steps, batch))
    for t in range(context):
        text[:, :, t + 1] = torch.where(torch.rand(steps, batch) < 0.8, (3 * text[:, :, t] + 1) % 17, torch.randint(17, (steps, batch)))
    tokens, targets = text[:, :, :-1], text[:, :, 1:]
    adamw = dict(lr=1e-2, betas=(0.9, 0.99), eps=1e-8)

    def train(model):
        update = torch.optim.AdamW(groups(model, 0.1), foreach=False, **adamw)
        losses, norms = [], []
        for x, y in zip(tokens, targets):
            loss = functional.cross_entropy(model(x).logits.flatten(0, -2), y.flatten())
            update.zero_grad()
            loss.backward()
            losses.append(loss.detach())
            norms.append(torch.stack([p.grad.square().sum() for p in model.parameters()]).sum().sqrt())
            update.step()
        return ({"losses": torch.stack(losses), "gradient_norms": torch.stack(norms)},
                {f"final.{key}": value.detach() for key, value in model.named_parameters()})

    (truth, final), (fp32, final32) = train(in_own_precision(copy.deepcopy(cases["llama"]))), train(copy.deepcopy(cases["llama"]))
    drift = max(float((final32[key].double() - final[key]).abs().max()) for key in final)
    write("train_llama", "30 steps from llama/model.safetensors: losses and gradient norms before each update, weights after the last",
          {"tokens": whole(tokens), "targets": whole(targets), **results(truth, fp32), **results(final, final32, exact=False)},
          fp32_final_difference=f"{drift:.3g}", optimizer="AdamW", weight_decay="0.1 on the weights of Linear layers", **adamw)


# --- vision transformers ---------------------------------------------------------------------------------------------


def vit():
    """Small vision transformers as timm builds and writes them, with a class token and without: their logits, and a curve of the first."""
    import safetensors.torch
    import timm
    from timm.models.vision_transformer import VisionTransformer

    side, patch, channels, classes, samples, batch, steps = 8, 4, 3, 5, 6, 4, 30
    for name, options in (("vit", {}), ("vit_mean", {"class_token": False, "global_pool": "avg", "fc_norm": False})):
        torch.manual_seed(8)
        model = VisionTransformer(img_size=side, patch_size=patch, in_chans=channels, num_classes=classes, embed_dim=8, depth=2,
                                  num_heads=2, mlp_ratio=4.0, **options).eval()
        with torch.no_grad():  # timm's initial values leave biases 0 and gains 1, which would hide mistakes
            for key, parameter in model.named_parameters():
                parameter.normal_(mean=1.0 if re.search(r"norm\d?\.weight$", key) else 0.0, std=0.2)
        (HERE / name).mkdir(exist_ok=True)
        safetensors.torch.save_file(model.state_dict(), HERE / name / "model.safetensors", metadata={"format": "pt"})
        (HERE / name / "model.safetensors").chmod(0o644)
        images = torch.randn(samples, channels, side, side)
        truth, fp32 = twice(lambda dtype: {"logits": model.to(dtype)(images.to(dtype))})
        pixels = images.permute(0, 2, 3, 1).numpy()
        write(f"{name}/logits", f"logits of {name}/model.safetensors; channels of images are innermost",
              {"images": pixels, **results(truth, fp32)}, timm=timm.__version__)
        if options:
            continue
        which = torch.arange(steps * batch).reshape(steps, batch) % samples  # images of each step
        labels = torch.arange(samples) % classes
        adam = dict(lr=3e-3, betas=(0.9, 0.999), eps=1e-8)
        curve(f"{name}/train", f"{steps} steps of {name}/model.safetensors: losses and gradient norms before each update, weights after the last",
              model.float(), lambda m: torch.optim.Adam(m.parameters(), foreach=False, **adam), images[which], labels[which],
              {"which": whole(which), "targets": whole(labels[which])}, keeps_start=False, optimizer="Adam", timm=timm.__version__, **adam)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for part in (layers, rotary_layers, more_layers, norms_and_pools, recurrent_layers, state, convolutions, losses,
                 more_losses, masked_losses, weighted_losses, soft_cross_entropy, cross_attention, nt_xent, weighted_sum,
                 cross_attention_normalised, transposed_convolution, pools, window_attention, distance_attention,
                 optimizers, whole_tensor_optimizers, loss_scales, curves, decays, gpt2, llama, vit, marian, t5, padded, models_of_texts,
                 other_convolutions):
        part()
    files = sorted(HERE.rglob("*.safetensors"))
    print(f"{len(files)} files, {sum(f.stat().st_size for f in files)} bytes")


if __name__ == "__main__":
    main()
