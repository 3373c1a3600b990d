#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Decode, cut, resize and normalise JPEG files: the pipeline of lesson 12 beside torchvision's. One thread each, in seconds on
# a processor, so that other programs on the machine matter little; rounds alternate, the best of each counts.
#
#   bench/data_images.sh [--build DIR] [--rounds N]
#
# REGIMEN_PYTHON names a Python with torch and torchvision (bench/peers/requirements.txt).
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release rounds=3
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --help | -h) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "bench/data_images.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
program=$build/bench/data_images python=${REGIMEN_PYTHON:-python3}
[ -x "$program" ] || { echo "bench/data_images.sh: no $program; build the target bench_data_images" >&2; exit 2; }
"$python" -c 'import torch, torchvision' || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rate() { sed 's/.*"images_per_cpu_second": *\([0-9.]*\).*/\1/'; }
best() { sort -g | tail -n 1; }
failed=0
for extents in "64 375 500" "16 1500 2000"; do
  read -r count height width <<< "$extents"
  folder=$work/$height
  "$program" make "$folder" "$count" "$height" "$width"
  for mode in eval train; do
    : > "$work/ours"; : > "$work/theirs"
    for ((round = 0; round < rounds; ++round)); do
      "$program" $mode "$folder" 4 | rate >> "$work/ours"
      "$python" "$root/bench/peers/images.py" $mode "$folder" 4 | rate >> "$work/theirs"
    done
    ours=$(best < "$work/ours") theirs=$(best < "$work/theirs")
    awk -v mode=$mode -v size="$width x $height" -v ours="$ours" -v theirs="$theirs" 'BEGIN {
      printf "%-5s of %s, to 224 x 224: %.0f images per processor second, torchvision %.0f: %.2fx\n", mode, size, ours, theirs, ours / theirs
      exit !(ours >= 1.2 * theirs) }' || failed=1
  done
done
exit $failed
