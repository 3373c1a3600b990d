#!/bin/bash
# models.sh COMPILER LIMIT QUICKSTART "MODELS..." FLAGS...: each of MODELS compiles, optimised, in LIMIT times the processor time of QUICKSTART.
# They take turns, and the lowest times count; the first round after which all ratios are good enough ends it, the third at the latest.
set -eu
compiler=$1 limit=$2 quickstart=$3 models=$4
shift 4
if ! command -v "$compiler" > /dev/null; then
  echo "no $compiler here"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(dirname "$0")
for round in 1 2 3; do
  for source in "$quickstart" $models; do
    echo "$source $(bash "$here/spent.sh" "$compiler" 16384 "$source" "$@")" >> "$work/table"
  done
  if awk -v limit="$limit" '
       !($1 in lowest) { sources[++count] = $1; lowest[$1] = $2 }
       $2 < lowest[$1] { lowest[$1] = $2 }
       END {
         first = lowest[sources[1]]
         for (i = 1; i <= count; ++i) {
           ratio = lowest[sources[i]] / first
           printf "%-40s %6.2f s of processor time, %.2f times the first; the limit is %.2f\n", sources[i], lowest[sources[i]], ratio, limit
           if (ratio > limit) slow = 1
         }
         exit slow || count < 2
       }' "$work/table"; then exit 0; fi
done
exit 1
