#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast data are read, beside Python's readers, alternated in the same run.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/data.sh [options]

  --build DIR     build directory; programs are read from DIR/bench     (default: build/release)
  --rounds N      times that each reader runs                           (5)
  --records N     TFRecords in the file, of about 10 KB each            (20000)
  --help

REGIMEN_PYTHON names a Python with the packages tfrecord, crc32c and protobuf (pip install tfrecord crc32c). The file is
written, and read once, before the clock starts, so that it is in memory. Medians of the rounds, records a second.

Exit code: 0 all ran and read the same, 1 a program failed or read something else, 2 bad usage or something is missing.
TEXT
}
die() { printf 'bench/data.sh: %s\n' "$*" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release rounds=5 records=20000
while [ $# -gt 0 ]; do
  case $1 in
    --build | --rounds | --records) [ $# -ge 2 ] || die "$1 needs a value"; declare "${1#--}=$2"; shift 2 ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option $1; see --help" ;;
  esac
done
for name in rounds records; do [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "--$name needs a number of at least 1, not '${!name}'"; done
[ -x "$build/bench/records" ] || die "no $build/bench/records: build the benchmarks, or name their folder with --build"
python=${REGIMEN_PYTHON:-python3}
"$python" -c 'import crc32c, tfrecord' 2> /dev/null || die "'$python' lacks a package: pip install tfrecord crc32c, and name it with REGIMEN_PYTHON"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/bench/records" write "$folder/a.tfrec" "$records"
one() {   # one READER: its line
  case $1 in
    regimen) "$build/bench/records" read "$folder/a.tfrec" ;;
    *) "$python" "$root/bench/peers/records.py" "$1" "$folder/a.tfrec" ;;
  esac
}
one regimen > /dev/null
for ((round = 1; round <= rounds; ++round)); do
  for reader in regimen checked tfrecord; do
    line=$(one "$reader")
    sum=${line##*sum }
    [ "${expected:=$sum}" = "$sum" ] || { echo "bench/data.sh: $reader read something else: $line" >&2; exit 1; }
    line=${line#*records, }
    echo "${line%% a second*}" >> "$folder/$reader"
  done
done
median() { sort -n "$folder/$1" | sed -n "$(((rounds + 1) / 2))p"; }
ours=$(median regimen)
printf '%-34s %12s %8s\n' 'TFRecords of tf.train.Example' 'records/s' 'ratio'
for reader in regimen checked tfrecord; do
  case $reader in
    regimen) words='regimen, checksums' ;;
    checked) words='Python, protobuf, checksums' ;;
    tfrecord) words='Python, tfrecord, no checksums' ;;
  esac
  theirs=$(median "$reader")
  printf '%-34s %12s %8s\n' "$words" "$theirs" "$(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")"
done
