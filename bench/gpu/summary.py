#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gathers what the programs of bench/gpu.sh wrote, prints tables, and writes <output>/<device>/<date>.{json,md}."""

import argparse
import datetime
import json
import os
import re


def lines_of(path):
    """The JSON objects among the lines of a file."""
    found = []
    if os.path.exists(path):
        with open(path, errors="replace") as file:
            for line in file:
                if line.startswith("{"):
                    try:
                        found.append(json.loads(line))
                    except json.JSONDecodeError:  # a program that was stopped
                        pass
    return found


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as file:
        return file.read().strip()


def gather(logs):
    programs = []
    for line in text_of(os.path.join(logs, "programs.tsv")).splitlines():
        section, name, seconds, status = line.split("\t", 3)
        rows = lines_of(os.path.join(logs, f"{section}.{name}.out"))
        programs.append({"section": section, "name": name, "seconds": int(seconds), "status": status, "results": rows})
    return programs


def results(programs, section):
    return [dict(row, program=p["name"]) for p in programs if p["section"] == section for row in p["results"]]


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
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def tables(device, programs, clocks):
    """The tables of a run: programs, then what was measured."""
    parts = [table(["section", "program", "seconds", ""], [[p["section"], p["name"], str(p["seconds"]), p["status"]] for p in programs])]
    if clocks:
        def between(of):
            return f"{of['median']:.0f} ({of['least']:.0f} to {of['most']:.0f})"
        parts.append("Under load, median (least to most):\n\n" +
                     table(["section", "samples", "SM MHz", "memory MHz", "W", "C"],
                           [[section, str(c["samples"])] + [between(c[name]) for name in ["sm_mhz", "memory_mhz", "watts", "celsius"]]
                            for section, c in clocks.items()]))
    steps = results(programs, "step")
    if steps:
        parts.append(table(["step", "type", "by", "ms", "tokens/s"],
                           [[r["program"].split(".")[0], r["type"], r["by"], f"{r['milliseconds']:.3f}", f"{r['tokens_per_second']:,.0f}"]
                            for r in steps]))
    compared = {(r["product"], r["transpose_a"], r["transpose_b"], r["type"]): r for r in results(programs, "products")}
    if compared:  # PyTorch's lines come later, and hold ours
        parts.append(table(["product", "", "type", "TFLOP/s", "PyTorch", "ratio"],
                           [[r["product"], "NT"[r["transpose_a"]] + "NT"[r["transpose_b"]], r["type"], f"{r['tflop_per_s']:.1f}",
                             f"{r['torch_tflop_per_s']:.1f}" if "ratio" in r else "", f"{r['ratio']:.3f}" if "ratio" in r else ""]
                            for r in compared.values()]))
    kernels = results(programs, "kernels")
    if kernels:
        copy = device["copy_gb_per_s"]
        parts.append(f"The device copies {copy:.0f} GB/s, reads and writes counted.\n\n" +
                     table(["kernel", "in a step of", "type", "rows x columns", "us", "GB/s", "of a copy"],
                           [[r["kernel"], r["of"], r["type"], f"{r['rows']} x {r['columns']}", f"{r['microseconds']:.1f}", f"{r['gb_per_s']:.0f}",
                             f"{r['gb_per_s'] / copy:.2f}"] for r in kernels]))
    ranks = results(programs, "ranks")
    if ranks:
        parts.append(table(["ranks", "GPUs", "by", "shard", "overlap", "ms", "tokens/s", "efficiency"],
                           [[str(r["ranks"]), str(r["gpus"]), r["by"], r["shard"], "yes" if r["overlaps"] else "no", f"{r['milliseconds']:.2f}",
                             f"{r['tokens_per_second']:,.0f}", f"{r['efficiency']:.2f}"] for r in ranks]))
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--command", required=True)
    args = parser.parse_args()
    device = lines_of(os.path.join(args.logs, "device.json"))[0]
    programs = gather(args.logs)
    clocks = clocks_of(args.logs, dict.fromkeys(p["section"] for p in programs))
    now = datetime.datetime.now(datetime.timezone.utc)
    found = {"date": now.isoformat(timespec="seconds"), "commit": text_of(os.path.join(args.logs, "commit")), "command": args.command,
             "device": device, "driver": text_of(os.path.join(args.logs, "smi.csv")), "clocks": clocks, "programs": programs}
    text = (f"{device['name']}, driver for CUDA {device['driver_cuda']}, runtime {device['runtime']}, cuBLASLt {device['cublaslt']}, "
            f"cuDNN {device['cudnn']}; commit {found['commit']}; {found['date']}; `{args.command}`\n"
            f"driver, highest clocks (SM, memory), power limit: {found['driver'] or 'unknown'}\n\n"
            + tables(device, programs, clocks))
    folder = os.path.join(args.output, re.sub(r"[^a-z0-9]+", "-", device["name"].lower()).strip("-"))
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, now.strftime("%Y-%m-%d-%H%M%S"))
    with open(name + ".json", "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    with open(name + ".md", "w") as file:
        file.write(text + "\n")
    print(text)
    print(f"\n{name}.json")


if __name__ == "__main__":
    main()
