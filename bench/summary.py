#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the logs of the programs that bench/cpu.sh ran, and writes the table of their medians and ratios."""

import argparse
import csv
import datetime
import json
import os
import platform
import re
import statistics
import sys

PEERS = ("eager", "compiled")


def read(path, warmup):
    """One run: the median step after the warm-up, the peak resident memory, the last loss, and how many processors
    other programs used meanwhile."""
    with open(path) as log:
        events = [json.loads(line) for line in log if line.strip()]
    times = [e["milliseconds"] for e in events if e["event"] == "step"][warmup:]
    if not times:
        raise SystemExit(f"{path}: no step after {warmup} of warm-up")
    found = {"milliseconds": statistics.median(times), "steps": len(times)}
    for event in events:
        if event["event"] == "step":
            found["loss"] = event["loss"]
        if event["event"] == "end" and "peak_rss_bytes" in event:
            found["peak_rss_bytes"] = event["peak_rss_bytes"]
        if event["event"] == "peer":
            found["start_rss_bytes"] = event["rss_bytes"]
    if os.path.exists(path + ".others"):
        with open(path + ".others") as file:
            found["others"] = float(file.read())
    return found


def cpu():
    """Name of the processor, and the vector extensions that decide which products a library picks."""
    name, flags = platform.processor() or platform.machine(), []
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            text = file.read()
        fields = dict(re.findall(r"^([^\t:]+)[\t ]*:[ ]*(.*)$", text.split("\n\n")[0], re.M))
        name = fields.get("model name", name).strip()
        flags = sorted(f for f in fields.get("flags", "").split() if re.match(r"avx|amx|fma$", f))
        if "family" not in name.lower() and {"cpu family", "model"} <= fields.keys():
            name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name, flags


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(runs):
    """`runs[program]` is the list of its rounds, aligned. A ratio is taken within a round, against the faster of the two
    PyTorch forms in it; memory against the smaller of the two."""
    programs = {}
    for program, rounds in runs.items():
        complete = [r for r in rounds if r]
        if complete:
            programs[program] = {"milliseconds": spread([r["milliseconds"] for r in complete]),
                                 "steps": complete[0]["steps"],
                                 "loss": complete[0].get("loss"),
                                 "rounds": rounds}
            peaks = [r["peak_rss_bytes"] for r in complete if "peak_rss_bytes" in r]
            if peaks:
                programs[program]["peak_rss_bytes"] = statistics.median(peaks)
            starts = [r["start_rss_bytes"] for r in complete if "start_rss_bytes" in r]
            if starts:
                programs[program]["start_rss_bytes"] = statistics.median(starts)
    row = {"programs": programs, "others": max((r.get("others", 0) for rounds in runs.values() for r in rounds if r), default=0)}
    ratios = []
    for number, ours in enumerate(runs.get("ours", [])):
        peers = [runs[p][number] for p in PEERS if p in runs and number < len(runs[p]) and runs[p][number]]
        if ours and peers:
            ratios.append(min(p["milliseconds"] for p in peers) / ours["milliseconds"])
    if ratios:
        row["speed_ratio"] = spread(ratios)
    peaks = [programs[p]["peak_rss_bytes"] for p in PEERS if "peak_rss_bytes" in programs.get(p, {})]
    if peaks and "peak_rss_bytes" in programs.get("ours", {}):
        row["memory_ratio"] = programs["ours"]["peak_rss_bytes"] / min(peaks)
    return row


def milliseconds(row, program):
    if program not in row["programs"]:
        return "-"
    s = row["programs"][program]["milliseconds"]
    digits = 1 if s["median"] >= 10 else 3
    return f"{s['median']:.{digits}f} ({s['min']:.{digits}f}..{s['max']:.{digits}f})"


def megabytes(row, *programs):
    peaks = [row["programs"][p]["peak_rss_bytes"] for p in programs if "peak_rss_bytes" in row["programs"].get(p, {})]
    return f"{min(peaks) / 1e6:.0f}" if peaks else "-"


def started(rows):
    """What PyTorch needs before its first step, in megabytes, over all configurations."""
    starts = [p["start_rss_bytes"] / 1e6 for row in rows for p in row["programs"].values() if "start_rss_bytes" in p]
    return f", {min(starts):.0f} to {max(starts):.0f} MB resident before the first step" if starts else ""


def table(rows):
    head = ["configuration", "Regimen ms", "eager ms", "compiled ms", "PyTorch best / Regimen", "Regimen MB", "PyTorch MB",
            "memory ratio", "others"]
    lines = [head]
    for row in rows:
        s = row.get("speed_ratio")
        lines.append([row["name"], milliseconds(row, "ours") if "ours" in row["programs"] else row["ours"],
                      milliseconds(row, "eager"), milliseconds(row, "compiled"),
                      f"{s['median']:.2f} ({s['min']:.2f}..{s['max']:.2f}){' disturbed' if row['others'] > 0.1 else ''}" if s else "-",
                      megabytes(row, "ours"), megabytes(row, *PEERS),
                      f"{row['memory_ratio']:.2f}" if "memory_ratio" in row else "-",
                      f"{row['others']:.2f}" if row["programs"] else "-"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    return [text[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *text[1:]]


def report(args):
    import numpy
    import torch

    with open(os.path.join(args.logs, "plan.tsv")) as file:
        plan = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    for name in dict.fromkeys(entry["configuration"] for entry in plan):
        entries = {e["program"]: e for e in plan if e["configuration"] == name}
        runs = {}
        for program, entry in entries.items():
            if entry["status"] == "run":
                paths = [os.path.join(args.logs, f"{name}.{r}.{program}.jsonl") for r in range(1, args.rounds + 1)]
                runs[program] = [read(path, args.warmup) if os.path.exists(path) else None for path in paths]
        ours = entries["ours"]
        row = compare(runs)
        status = ours["command"] if ours["status"] == "skipped" else "ran" if "ours" in row["programs"] else "failed"
        rows.append({"name": name, "dtype": ours["dtype"], "ours": status,
                     "commands": {p: e["command"] for p, e in entries.items() if e["status"] == "run"}, **row})
    if not any(row["programs"] for row in rows):
        print("nothing ran, so nothing is written")
        return

    processor, extensions = cpu()
    now = datetime.datetime.now(datetime.timezone.utc)
    result = {
        "date": now.strftime("%Y-%m-%dT%H:%MZ"), "commit": args.commit, "command": args.command,
        "machine": {"cpu": processor, "extensions": extensions, "cores": cores(), "memory_bytes": memory(),
                    "system": f"{platform.system()} {platform.release()}"},
        "threads": args.threads, "rounds": args.rounds, "warmup": args.warmup,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(("OMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_"))},
        "compiler": args.compiler or None, "flags": " ".join(args.flags.split()) or None, "libraries": args.libraries.split(),
        "torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
        "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "configurations": rows,
    }
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower()).strip("-")
    stem = os.path.join(args.output, f"{args.name}-{now:%Y-%m-%d}-{slug}")
    number = 2
    path = stem
    while os.path.exists(path + ".json"):
        path, number = f"{stem}-{number}", number + 1
    with open(path + ".json", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")

    text = [
        f"# Regimen and PyTorch on {processor}", "",
        *table(rows), "",
        f"Milliseconds of a step: the median over {args.rounds} rounds (smallest..largest) of each run's median after "
        f"{args.warmup} steps of warm-up. The ratio is taken within a round, against the faster of eager and compiled; more "
        "than 1 means that Regimen is faster. Memory is the peak resident size of the whole process, for PyTorch the "
        "smaller of the two forms. Others: processors that other programs kept busy, in the worst run; above 0.1 the times "
        "of that line are not to be trusted.", "",
        f"- date {result['date']}, commit {args.commit}",
        f"- {cores()} cores, {memory() / 2**30:.0f} GiB, {args.threads} threads, {' '.join(extensions)}",
        f"- {args.compiler or 'compiler unknown'}; {result['flags'] or 'flags unknown'}; {args.libraries or 'no product library found'}",
        f"- PyTorch {torch.__version__} ({result['torch_cpu_capability']}), Python {platform.python_version()}{started(rows)}",
        f"- environment: {' '.join(f'{k}={v}' for k, v in result['environment'].items())}", "",
        "```", args.command, *sorted({c for row in rows for c in row["commands"].values()}), "```", "",
    ]
    with open(path + ".md", "w") as file:
        file.write("\n".join(text))
    print("\n".join(table(rows)))
    print(f"written: {os.path.relpath(path)}.json and .md")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    sub = parser.add_subparsers(dest="what", required=True)
    one = sub.add_parser("median", help="one line about one log")
    one.add_argument("log")
    one.add_argument("--warmup", type=int, required=True)
    full = sub.add_parser("report")
    for name in ("logs", "output", "name", "compiler", "flags", "libraries", "commit", "command"):
        full.add_argument("--" + name, required=True)
    for name in ("warmup", "rounds", "threads"):
        full.add_argument("--" + name, type=int, required=True)
    args = parser.parse_args()
    if args.what == "report":
        report(args)
        return
    found = read(args.log, args.warmup)
    peak = f", {found['peak_rss_bytes'] / 1e6:.0f} MB" if "peak_rss_bytes" in found else ""
    others = f", others used {found['others']} processors" if found.get("others", 0) > 0.1 else ""
    print(f"{found['milliseconds']:9.3f} ms{peak}{others}")


if __name__ == "__main__":
    sys.exit(main())
