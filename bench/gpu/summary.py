#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gathers what the programs of bench/gpu.sh wrote, prints the tables of docs/gpu.md, and writes
<output>/gpu-<date>-<device>.{json,md}. Needs no package."""

import argparse
import json
import os
import re


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as file:
        return file.read().strip()


def lines_of(path):
    """The JSON objects among the lines of a file."""
    found = []
    for line in text_of(path).splitlines():
        if line.startswith("{"):
            line = re.sub(r"(?<=[:\[,])(-?)(nan|inf)(?=[,\]}])", lambda m: "NaN" if m[2] == "nan" else m[1] + "Infinity", line)  # C's
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:  # a program that was stopped
                pass
    return found


def gather(logs):
    programs = []
    for line in text_of(os.path.join(logs, "programs.tsv")).splitlines():
        section, name, seconds, status = line.split("\t", 3)
        rows = lines_of(os.path.join(logs, f"{section}.{name}.out"))
        programs.append({"section": section, "name": name, "seconds": int(seconds), "status": status, "results": rows})
    return programs


def rows_with(programs, key):
    """The results that have a key, each with its program; without what a sanitizer slowed down."""
    return [dict(row, program=p["name"]) for p in programs if p["section"] != "sanitizer" for row in p["results"] if key in row]


def clocks_of(logs, sections):
    """What nvidia-smi said of a section while the device was busy: at least half of the time."""
    found = {}
    for section in sections:
        samples = []
        for line in text_of(os.path.join(logs, f"clocks.{section}.csv")).splitlines():
            try:
                samples.append([float(number) for number in line.split(",")])
            except ValueError:  # a number that the device does not tell, or a line that was cut
                pass
        samples = [sample for sample in samples if len(sample) == 5 and sample[0] >= 50]
        if samples:
            columns = [sorted(column) for column in zip(*samples)][1:]
            found[section] = {"samples": len(samples)} | {
                name: {"least": column[0], "median": column[len(column) // 2], "most": column[-1]}
                for name, column in zip(["sm_mhz", "memory_mhz", "watts", "celsius"], columns)}
    return found


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def yes(value):
    return "yes" if value else "**no**"


def sanitizers_of(programs, name):
    """What each tool said of a test: 'memcheck passed, racecheck failed'."""
    said = [f"{p['name'].split('.')[0]} {p['status'].split(':')[0]}" for p in programs
            if p["section"] == "sanitizer" and p["name"].split(".", 1)[1] == name]
    return ", ".join(said)


def operations(device, programs):
    """A row for each CUDA operation: whether it ran and is right, by how much it differs from the CPU's, how fast it is."""
    found = {}

    def entry(operation, type_):
        return found.setdefault((operation, type_), {"cases": 0, "wrong": 0, "error": None, "rate": "", "sanitizer": ""})

    for row in rows_with(programs, "operation"):
        one = entry(row["operation"], row["type"])
        one["cases"] += row.get("cases", 1)
        one["wrong"] += row["wrong"]
        error = row["difference"] / row["largest"] if row["largest"] > 0 else row["difference"]
        one["error"] = error if one["error"] is None else max(one["error"], error)
        one["sanitizer"] = sanitizers_of(programs, row["program"])
    for row in rows_with(programs, "kernel"):
        entry(row["kernel"], row["type"])["rate"] = f"{row['gb_per_s']:.0f} GB/s, {row['gb_per_s'] / device['copy_gb_per_s']:.2f} of a copy"
    for row in rows_with(programs, "attention"):
        one = entry(f"attention, {row['attention']}, {row['pass']}", row["type"])
        one["rate"] = f"{row['tflop_per_s']:.0f} TFLOP/s"
    products = [row for row in rows_with(programs, "product") if row["step"] == "alone"]
    for row in products:
        if "tflop_per_s" in row:
            entry(f"product {row['product']}", row["type"])["rate"] = f"{row['tflop_per_s']:.0f} TFLOP/s"
    rows = []
    for (operation, type_), one in sorted(found.items()):
        right = "timed alone" if one["cases"] == 0 else f"{one['cases']} right" if one["wrong"] == 0 else f"**{one['wrong']} of {one['cases']} wrong**"
        rows.append([f"`{operation}`", type_, right, "" if one["error"] is None else f"{one['error']:.1g}", one["rate"], one["sanitizer"]])
    return rows


def curves(rows):
    """Losses of some steps beside those of the CPU in fp64."""
    rows = [row for row in rows if row.get("losses")]
    if not rows:
        return ""
    count = min(len(row["losses"]) for row in rows)
    steps = sorted({1, 2, 5, 10, 20, 30, 40, count} & set(range(1, count + 1)))

    def loss(value):
        return "-" if value is None else f"{value:.5f}"
    return table(["loss of step", *map(str, steps)],
                 [line for row in rows for line in
                  [[row["trains"] + ", GPU"] + [loss(row["losses"][step - 1]) for step in steps],
                   [row["trains"] + ", CPU in fp64"] + [loss(row["exact_losses"][step - 1]) for step in steps]]])


def steps_of(rows):
    """Whole steps, each beside the fastest peer of the same step and type."""
    peers = {}
    for row in rows:
        key = (row["program"].split(".")[0].removesuffix("_bf16"), row["type"])
        if not row["by"].startswith("regimen"):
            peers[key] = max(peers.get(key, 0), row["tokens_per_second"])
    lines = []
    for row in rows:
        key = (row["program"].split(".")[0].removesuffix("_bf16"), row["type"])
        ratio = f"{row['tokens_per_second'] / peers[key]:.3f}" if row["by"].startswith("regimen") and key in peers else ""
        lines.append([key[0], row["type"], row["by"], f"{row['milliseconds']:.3f}", f"{row['tokens_per_second']:,.0f}", ratio])
    return table(["step", "type", "by", "ms", "tokens/s", "of the faster peer"], lines)


def tables(device, programs, clocks):
    """The tables of a run: programs, what is right, what was measured."""
    parts = [table(["section", "program", "seconds", ""], [[p["section"], p["name"], p["seconds"], p["status"]] for p in programs])]
    failed = rows_with(programs, "failed")
    if failed:
        parts.append(table(["program", "failed", ""], [[r["program"], r["failed"], r["error"][:300]] for r in failed]))
    if clocks:
        def between(of):
            return f"{of['median']:.0f} ({of['least']:.0f} to {of['most']:.0f})"
        parts.append("Under load, median (least to most):\n\n" +
                     table(["section", "samples", "SM MHz", "memory MHz", "W", "C"],
                           [[section, c["samples"]] + [between(c[name]) for name in ["sm_mhz", "memory_mhz", "watts", "celsius"]]
                            for section, c in clocks.items()]))
    trains = rows_with(programs, "trains")
    if trains:
        parts.append("Networks that train: the largest distance of a loss from the CPU's in fp64, and what it may be.\n\n" +
                     table(["program", "network", "distance", "may be", "repeats its bits", "sanitizer"],
                           [[r["program"], r["trains"], f"{r['distance']:.1e}" if "distance" in r else "", f"{r['may']:.1e}" if "may" in r else "",
                             yes(r["repeats"] and r.get("by_calls", True) and r.get("four_steps", True)), sanitizers_of(programs, r["program"])]
                            for r in trains]))
        parts.append(curves(trains))
    steps = rows_with(programs, "tokens_per_second")
    steps = [row for row in steps if "ranks" not in row and "by" in row]
    if steps:
        parts.append(steps_of(steps))
    planned = [row for row in steps if "planned_bytes" in row]
    if planned:
        parts.append(table(["step", "by", "planned bytes", "used bytes", "", "taken by libraries and kernels"],
                           [[r["step"], r["by"], f"{r['planned_bytes']:,}", f"{r['used_bytes']:,}",
                             "equal" if r["planned_bytes"] == r["used_bytes"] else "**other**", f"{r.get('library_bytes', 0):,}"] for r in planned]))
    products = {}
    for row in rows_with(programs, "product"):  # PyTorch's lines come later, and hold ours
        key = tuple(str(row.get(name)) for name in ["step", "product", "count", "transpose_a", "transpose_b", "type", "result", "epilogue", "adds",
                                                    "leading_a", "leading_b", "leading_c"])
        products[key] = row if "ratio" in row or key not in products else products[key]
    if products:
        parts.append("Products of the library, beside PyTorch's without epilogue:\n\n" +
                     table(["step", "times", "product", "", "type", "epilogue", "us", "TFLOP/s", "PyTorch", "ratio"],
                           [[r["step"], r["times"], (f"{r['count']} of " if r["count"] > 1 else "") + r["product"],
                             "NT"[r["transpose_a"]] + "NT"[r["transpose_b"]],
                             r["type"] if r["type"] == r["result"] else f"{r['type']} to {r['result']}",
                             r["epilogue"] + (" +=" if r["adds"] else ""), f"{r['microseconds']:.1f}", f"{r['tflop_per_s']:.1f}",
                             f"{r['torch_tflop_per_s']:.1f}" if "ratio" in r else "", f"{r['ratio']:.3f}" if "ratio" in r else ""]
                            for r in products.values()]))
        sums = {}
        for r in products.values():
            sums[r["step"]] = sums.get(r["step"], 0) + r["times"] * r["microseconds"] * 1e-3
        sums.pop("alone", None)
        if sums:
            parts.append(table(["step", "ms in its products"], [[step, f"{ms:.2f}"] for step, ms in sums.items()]))
    attention = rows_with(programs, "attention")
    if attention:
        parts.append(table(["attention", "pass", "type", "us", "TFLOP/s"],
                           [[r["attention"], r["pass"], r["type"], f"{r['microseconds']:.1f}", f"{r['tflop_per_s']:.1f}"] for r in attention]))
    kernels = rows_with(programs, "kernel")
    if kernels:
        copy = device["copy_gb_per_s"]
        parts.append(f"The device copies {copy:.0f} GB/s, reads and writes counted.\n\n" +
                     table(["kernel", "in a step of", "type", "rows x columns", "us", "GB/s", "of a copy"],
                           [[r["kernel"], r["of"], r["type"], f"{r['rows']} x {r['columns']}", f"{r['microseconds']:.1f}", f"{r['gb_per_s']:.0f}",
                             f"{r['gb_per_s'] / copy:.2f}"] for r in kernels]))
    ranks = rows_with(programs, "ranks")
    if ranks:
        parts.append(table(["ranks", "GPUs", "by", "shard", "overlap", "ms", "tokens/s", "efficiency"],
                           [[r["ranks"], r["gpus"], r["by"], r["shard"], "yes" if r["overlaps"] else "no", f"{r['milliseconds']:.2f}",
                             f"{r['tokens_per_second']:,.0f}", f"{r['efficiency']:.2f}"] for r in ranks]))
    rows = operations(device, programs)
    if rows:
        parts.append("Operations: cases that are right on the device beside the host's block of one thread, the largest difference relative to the\n"
                     "largest number, the rate at a step's size, and what the sanitizers found in the test.\n\n" +
                     table(["operation", "type", "on the device", "difference", "rate", "sanitizer"], rows))
    return "\n\n".join(part for part in parts if part)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", required=True, help="the folder in which bench/gpu.sh --run keeps its logs")
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    device = lines_of(os.path.join(args.logs, "device.json"))[0]
    programs = gather(args.logs)
    clocks = clocks_of(args.logs, dict.fromkeys(p["section"] for p in programs))
    date = text_of(os.path.join(args.logs, "begun"))
    found = {"date": date, "commit": text_of(os.path.join(args.logs, "commit")), "device": device,
             "driver": text_of(os.path.join(args.logs, "smi.csv")), "clocks": clocks, "programs": programs}
    text = (f"{device['name']}, driver for CUDA {device['driver_cuda']}, runtime {device['runtime']}, cuBLASLt {device['cublaslt']}, "
            f"cuDNN {device['cudnn']}; commit {found['commit']}; {date}; `bench/gpu.sh --run`\n"
            f"driver, highest clocks (SM, memory), power limit: {found['driver'] or 'unknown'}\n\n"
            + tables(device, programs, clocks))
    os.makedirs(args.output, exist_ok=True)
    name = os.path.join(args.output, f"gpu-{date}-" + re.sub(r"[^a-z0-9]+", "-", device["name"].lower()).strip("-"))
    for ending, content in {".json": json.dumps(found, indent=1), ".md": text}.items():
        with open(name + ending + ".new", "w") as file:
            file.write(content + "\n")
        os.replace(name + ending + ".new", name + ending)
    print(text)
    print(f"\n{name}.json")


if __name__ == "__main__":
    main()
