#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""registers.py NVCC ARCHITECTURE FLAGS...: the registers, spills, shared memory and occupancy of the kernels in registers.cu,
as a table; an error if one spills."""

import os
import re
import subprocess
import sys
import tempfile

# One multiprocessor of each: registers, warps, blocks, bytes of shared memory, of which each block takes 1 KiB more than it asks for.
LIMITS = {"80": (65536, 64, 32, 164 << 10), "90a": (65536, 64, 32, 228 << 10), "100": (65536, 64, 32, 228 << 10)}


def occupancy(limits, registers, threads, shared):
    """The share of a multiprocessor's warps that can be resident at once."""
    file, warps, blocks, memory = limits
    of_block = (threads + 31) // 32
    per_warp = (registers * 32 + 255) // 256 * 256
    resident = min(blocks, warps // of_block, file // per_warp // of_block, memory // (shared + 1024))
    return resident * of_block / warps


def main():
    nvcc, architecture, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "registers.cu")
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "registers")
        built = subprocess.run([nvcc, "-std=c++20", "-O3", f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-Xptxas", "-v",
                                *flags, source, "-o", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode != 0:
            sys.exit(built.stdout)
        listed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    report = {}
    for part in re.split(r"Compiling entry function ", built.stdout)[1:]:
        symbol = re.match(r"'(\w+)'", part).group(1)
        stack, stores, loads = map(int, re.search(symbol + r"\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads",
                                                  part).groups())
        fixed = re.search(r"(\d+) bytes smem", part)
        report[symbol] = (int(re.search(r"Used (\d+) registers", part).group(1)), stack, stores, loads, int(fixed.group(1)) if fixed else 0)
    names = subprocess.run(["c++filt"], input="\n".join(report), stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    by_name = {re.sub(r"\bvoid regimen::kernel::entry<(.*?), \d+ul>\(\1\)$", r"\1", name): found for name, found in zip(names, report.values())}
    lacking = [line for line in listed.splitlines() if line.split("\t")[3] not in by_name]
    if lacking or len(listed.splitlines()) < 50:
        sys.exit("kernels that the compiler's report lacks:\n" + "\n".join(lacking))
    print(f"| kernel (sm_{architecture}) | launch | threads | registers | spilled | stack | shared | occupancy |\n|---|---|---|---|---|---|---|---|")
    bad = []
    for line in listed.splitlines():
        threads, shared, operation, name = line.split("\t")
        registers, stack, stores, loads, fixed = by_name[name]
        threads, shared = int(threads), int(shared) + fixed
        kind, launch = re.match(r"regimen::kernel::Kernel<(.*), (\d+)u?>$", name).groups()
        kind = re.sub(r"regimen::(op|activation)?(::)?", "", kind)
        share = occupancy(LIMITS[architecture], registers, threads, shared)
        print(f"| `{kind}` | {int(launch) + 1} | {threads} | {registers} | {stores + loads} | {stack} | {shared} | {share:.2f} |")
        if stores or loads:
            bad.append(kind)
    if bad:
        sys.exit("spills: " + ", ".join(bad))


if __name__ == "__main__":
    main()
