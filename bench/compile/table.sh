#!/bin/bash
# table.sh [ROUNDS]: what a program's compilation costs, as the table of docs/building.md: processor time (lowest of ROUNDS, 3) in units of
# reference.cpp by g++ -O3 in the same rounds. A compiler that is not there has no row. For quiet machines: nothing beside it.
set -eu
rounds=${1:-3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <regimen/regimen.hpp>' > "$work/include.cpp"

include=(-I "$root/include" -I "$root/examples" -DREGIMEN_HAS_CBLAS=1 -DREGIMEN_HAS_ONEDNN=1)
lower() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a ? b : a) }'; }
compilers=()
for compiler in g++ clang++; do
  if command -v $compiler > /dev/null; then compilers+=($compiler); fi
done
declare -A lowest
measure() {   # KEY COMPILER SOURCE OPTIONS...
  local key=$1 compiler=$2 source=$3
  shift 3
  if [ $compiler = g++ ]; then set -- "$@" -fopenmp; fi
  lowest[$key]=$(lower "${lowest[$key]:-}" "$(bash "$here/spent.sh" $compiler 4096 "$source" "${include[@]}" "$@")")
}
for ((round = 1; round <= rounds; ++round)); do
  lowest[reference]=$(lower "${lowest[reference]:-}" "$(bash "$here/spent.sh" g++ 4096 "$here/reference.cpp")")
  for compiler in "${compilers[@]}"; do
    for source in "$work/include.cpp" "$root/examples/quickstart.cpp"; do
      name=$(basename "$source" .cpp)
      measure "$compiler $name alone -O3" $compiler "$source"
      measure "$compiler $name library -O1" $compiler "$source" -DREGIMEN_COMPILED=1 -O1
      measure "$compiler $name library -O3" $compiler "$source" -DREGIMEN_COMPILED=1
    done
  done
done
ratio() { awk -v a="${lowest[$1]}" -v b="${lowest[reference]}" 'BEGIN { printf "%.2f", a / b }'; }
echo "reference: ${lowest[reference]} s"
echo "| | headers alone, -O3 | regimen::compiled, -O1 | regimen::compiled, -O3 |"
echo "|---|---|---|---|"
for compiler in "${compilers[@]}"; do
  for name in include quickstart; do
    title='`#include <regimen/regimen.hpp>`'
    if [ $name = quickstart ]; then title='`examples/quickstart.cpp`'; fi
    echo "| $title, $compiler $($compiler -dumpversion) | $(ratio "$compiler $name alone -O3") | $(ratio "$compiler $name library -O1") | $(ratio "$compiler $name library -O3") |"
  done
done
