#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of bench/gpu/products on standard input, and writes each with PyTorch's rate for the same product: the
same shapes, transposes, types, rows apart and number of matrices, in a graph of as many products. PyTorch's result has
the type of its factors (a gradient of weights is bf16 there, fp32 here), and it has no epilogue."""

import json
import statistics
import sys

import torch

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32, "fp64": torch.float64}
IN_GRAPH = 4


def factor(count, rows, columns, transposed, leading, dtype):
    """Matrices (count, rows, columns), stored transposed if so, with `leading` elements from row to row where that is
    no more than a padding; matrices between whose rows others lie are dense here."""
    stored_rows, stored_columns = (columns, rows) if transposed else (rows, columns)
    leading = leading if count == 1 else stored_columns
    made = torch.rand((count, stored_rows, leading), device="cuda", dtype=torch.float32) * 2 - 1
    made = made.to(dtype)[:, :, :stored_columns]
    made = made.transpose(1, 2) if transposed else made
    return made[0] if count == 1 else made


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
    known = {}
    for line in sys.stdin:
        row = json.loads(line)
        if "product" not in row:  # one that failed
            continue
        torch.backends.cuda.matmul.allow_tf32 = row["type"] == "tf32"
        m, n, k, count, dtype = row["m"], row["n"], row["k"], row["count"], TYPES[row["type"]]
        key = tuple(row[name] for name in ["m", "n", "k", "count", "type", "transpose_a", "transpose_b", "leading_a", "leading_b"])
        try:
            if key not in known:
                a = factor(count, m, k, row["transpose_a"], row["leading_a"], dtype)
                b = factor(count, k, n, row["transpose_b"], row["leading_b"], dtype)
                c = torch.empty((m, n) if count == 1 else (count, m, n), device="cuda", dtype=dtype)
                known[key] = 2 * count * m * n * k / seconds(a, b, c) * 1e-12
            row["torch_tflop_per_s"] = known[key]
            row["ratio"] = row["tflop_per_s"] / known[key]
        except Exception as error:  # one that PyTorch cannot do hides no other
            row["error"] = " ".join(str(error).split())[:200]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
