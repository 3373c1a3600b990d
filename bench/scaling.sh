#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several ranks on this machine: speed-up, efficiency, bytes and time per phase, the worth of overlap; and predictions for GPUs.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/scaling.sh [options]

  --build DIR     build directory; programs are read from DIR/bench   (default: build/release)
  --ranks N       1, 2, 4, ... up to so many, as threads              (4)
  --threads N     of each rank                                        (1)
  --steps N       timed steps of one run                              (20)
  --rounds N      runs of each, in turns                              (3)
  --patience N    seconds to wait for a quiet machine                 (0)
  --output DIR    write DIR/ranks-DATE-MACHINE.md, and the JSON lines beside it; refused where other programs used more than a
                  tenth of a processor meanwhile                      (print only)
  --help

Exit code: 0 all ran, 1 a program failed or the machine was not quiet enough to keep the results, 2 bad usage.
TEXT
}
die() { printf 'bench/scaling.sh: %s\n' "$*" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bench/common.sh"
build=$root/build/release ranks=4 threads=1 steps=20 rounds=3 patience=0 output=''
command=bench/scaling.sh
while [ $# -gt 0 ]; do
  case $1 in
    --build | --output) [ $# -ge 2 ] || die "$1 needs a value"; declare "${1#--}=$2"; shift 2 ;;
    --ranks | --threads | --steps | --rounds | --patience)
      [ $# -ge 2 ] || die "$1 needs a value"
      [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
      declare "${1#--}=$2"
      command+=" $1 $2"
      shift 2 ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option $1; see --help" ;;
  esac
done
for program in scaling overlap; do
  [ -x "$build/bench/$program" ] || die "no program $build/bench/$program; build the target bench_$program"
done

quiet $((SECONDS + patience)) || true

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%R %U %S'
before=$(busy)
{
  time {
    "$build/bench/scaling" --ranks "$ranks" --threads "$threads" --steps "$steps" --rounds "$rounds" --log "$work/scaling" 2> "$work/err" | tee "$work/scaling.txt"
    "$build/bench/overlap" --steps "$steps" --rounds "$rounds" --log "$work/overlap" 2>> "$work/err" | tee "$work/overlap.txt"
  } 2>&3
} 3>&2 2> "$work/time" || { cat "$work/err" >&2; exit 1; }
read -r wall user system < "$work/time"
others=$(awk -v all=$(($(busy) - before)) -v wall="$wall" -v used="$user" -v kernel="$system" \
  'BEGIN { others = (all / 100 - used - kernel) / wall; printf "%.2f\n", (others > 0 ? others : 0) }')
printf '\nother programs kept %s processors busy meanwhile\n' "$others"
[ -n "$output" ] || exit 0
if [[ $others != 0.0* ]]; then
  printf 'bench/scaling.sh: not written to %s: the machine was not quiet\n' "$output" >&2
  exit 1
fi

machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
[ -n "$machine" ] || machine=$(uname -m)
name=ranks-$(date +%F)-$(printf '%s' "$machine" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/-*$//')
how_compiled "$build"
mkdir -p "$output"
cat "$work/scaling" "$work/overlap" > "$output/$name.jsonl"
{
  printf '# Ranks on one machine\n\n'
  printf -- '- machine: %s, %s processors; other programs kept %s of them busy\n' "$machine" "$(nproc)" "$others"
  printf -- '- compiler: %s\n- commit: %s\n- command: `%s`\n\n```\n' "${compiler:-unknown}" "$commit" "$command"
  cat "$work/scaling.txt"
  printf '\n'
  cat "$work/overlap.txt"
  printf '```\n'
} > "$output/$name.md"
printf 'written: %s\n' "$output/$name.md"
