#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one go: tests, rates, sanitizers. Writes bench/results/<device>/<date>.{json,md}.
set -uo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/gpu.sh [--build | --run] [options] [section...]

Without --build and --run it does both. Sections, in this order if none is named:

  tests       tests/device: the engine and its kernels against the CPU; lesson 7
  step        tokens/s of whole training steps beside PyTorch, eager and compiled
  products    TFLOP/s of products beside PyTorch's for the same shapes and types
  kernels     GB/s of each memory-bound kernel beside the device's measured copy bandwidth
  ranks       steps of ranks, Replicated and ZeRO3, with overlap and without: by NCCL on several GPUs, and sharing one
  sanitizer   tests/device under compute-sanitizer: memcheck, racecheck, synccheck

  --build          compile only; needs nvcc, no device. The folder can then be carried to a machine with one
  --run            run what --build made; needs no compiler
  --folder DIR     where programs, and the headers that they include besides CUDA's, lie (build/gpu)
  --arch NAME      of the GPU: 80, 90a, 100 (90a)
  --jobs N         compilers at a time (number of processors, at most 8)
  --output DIR     where the results go (bench/results)
  --limit N        seconds that one program may take (150)
  --help

REGIMEN_PYTHON names the Python with PyTorch (python3). cuBLASLt, cuDNN and NCCL are those of its packages, else the toolkit's. A section
that fails does not stop the others. Exit code: 0 all passed or was skipped with a reason, 1 something failed, 2 bad usage, 77 no device.
TEXT
}
die() { printf 'bench/gpu.sh: %s\n' "$*" >&2; exit 2; }
say() { printf '\n== %s\n' "$*"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${REGIMEN_PYTHON:-python3}
folder=$root/build/gpu arch=90a output=$root/bench/results limit=150 build=true run=true
jobs=$(nproc 2> /dev/null || echo 2)
[ "$jobs" -le 8 ] || jobs=8
all_sections=(tests step products kernels ranks sanitizer)
sections=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) run=false; shift ;;
    --run) build=false; shift ;;
    --folder | --arch | --jobs | --output | --limit)
      [ $# -ge 2 ] || die "$1 needs a value"
      declare "${1#--}=$2"
      shift 2 ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option $1; see --help" ;;
    *)
      case " ${all_sections[*]} " in *" $1 "*) sections+=("$1") ;; *) die "unknown section $1; see --help" ;; esac
      shift ;;
  esac
done
$build || $run || die "--build and --run are the two halves; leave both out to do both"
[ ${#sections[@]} -gt 0 ] || sections=("${all_sections[@]}")

# ---- libraries: of the toolkit, or of PyTorch's packages ----------------------------------------------------------------
nvidia=$("$python" -c 'import importlib.util as u; s = u.find_spec("nvidia"); print(*(s.submodule_search_locations if s else []), sep="\n")' 2> /dev/null)
packages() {   # SUBFOLDER: of PyTorch's packages
  local package
  while IFS= read -r package; do
    [ -z "$package" ] || printf '%s\n' "$package"/{cu13,cublas,cudnn,nccl}/"$1"
  done <<< "$nvidia"
}
toolkit() { printf '%s\n' "/usr/local/cuda/$1" "/usr/local/cuda/${1}64" /usr/lib/x86_64-linux-gnu; }
# The toolkit's first: the packages also have headers of a CUDA runtime, perhaps not the compiler's.
first_with() {   # SUBFOLDER PATTERN: the first file that fits
  local place file
  while IFS= read -r place; do
    for file in "$place"/$2; do
      [ ! -e "$file" ] || { printf '%s\n' "$file"; return; }
    done
  done < <(toolkit "$1"; packages "$1")
}
library() { printf '%s\n%s\n' "-L$(dirname "$1")" "-l:$(basename "$1")"; }

# ---- build -----------------------------------------------------------------------------------------------------------
# By nvcc alone, without CMake: the machine with the GPU may have neither our dependencies nor a network. A program's name is that of
# its file; never -march=native, as another machine may run it.
program_of() {   # SOURCE: the name of its program
  local name
  name=$(basename "${1%.*}")
  case $1 in */tests/*) name=test_$name ;; */examples/*) name=lesson_$name ;; esac
  printf '%s\n' "$name"
}
compile_all() {
  local nvcc lt cudnn nccl with_nccl=() flags=() libraries=() sources=() more=() source name includes failed=0
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null) || { echo "no nvcc here; build elsewhere with --build"; return 1; }
  mkdir -p "$folder/bin" "$folder/include" "$folder/logs/build"
  rm -f "$folder"/bin/*
  git -C "$root" describe --always --dirty --abbrev=12 > "$folder/commit" 2> /dev/null || echo unknown > "$folder/commit"
  # The headers of others, copied from this machine's, or already there.
  includes=$(for name in boost/mp11.hpp nlohmann/json.hpp CLI/CLI.hpp; do
    printf '#include <%s>\n' "$name" | g++ -std=c++20 -I"$folder/include" -x c++ -M - 2> /dev/null
  done | tr -s ' \\\n' '\n' | grep -E '^/usr/(local/)?include/(boost|nlohmann|CLI)/' | sort -u)
  for source in $includes; do
    name=$folder/include/${source#*/include/}
    mkdir -p "$(dirname "$name")" && cp "$source" "$name"
  done
  [ -e "$folder/include/boost/mp11.hpp" ] && [ -e "$folder/include/nlohmann/json.hpp" ] ||
    { echo "no Boost.Mp11 and nlohmann-json here, and none in $folder/include: run --build on a machine that has them"; return 1; }

  flags=(-std=c++20 -O3 -lineinfo -gencode "arch=compute_$arch,code=sm_$arch" -cudart static -I"$root/include" -I"$folder/include")
  lt=$(first_with lib 'libcublasLt.so*')
  [ -n "$lt" ] || { echo "no libcublasLt.so here, neither in CUDA's toolkit nor in PyTorch's packages"; return 1; }
  mapfile -t libraries < <(library "$lt")
  flags+=(-isystem "$(dirname "$(first_with include cublasLt.h)")")
  cudnn=$(first_with lib 'libcudnn.so*')
  if [ -n "$cudnn" ] && [ -n "$(first_with include cudnn.h)" ]; then
    mapfile -t -O ${#libraries[@]} libraries < <(library "$cudnn")
    flags+=(-DREGIMEN_HAS_CUDNN=1 -isystem "$(dirname "$(first_with include cudnn.h)")")
  fi
  nccl=$(first_with lib 'libnccl.so*')
  if [ -n "$nccl" ] && [ -n "$(first_with include nccl.h)" ]; then
    mapfile -t with_nccl < <(printf '%s\n' -DREGIMEN_HAS_NCCL=1 -isystem "$(dirname "$(first_with include nccl.h)")"; library "$nccl")
  fi
  sources=("$root"/bench/gpu/step_*.cpp "$root"/tests/device/*.cu "$root"/bench/gpu/{ranks,device,products,kernels}.cpp)   # the longest first
  # Lesson 7 parses its command line with CLI11, and its files need zlib.
  if [ -e "$folder/include/CLI/CLI.hpp" ] && printf 'int main() {}\n' | g++ -include zlib.h -x c++ - -lz -o "$folder/logs/build/zlib" 2> /dev/null
  then sources=("$root/examples/07_gpu.cpp" "${sources[@]}")
  else echo "no CLI11 or no zlib here: lesson 7 is not built"; fi
  for source in "${sources[@]}"; do
    name=$(program_of "$source") more=()
    case $source in
      */examples/*) more=("$root/examples/program.cpp" -lz) ;;
      */ranks.*) more=("${with_nccl[@]}" -lz) ;;   # these alone must not start without NCCL; files need zlib
    esac
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    ("$nvcc" -x cu "${flags[@]}" "$source" "${more[@]}" -o "$folder/bin/$name" "${libraries[@]}" > "$folder/logs/build/$name.log" 2>&1 ||
      { echo "does not compile: ${source#"$root"/} (log: $folder/logs/build/$name.log)"; sed 's/^/    /' "$folder/logs/build/$name.log" | head -n 20; }) &
  done
  wait
  for source in "${sources[@]}"; do
    [ -x "$folder/bin/$(program_of "$source")" ] || failed=1
  done
  return $failed
}
broken=0
if $build; then
  say "build for sm_$arch, $jobs at a time"
  begun=$SECONDS
  compile_all || broken=1
  echo "$((SECONDS - begun)) s, $(find "$folder/bin" -type f 2> /dev/null | wc -l) programs in $folder/bin"
  $run || exit $broken
fi

# ---- run -------------------------------------------------------------------------------------------------------------
[ -x "$folder/bin/device" ] || die "no programs in $folder/bin; run bench/gpu.sh --build"
# PyTorch's first, so that both sides of a comparison use the same.
LD_LIBRARY_PATH=$( (packages lib; toolkit lib) | while IFS= read -r place; do [ ! -d "$place" ] || printf '%s:' "$place"; done)${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
logs=$folder/logs/run
rm -rf "$logs"
mkdir -p "$logs"
"$folder/bin/device" > "$logs/device.json" 2> "$logs/device.log" || {
  code=$?
  cat "$logs/device.log" >&2
  exit $code
}
gpu=${CUDA_VISIBLE_DEVICES:-0}
gpu=${gpu%%,*}
nvidia-smi -i "$gpu" --query-gpu=driver_version,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader > "$logs/smi.csv" 2> /dev/null || true
# While a section runs: what the clocks are under load, not what an idle device shows.
watcher=
watch_clocks() {   # SECTION
  nvidia-smi -i "$gpu" --query-gpu=utilization.gpu,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader,nounits -lms 500 \
    > "$logs/clocks.$1.csv" 2> /dev/null < /dev/null &
  watcher=$!
}
end_watch() {
  [ -z "$watcher" ] || { kill "$watcher"; wait "$watcher"; } 2> /dev/null
  watcher=
}
trap end_watch EXIT
grep -v '^$' "$logs/device.json"
cp "$folder/commit" "$logs/commit" 2> /dev/null || echo unknown > "$logs/commit"

# program SECTION NAME COMMAND...: one line in the section's list; its JSON lines are results, all it says is in its log.
program() {
  local section=$1 name=$2 begun=$SECONDS code status
  shift 2
  timeout -k 5 "$limit" "$@" > "$logs/$section.$name.out" 2> "$logs/$section.$name.err" < "${input:-/dev/null}"
  code=$?
  case $code in
    0) status=passed ;;
    77) status=skipped ;;
    124 | 137) status="failed: stopped after $limit s" ;;
    *) status="failed: exit code $code" ;;
  esac
  [ "$status" != skipped ] || status="skipped: $(cat "$logs/$section.$name.out" "$logs/$section.$name.err" | tail -n 1)"
  printf '%s\t%s\t%s\t%s\n' "$section" "$name" "$((SECONDS - begun))" "$status" | tee -a "$logs/programs.tsv"
  case $status in failed*)
    broken=1
    tail -n 12 "$logs/$section.$name.out" "$logs/$section.$name.err" | sed 's/^/    /' ;;
  esac
}
skip() { printf '%s\t%s\t0\tskipped: %s\n' "$1" "$2" "$3" | tee -a "$logs/programs.tsv"; }

with_torch=true
"$python" -c 'import torch' 2> /dev/null || with_torch=false
peer() {   # SECTION NAME SCRIPT ARGUMENTS...
  if $with_torch; then program "$1" "$2" "$python" "$root/bench/$3" "${@:4}"; else skip "$1" "$2" "no PyTorch in $python"; fi
}
section_tests() {
  local test
  for test in "$folder"/bin/test_*; do program tests "$(basename "$test")" "$test"; done
  if [ -x "$folder/bin/lesson_07_gpu" ]; then program tests lesson_07_gpu "$folder/bin/lesson_07_gpu" --steps 300 --sample 0
  else skip tests lesson_07_gpu "was not built: no CLI11 or zlib"; fi
}
section_step() {
  local nano=(--device cuda --batch 12 --seconds 5) gpt2=(--device cuda --batch 16 --layers 12 --heads 12 --width 768 --context 1024
    --vocabulary 50257 --tied --dtype bf16 --seconds 10)
  program step gpt2_124m "$folder/bin/step_gpt2"
  program step gpt_nano "$folder/bin/step_nano"
  peer step gpt2_124m.eager peers/gpt.py "${gpt2[@]}"
  peer step gpt2_124m.compiled peers/gpt.py "${gpt2[@]}" --compile
  peer step gpt_nano.eager peers/gpt.py "${nano[@]}"
  peer step gpt_nano.compiled peers/gpt.py "${nano[@]}" --compile --mode reduce-overhead
  peer step gpt_nano_bf16.compiled peers/gpt.py "${nano[@]}" --dtype bf16 --compile --mode reduce-overhead
}
section_products() {
  program products ours "$folder/bin/products"
  input=$logs/products.ours.out peer products torch gpu/products.py
}
section_kernels() { program kernels all "$folder/bin/kernels"; }
section_ranks() { program ranks all "$folder/bin/ranks"; }
section_sanitizer() {
  local tool
  if ! command -v compute-sanitizer > /dev/null; then skip sanitizer all "no compute-sanitizer here"; return; fi
  for tool in memcheck racecheck synccheck; do
    program sanitizer $tool.block_kernels compute-sanitizer --tool $tool --error-exitcode 9 "$folder/bin/test_block_kernels"
  done
  program sanitizer memcheck.trainer compute-sanitizer --tool memcheck --error-exitcode 9 "$folder/bin/test_trainer" small
}
for section in "${sections[@]}"; do
  say "$section"
  watch_clocks "$section"
  "section_$section"
  end_watch
done

say "results"
"$python" "$root/bench/gpu/summary.py" --logs "$logs" --output "$output" --command "bench/gpu.sh ${sections[*]}" || broken=1
exit $broken
