#!/bin/bash
# models.sh COMPILER LIMIT ROUNDS QUICKSTART "MODELS..." FLAGS...: the processor time of each model's program relative to that of the
# QUICKSTART: medians of runs in turn, optimised. Fails if a ratio is above LIMIT.
set -eu
compiler=$1 limit=$2 rounds=$3 quickstart=$4 models=$5
shift 5
if ! command -v "$compiler" > /dev/null; then
  echo "no $compiler here"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(dirname "$0")
for ((round = 0; round < rounds; ++round)); do
  for source in "$quickstart" $models; do
    echo "$source $(bash "$here/spent.sh" "$compiler" 16384 "$source" "$@")" | tee -a "$work/table"
  done
done
for source in "$quickstart" $models; do
  echo "$source $(grep "^$source " "$work/table" | cut -d ' ' -f 2 | sort -n | sed -n "$(((rounds + 1) / 2))p")"
done | awk -v limit="$limit" '
  NR == 1 { first = $2 }
  { printf "%-40s %6.2f s  %.2f\n", $1, $2, $2 / first;  if ($2 > first * limit) slow = 1 }
  END { exit slow || NR < 2 }'
