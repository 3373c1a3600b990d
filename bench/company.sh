#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a step costs while a program of another session keeps one processor busy, beside what it costs alone.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/company.sh [options] PROGRAM [PROGRAM...]

  --rounds N    times that each PROGRAM runs alone and in company  (3)
  --steps N     steps of a run; the first 5 do not count           (55)
  --threads N   of a program                                       (2)
  --help

PROGRAM is a build's bench/gpt_nano or examples/01_gpt: one that takes --steps, --threads and --log. Programs alternate, and
with them the runs alone and in company. The company is one busy shell in a session of its own, which the kernel counts as one
group where it groups (sched_autogroup_enabled). Prints the median step of each run, then the medians of those.
TEXT
}

rounds=3 steps=55 threads=2 programs=()
while [ $# -gt 0 ]; do
  case $1 in
    --rounds | --steps | --threads)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "bench/company.sh: $1 needs a number of at least 1" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2 ;;
    --help | -h) usage; exit 0 ;;
    -*) echo "bench/company.sh: unknown option $1; see --help" >&2; exit 2 ;;
    *) programs+=("$1"); shift ;;
  esac
done
if [ ${#programs[@]} -eq 0 ] || [ "$steps" -le 5 ]; then usage >&2; exit 2; fi

work=$(mktemp -d) company=''
leave() {
  if [ -n "$company" ]; then kill "$company" 2> /dev/null || true; fi
  rm -rf "$work"
}
trap leave EXIT

# median FILE: of the numbers in it
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { printf "%.2f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# step PROGRAM: the median milliseconds of its steps after the fifth
step() {
  "$1" --steps "$steps" --threads "$threads" --log "$work/log" > "$work/out" 2>&1 < /dev/null || { cat "$work/out" >&2; exit 1; }
  sed -n 's/.*"event":"step".*"milliseconds":\([0-9.e+-]*\).*/\1/p' "$work/log" | tail -n +6 > "$work/steps"
  median "$work/steps"
}

printf 'kernel.sched_autogroup_enabled = %s, %s processors, %s threads, medians of %s steps, ms\n' \
  "$(cat /proc/sys/kernel/sched_autogroup_enabled 2> /dev/null || echo '(none)')" "$(nproc)" "$threads" "$((steps - 5))"
for ((round = 1; round <= rounds; ++round)); do
  for i in "${!programs[@]}"; do
    alone=$(step "${programs[$i]}")
    setsid sh -c 'while :; do :; done' &
    company=$!
    shared=$(step "${programs[$i]}")
    kill "$company"
    wait "$company" 2> /dev/null || true
    company=''
    printf '  round %s  program %s  alone %8s  in company %8s\n' "$round" "$((i + 1))" "$alone" "$shared"
    echo "$alone" >> "$work/alone.$i"
    echo "$shared" >> "$work/shared.$i"
  done
done
for i in "${!programs[@]}"; do
  alone=$(median "$work/alone.$i") shared=$(median "$work/shared.$i")
  printf 'program %s: alone %s, in company %s: %s times\n' "$((i + 1))" "$alone" "$shared" "$(awk -v a="$alone" -v b="$shared" 'BEGIN { printf "%.2f", b / a }')"
done
