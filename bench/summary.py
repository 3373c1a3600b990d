#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the logs of the programs that bench/cpu.sh and bench/data.sh ran, and writes tables of their medians and ratios."""

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
    return aligned(lines)


def aligned(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
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

    result = described(args) | {
        "threads": args.threads, "warmup": args.warmup,
        "torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
        "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "configurations": rows,
    }
    write(args, result, [
        f"# Regimen and PyTorch on {result['machine']['cpu']}", "",
        *table(rows), "",
        f"Milliseconds of a step: the median over {args.rounds} rounds (smallest..largest) of each run's median after "
        f"{args.warmup} steps of warm-up. The ratio is taken within a round, against the faster of eager and compiled; more "
        "than 1 means that Regimen is faster. Memory is the peak resident size of the whole process, for PyTorch the "
        "smaller of the two forms. Others: processors that other programs kept busy, in the worst run; above 0.1 the times "
        "of that line are not to be trusted.", "",
        *facts(result, f"{args.threads} threads, "),
        f"- PyTorch {torch.__version__} ({result['torch_cpu_capability']}), Python {platform.python_version()}{started(rows)}",
        f"- environment: {' '.join(f'{k}={v}' for k, v in result['environment'].items())}", "",
        "```", args.command, *sorted({c for row in rows for c in row["commands"].values()}), "```", "",
    ])
    print("\n".join(table(rows)))


# What bench/data.sh measured: a line of JSON for each run, with case, unit, program, round and rate. The least ratio that is
# wanted, and of which program, by the beginning of a case.
GOALS = {"read TFRecords": (1.5, "tf.data"), "images": (1.2, "torchvision"), "encode": (1.0, "tokenizers")}
BELOW = {"% of a step": 1.0}  # by unit, where less is better and there is no peer


def compare_rates(lines):
    """A row for each case: medians of the programs, and ratios of rates within a round."""
    rows = []
    for case in dict.fromkeys(line["case"] for line in lines):
        of_case = [line for line in lines if line["case"] == case]
        rates = {}
        for line in of_case:
            rates.setdefault(line["program"], {})[line["round"]] = line["rate"]
        ours = rates.get("ours", {})
        row = {"case": case, "unit": of_case[0]["unit"], "others": max((line.get("others", 0) for line in of_case), default=0),
               "programs": {program: spread(list(found.values())) for program, found in rates.items()}, "ratios": {}}
        for program, found in rates.items():
            both = [ours[number] / found[number] for number in ours if number in found]
            if program != "ours" and both:
                row["ratios"][program] = spread(both)
        least, of = next((goal for begin, goal in GOALS.items() if case.startswith(begin)), (None, None))
        if of in row["ratios"]:
            row["goal"] = {"least": least, "of": of, "met": row["ratios"][of]["median"] >= least}
        if row["unit"] in BELOW and ours:
            row["goal"] = {"below": BELOW[row["unit"]], "met": row["programs"]["ours"]["median"] < BELOW[row["unit"]]}
        rows.append(row)
    return rows


def rates_table(rows):
    def number(value):
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"

    def spread_of(s):
        return f"{number(s['median'])} ({number(s['min'])}..{number(s['max'])})"

    lines = [["case", "unit", "Regimen", "peer", "its rate", "Regimen / peer", "others"]]
    for row in rows:
        ours = spread_of(row["programs"]["ours"]) if "ours" in row["programs"] else "-"
        disturbed = f"{row['others']:.2f}" if "others" in row else "-"
        peers = [program for program in row["programs"] if program != "ours"]
        for program in peers or ["-"]:
            ratio, goal = row["ratios"].get(program), row.get("goal", {})
            wanted = f", wanted {goal['least']}" if goal.get("of") == program else ""
            lines.append([row["case"], row["unit"], ours, program, spread_of(row["programs"][program]) if program in row["programs"] else "-",
                          f"{ratio['median']:.2f} ({ratio['min']:.2f}..{ratio['max']:.2f}){wanted}" if ratio else f"wanted below {goal['below']}" if "below" in goal else "-",
                          disturbed])
    return aligned(lines)


def rates(args):
    with open(args.log) as file:
        lines = [json.loads(line) for line in file if line.strip()]
    if not lines:
        print("nothing ran, so nothing is written")
        return 0
    wrong = []
    for case in dict.fromkeys(line["case"] for line in lines):
        checks = {line["check"] for line in lines if line["case"] == case and "check" in line}
        if len(checks) > 1:
            wrong.append(f"{case}: programs read different things: {', '.join(sorted(checks))}")
    rows = compare_rates(lines)
    versions = sorted({version for line in lines for version in line.get("versions", ())})
    result = described(args) | {"versions": versions, "python": platform.python_version(), "skipped": args.skipped, "cases": rows, "runs": lines}
    write(args, result, [
        f"# Reading data on {result['machine']['cpu']}", "",
        *rates_table(rows), "",
        f"Median of {args.rounds} rounds (smallest..largest); programs alternate. Ratios are taken within a round; more than 1 means that "
        "Regimen is faster. A processor second is one of all threads of the process together, so that other programs matter little; the "
        "other units are by the clock. Others: processors that other programs kept busy, in the worst run.", "",
        "The JPEG files are made up, with structure of all sizes and noise, at quality 90 (bench/data_images.cpp); the text of the tokenizers "
        "is real English, and a mixture of it with code, words of many scripts and bytes that are no UTF-8 (bench/peers/bpe.py).", "",
        *(f"- left out: {what}" for what in args.skipped),
        *facts(result, ""),
        f"- {', '.join(versions) or 'no peers'}, Python {platform.python_version()}", "",
        "```", args.command, "```", "",
    ])
    print("\n".join(rates_table(rows)))
    for words in wrong:
        print(words, file=sys.stderr)
    return 1 if wrong else 0


def described(args):
    """What stands in all results."""
    processor, extensions = cpu()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), "commit": args.commit, "command": args.command,
        "machine": {"cpu": processor, "extensions": extensions, "cores": cores(), "memory_bytes": memory(),
                    "system": f"{platform.system()} {platform.release()}"},
        "rounds": args.rounds,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(("OMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_"))},
        "compiler": args.compiler or None, "flags": " ".join(args.flags.split()) or None, "libraries": args.libraries.split(),
    }


def facts(result, threads):
    machine = result["machine"]
    return [f"- date {result['date']}, commit {result['commit']}",
            f"- {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {threads}{' '.join(machine['extensions'])}",
            f"- {result['compiler'] or 'compiler unknown'}; {result['flags'] or 'flags unknown'}; "
            f"{' '.join(result['libraries']) or 'no product library found'}"]


def write(args, result, text):
    """OUTPUT/NAME-DATE-PROCESSOR.json and .md; older ones stay."""
    slug = re.sub(r"[^a-z0-9]+", "-", result["machine"]["cpu"].lower()).strip("-")
    stem = os.path.join(args.output, f"{args.name}-{result['date'][:10]}-{slug}")
    number = 2
    path = stem
    while os.path.exists(path + ".json"):
        path, number = f"{stem}-{number}", number + 1
    with open(path + ".json", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(path + ".md", "w") as file:
        file.write("\n".join(text))
    print(f"written: {os.path.relpath(path)}.json and .md")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    sub = parser.add_subparsers(dest="what", required=True)
    one = sub.add_parser("median", help="one line about one log")
    one.add_argument("log")
    one.add_argument("--warmup", type=int, required=True)
    full = sub.add_parser("report", help="tables of bench/cpu.sh")
    full.add_argument("--logs", required=True)
    for name in ("warmup", "threads"):
        full.add_argument("--" + name, type=int, required=True)
    data = sub.add_parser("rates", help="tables of bench/data.sh")
    data.add_argument("--log", required=True)
    data.add_argument("--skipped", action="append", default=[])
    for command in (full, data):
        for name in ("output", "name", "compiler", "flags", "libraries", "commit", "command"):
            command.add_argument("--" + name, required=True)
        command.add_argument("--rounds", type=int, required=True)
    args = parser.parse_args()
    if args.what == "report":
        return report(args)
    if args.what == "rates":
        return rates(args)
    found = read(args.log, args.warmup)
    peak = f", {found['peak_rss_bytes'] / 1e6:.0f} MB" if "peak_rss_bytes" in found else ""
    others = f", others used {found['others']} processors" if found.get("others", 0) > 0.1 else ""
    print(f"{found['milliseconds']:9.3f} ms{peak}{others}")


if __name__ == "__main__":
    sys.exit(main())
