#!/bin/bash
# table.sh [ROUNDS]: what a program's compilation costs, as the tables of docs/building.md: processor time (lowest of ROUNDS, 3) in units of
# reference.cpp by g++ -O3 in the same rounds. A compiler that is not there has no row. For quiet machines: nothing beside it.
# With nvcc also a program for a GPU.
set -eu
rounds=${1:-3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <regimen/regimen.hpp>' > "$work/include.cpp"
{
  echo '#include <regimen/engine/cuda/device.hpp>'
  sed 's/Batch<16>,/Batch<16>, Device<Cuda>,/' "$root/examples/quickstart.cpp"
} > "$work/on_gpu.cpp"

include=(-I "$root/include" -I "$root/examples" -DREGIMEN_HAS_CBLAS=1 -DREGIMEN_HAS_ONEDNN=1)
lower() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a ? b : a) }'; }
compilers=()
for compiler in g++ clang++; do
  if command -v $compiler > /dev/null; then compilers+=($compiler); fi
done
declare -A lowest
measure() {   # KEY COMPILER SOURCE OPTIONS...
  local key=$1 compiler=$2 source=$3 seconds
  shift 3
  if [ "$compiler" = g++ ]; then set -- "$@" -fopenmp; fi
  seconds=$(bash "$here/spent.sh" $compiler 4096 "$source" "${include[@]}" "$@")
  lowest[$key]=$(lower "${lowest[$key]:-}" "$seconds")
}
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
ways=("all kernels, with the headers alone" "all kernels, with regimen::compiled" "those that regimen::cuda_compiled lacks")
flags=("" -DREGIMEN_COMPILED=1 "-DREGIMEN_COMPILED=1 -DREGIMEN_CUDA_COMPILED=900")
for ((round = 1; round <= rounds; ++round)); do
  lowest[reference]=$(lower "${lowest[reference]:-}" "$(bash "$here/spent.sh" g++ 4096 "$here/reference.cpp")")
  for compiler in "${compilers[@]}"; do
    for source in "$work/include.cpp" "$root/examples/quickstart.cpp"; do
      name=$(basename "$source" .cpp)
      measure "$compiler $name alone -O3" $compiler "$source"
      measure "$compiler $name library -O1" $compiler "$source" -DREGIMEN_COMPILED=1 -O1
      measure "$compiler $name library -O3" $compiler "$source" -DREGIMEN_COMPILED=1
    done
    for level in -O1 -O3; do
      measure "$compiler on_gpu $level" $compiler "$work/on_gpu.cpp" -DREGIMEN_COMPILED=1 -DREGIMEN_CUDA_COMPILED=900 $level
    done
  done
  for way in 0 1 2; do
    # shellcheck disable=SC2086
    if [ -n "$nvcc" ]; then measure "nvcc $way" "$nvcc" "$root/examples/07_gpu.cpp" ${flags[way]}; fi
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
echo
echo "| on a GPU, with regimen::cuda_compiled | -O1 | -O3 |"
echo "|---|---|---|"
for compiler in "${compilers[@]}"; do
  echo "| \`examples/quickstart.cpp\` with \`Device<Cuda>\`, $compiler $($compiler -dumpversion) | $(ratio "$compiler on_gpu -O1") | $(ratio "$compiler on_gpu -O3") |"
done
if [ -n "$nvcc" ]; then
  echo
  echo "| lesson 7 as a .cu file, by $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/nvcc \1/p'), which compiles | |"
  echo "|---|---|"
  for way in 0 1 2; do echo "| ${ways[way]} | $(ratio "nvcc $way") |"; done
fi
