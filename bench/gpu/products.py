#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of bench/gpu/products on standard input, and writes each with PyTorch's rate for the same product:
the same shapes, transposes, types and a graph of as many products."""

import json
import statistics
import sys

import torch

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32, "fp64": torch.float64}
IN_GRAPH = 4


def factor(rows, columns, transposed, dtype):
    made = torch.rand((columns, rows) if transposed else (rows, columns), device="cuda", dtype=torch.float32) * 2 - 1
    made = made.to(dtype)
    return made.t() if transposed else made


def seconds(a, b, c):
    """The median of five rounds of some 30 ms."""
    torch.matmul(a, b, out=c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(IN_GRAPH):
            torch.matmul(a, b, out=c)

    def timed(launches):
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        began.record()
        for _ in range(launches):
            graph.replay()
        ended.record()
        ended.synchronize()
        return began.elapsed_time(ended) * 1e-3 / launches

    timed(3)
    launches = max(1, min(1000, int(0.03 / timed(1))))
    return statistics.median(timed(launches) for _ in range(5)) / IN_GRAPH


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for line in sys.stdin:
        row = json.loads(line)
        torch.backends.cuda.matmul.allow_tf32 = row["type"] == "tf32"
        m, n, k, dtype = row["m"], row["n"], row["k"], TYPES[row["type"]]
        a, b = factor(m, k, row["transpose_a"], dtype), factor(k, n, row["transpose_b"], dtype)
        spent = seconds(a, b, torch.empty((m, n), device="cuda", dtype=dtype))
        row["torch_tflop_per_s"] = 2 * m * n * k / spent * 1e-12
        row["ratio"] = row["tflop_per_s"] / row["torch_tflop_per_s"]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
