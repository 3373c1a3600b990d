#!/bin/sh
# emitted.sh COMPILER MODEL PRECISION SAVED FLAGS...: functions that one more Trainer in a program emits at -O0, with regimen::compiled, are at most
# MODEL where it is of another model, PRECISION where it is of another precision, and SAVED of another model where each saves, loads and evaluates.
# What a test compiles is mostly these. They depend on the compiler alone, not on the machine.
set -eu
compiler=$1 model=$2 precision=$3 saved=$4
shift 4
if ! command -v "$compiler" > /dev/null; then
  echo "no $compiler here"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
functions() {
  "$compiler" -std=c++20 -O0 -DREGIMEN_COMPILED=1 "$@" -c "$here/trainers.cpp" -o "$work/it.o"
  nm --defined-only "$work/it.o" | grep -c ' [TtW] '
}
failed=0
compare() {   # WHAT ONE FOUR LIMIT
  each=$((($3 - $2) / 3))
  echo "one more Trainer of another $1: $each functions (the limit is $4; a program with one has $2)"
  [ $each -le "$4" ] || failed=1
}
one=$(functions "$@")
compare model "$one" "$(functions -DMODELS "$@")" "$model"
compare precision "$one" "$(functions -DPRECISIONS "$@")" "$precision"
compare "model that is saved" "$(functions -DSAVES "$@")" "$(functions -DSAVES -DMODELS "$@")" "$saved"
exit $failed
