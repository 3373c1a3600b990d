#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, for a machine with a GPU that is at hand for minutes: packs the programs here, runs the most valuable first
# there, and keeps the results after every program.
set -uo pipefail
export LC_ALL=C PYTHONUNBUFFERED=1

usage() {
  cat <<'TEXT'
usage: bench/gpu.sh [--build | --pack | --run] [options] [section...]

Without --build, --pack and --run it builds and runs. Sections; all, if none is named:

  tests       tests/device: the engine and its kernels against the CPU; lesson 7, by nvcc and by the library
  step        tokens/s of whole training steps beside PyTorch, eager and compiled
  products    TFLOP/s of the products of a GPT-2 step, and of others, beside PyTorch's for the same shapes and types
  attention   TFLOP/s of each form of attention alone, at GPT-2's extents
  kernels     GB/s of each memory-bound kernel beside the device's measured copy bandwidth
  ranks       steps of ranks, Replicated and ZeRO3, with overlap and without: by NCCL on several GPUs, and sharing one
  sanitizer   tests/device under compute-sanitizer: memcheck, racecheck, synccheck

  --build            compile what has changed; needs nvcc, no device
  --pack             build, and pack programs and headers of others into FOLDER.tgz, for a machine without network
  --run              unpack FOLDER.tgz if it is newer than FOLDER, and run; needs no compiler. Goes on where the last --run ended: with
                     the logs in FOLDER, or with those in DIR. Other programs, or another GPU, begin anew; DIR/earlier keeps the rest
  --folder FOLDER    where programs, and the headers that they include besides CUDA's, lie (build/gpu)
  --without NAME     leave a program out; may be repeated
  --arch NAME        of the GPU: 80, 90a, 100 (90a)
  --jobs N           compilers at a time (number of processors, at most 8)
  --budget SECONDS   the run ends by then; what no longer fits is left for the next --run
  --limit N          seconds that one program may take at most; each has a limit of its own, too
  --output DIR       where results go after every program: logs.tgz, programs.tsv, gpu-<date>-<device>.{json,md} (FOLDER/results)
  --help

REGIMEN_PYTHON names the Python with PyTorch (python3). cuBLASLt, cuDNN and NCCL are those of its packages, else the toolkit's. A program
that fails does not stop the others. Exit code: 0 all that ran passed, or was skipped with a reason, 1 something failed, 2 bad usage,
77 no device.
TEXT
}
die() { printf 'bench/gpu.sh: %s\n' "$*" >&2; exit 2; }
say() { printf '\n== %s\n' "$*"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${REGIMEN_PYTHON:-python3}
folder=$root/build/gpu arch=90a output='' limit=600 budget=86400 mode=''
jobs=$(nproc 2> /dev/null || echo 2)
[ "$jobs" -le 8 ] || jobs=8
all_sections=(tests step products attention kernels ranks sanitizer)
sections=() without=()
while [ $# -gt 0 ]; do
  case $1 in
    --build | --pack | --run)
      [ -z "$mode" ] || die "$mode and $1 are different parts; name one, or neither"
      mode=$1
      shift ;;
    --folder | --arch | --jobs | --output | --limit | --budget | --without)
      [ $# -ge 2 ] || die "$1 needs a value"
      case $1 in
        --jobs | --limit | --budget) case $2 in '' | *[!0-9]* | 0*) die "$1 needs a whole number above 0, and got '$2'" ;; esac ;;
      esac
      if [ "$1" = --without ]; then without+=("$2"); else declare "${1#--}=$2"; fi
      shift 2 ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option $1; see --help" ;;
    *)
      case " ${all_sections[*]} " in *" $1 "*) sections+=("$1") ;; *) die "unknown section $1; see --help" ;; esac
      shift ;;
  esac
done
[ ${#sections[@]} -gt 0 ] || sections=("${all_sections[@]}")
output=${output:-$folder/results}

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
# By nvcc alone, without CMake (but for lesson 7 with the library): the machine with the GPU may have neither our dependencies nor a
# network. A program's name is that of
# its file; never -march=native, as another machine may run it.
program_of() {   # SOURCE: the name of its program
  local name
  name=$(basename "${1%.*}")
  case $1 in */tests/*) name=test_$name ;; */examples/*) name=lesson_$name ;; esac
  printf '%s\n' "$name"
}
is_left_out() { case " ${without[*]} " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
# is_current NAME COMMAND...: by this command, and since then nothing has changed that it read.
is_current() {
  local name=$1 dependency
  shift
  [ -x "$folder/bin/$name" ] && [ -s "$folder/made/$name.d" ] && [ "$(cat "$folder/made/$name.command" 2> /dev/null)" = "$*" ] || return 1
  while IFS= read -r dependency; do
    [ ! "$dependency" -nt "$folder/bin/$name" ] && [ -e "$dependency" ] || return 1
  done < <(sed 's/^[^:]*: //' "$folder/made/$name.d" | tr -s ' \\\n' '\n' | grep .)
}
# compile NAME COMMAND...: a program, with a line of what it costs
compile() {
  local name=$1 log=$folder/logs/build/$1.log TIMEFORMAT='%R %U %S' code=0
  shift
  if is_current "$name" "$@"; then return; fi
  rm -f "$folder/bin/$name"
  { time "$@" -MD -MF "$folder/made/$name.d" -o "$folder/made/$name" > "$log" 2>&1; } 2> "$folder/made/$name.time" || code=$?
  if [ $code -ne 0 ]; then
    echo "does not compile: $name (log: $log)"
    sed 's/^/    /' "$log" | head -n 20
    return 1
  fi
  [ ! -s "$log" ] || sed 's/^/    /' "$log" | head -n 5
  strip -s -o "$folder/bin/$name" "$folder/made/$name" && rm "$folder/made/$name"
  printf '%s' "$*" > "$folder/made/$name.command"
  read -r -a spent < "$folder/made/$name.time"
  awk -v n="$name" -v u="${spent[1]}" -v s="${spent[2]}" -v b="$(stat -c %s "$folder/bin/$name")" \
    'BEGIN { printf "%-22s %4.0f s of a processor, %5.1f MB\n", n, u + s, b / 1e6 }'
}
compile_all() {
  local nvcc lt cudnn nccl with_nccl=() flags=() libraries=() sources=() command=() source name includes failed=0
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null) || { echo "no nvcc here; build elsewhere with --pack"; return 1; }
  mkdir -p "$folder/bin" "$folder/include" "$folder/logs/build" "$folder/made"
  # The headers of others, copied from this machine's, or already there.
  includes=$(for name in boost/mp11.hpp nlohmann/json.hpp CLI/CLI.hpp; do
    printf '#include <%s>\n' "$name" | g++ -std=c++20 -I"$folder/include" -x c++ -M - 2> /dev/null
  done | tr -s ' \\\n' '\n' | grep -E '^/usr/(local/)?include/(boost|nlohmann|CLI)/' | sort -u)
  for source in $includes; do
    name=$folder/include/${source#*/include/}
    [ -e "$name" ] || { mkdir -p "$(dirname "$name")" && cp -p "$source" "$name"; }
  done
  [ -e "$folder/include/boost/mp11.hpp" ] && [ -e "$folder/include/nlohmann/json.hpp" ] ||
    { echo "no Boost.Mp11 and nlohmann-json here, and none in $folder/include: run --pack on a machine that has them"; return 1; }

  flags=(-x cu -std=c++20 -lineinfo -gencode "arch=compute_$arch,code=sm_$arch" -cudart static -I"$root/include" -isystem "$folder/include")
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
  # The longest first. Which products a step has is listed by a program of the host, here; tests need no speed of the host.
  sources=("$root"/tests/device/*.{cu,cpp} "$root"/bench/gpu/{step_gpt2,step_nano,ranks,kernels,attention,step_products,products,device}.cpp)
  # Lesson 7 parses its command line with CLI11, and its files need zlib.
  if [ -e "$folder/include/CLI/CLI.hpp" ] && printf 'int main() {}\n' | g++ -include zlib.h -x c++ - -lz -o "$folder/made/zlib" 2> /dev/null
  then sources=("$root/examples/07_gpu.cpp" "${sources[@]}")
  else echo "no CLI11 or no zlib here: lesson 7 is not built"; fi
  for source in "${sources[@]}"; do
    name=$(program_of "$source")
    if is_left_out "$name"; then rm -f "$folder/bin/$name"; continue; fi
    case $name in
      step_products) command=(g++ -std=c++20 -O1 -I"$root/include" -I"$folder/include" "$source") ;;
      test_ranks) command=("$nvcc" "${flags[@]}" -O1 "$source" "${with_nccl[@]}" -lz "${libraries[@]}") ;;   # these alone must not start
      ranks) command=("$nvcc" "${flags[@]}" -O3 "$source" "${with_nccl[@]}" -lz "${libraries[@]}") ;;        # without NCCL
      test_*) command=("$nvcc" "${flags[@]}" -O1 "$source" "${libraries[@]}") ;;
      lesson_*)   # one file of both, as nvcc lists what the last of several has read
        printf '#include "%s"\n' "$source" "$root/examples/program.cpp" > "$folder/made/.$name.cpp"
        cmp -s "$folder/made/.$name.cpp" "$folder/made/$name.cpp" || cp "$folder/made/.$name.cpp" "$folder/made/$name.cpp"
        command=("$nvcc" "${flags[@]}" -O1 "$folder/made/$name.cpp" -lz "${libraries[@]}") ;;
      *) command=("$nvcc" "${flags[@]}" -O3 "$source" "${libraries[@]}") ;;
    esac
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    compile "$name" "${command[@]}" &
  done
  wait
  for source in "${sources[@]}"; do
    name=$(program_of "$source")
    is_left_out "$name" || [ -x "$folder/bin/$name" ] || failed=1
  done
  # Lesson 7 by regimen::cuda_compiled, as a user builds it.
  if is_left_out gpu_compiled; then rm -f "$folder/bin/gpu_compiled"
  elif ! command -v cmake > /dev/null; then echo "no cmake here: lesson 7 by the library is not built"
  else
    { cmake -S "$root" -B "$folder/library" -DREGIMEN_TESTS=OFF -DREGIMEN_BENCH=OFF -DREGIMEN_CUDA=ON -DCMAKE_BUILD_TYPE=Release \
        "-DCMAKE_CUDA_ARCHITECTURES=$arch-real" "-DCMAKE_CUDA_COMPILER=$nvcc" &&
      cmake --build "$folder/library" --target gpu_compiled -j "$jobs"; } > "$folder/logs/build/gpu_compiled.log" 2>&1 ||
      { echo "does not build: gpu_compiled (log: $folder/logs/build/gpu_compiled.log)"; tail -n 20 "$folder/logs/build/gpu_compiled.log"; failed=1; }
    program=$(find "$folder/library" -name gpu_compiled -type f -perm -u+x | head -n 1)
    [ -z "$program" ] || strip -s -o "$folder/bin/gpu_compiled" "$program"
  fi
  if [ -x "$folder/bin/step_products" ]; then
    "$folder/bin/step_products" > "$folder/products.txt" || { echo "step_products: exit code $?"; failed=1; }
  fi
  # What the results are of: two builds with changes that are not committed differ, too.
  printf '%s, programs %s\n' "$(git -C "$root" describe --always --dirty --abbrev=12 2> /dev/null || echo unknown)" \
    "$(cat "$folder"/bin/* "$folder/products.txt" 2> /dev/null | sha256sum | cut -c1-8)" > "$folder/commit"
  return $failed
}
broken=0
if [ "$mode" != --run ]; then
  say "build for sm_$arch, $jobs at a time"
  begun=$SECONDS
  compile_all || broken=1
  echo "$((SECONDS - begun)) s, $(find "$folder/bin" -type f 2> /dev/null | wc -l) programs in $folder/bin"
  if [ "$mode" = --pack ]; then
    tar czf "$folder.tgz" -C "$folder" bin include products.txt commit || exit 1
    sha256sum < "$folder.tgz" > "$folder/unpacked"
    echo "$folder.tgz: $(awk -v b="$(stat -c %s "$folder.tgz")" 'BEGIN { printf "%.1f", b / 1e6 }') MB"
  fi
  [ -z "$mode" ] || exit $broken
fi

# ---- run -------------------------------------------------------------------------------------------------------------
packed=$(sha256sum 2> /dev/null < "$folder.tgz")
if [ -e "$folder.tgz" ] && [ "$packed" != "$(cat "$folder/unpacked" 2> /dev/null)" ]; then
  mkdir -p "$folder" && tar tzf "$folder.tgz" > /dev/null || die "$folder.tgz: not a package of --pack"
  rm -rf "$folder/bin" && tar xzmf "$folder.tgz" -C "$folder" && echo "$packed" > "$folder/unpacked" || die "$folder: expected a folder that can be written"
fi
[ -x "$folder/bin/device" ] || die "no programs in $folder/bin; run bench/gpu.sh --build, or bring $folder.tgz, which --pack makes"
mkdir -p "$output" && : > "$output/.logs.tgz" || die "$output: expected a folder that can be written"
# PyTorch's first, so that both sides of a comparison use the same.
LD_LIBRARY_PATH=$( (packages lib; toolkit lib) | while IFS= read -r place; do [ ! -d "$place" ] || printf '%s:' "$place"; done)${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
logs=$folder/logs/run
begin_anew() {   # earlier results stay, apart
  local kept
  for kept in "$output"/{logs.tgz,gpu-*.json,gpu-*.md}; do
    [ ! -e "$kept" ] || { mkdir -p "$output/earlier" && mv "$kept" "$output/earlier"; }
  done
  rm -rf "$logs"
}
[ -d "$logs" ] || [ ! -e "$output/logs.tgz" ] || { mkdir -p "$folder/logs" && tar xzf "$output/logs.tgz" -C "$folder/logs"; }
if [ -d "$logs" ] && ! cmp -s "$folder/commit" "$logs/commit"; then
  echo "the logs are of other programs ($(cat "$logs/commit" 2> /dev/null)): begins anew"
  begin_anew
fi
start_logs() {
  mkdir -p "$logs"
  cp "$folder/commit" "$logs/commit"
  [ -e "$logs/begun" ] || date -u +%Y-%m-%d > "$logs/begun"
  touch "$logs/programs.tsv"
}
start_logs

# save: what there is so far, in a few files; a kill between two of them loses nothing that was there
save() {
  tar czf "$output/.logs.tgz" -C "$folder/logs" run && mv "$output/.logs.tgz" "$output/logs.tgz"
  cp "$logs/programs.tsv" "$output/.programs.tsv" && mv "$output/.programs.tsv" "$output/programs.tsv"
  [ ! -s "$logs/device.json" ] || timeout 20 "$python" "$root/bench/gpu/summary.py" --logs "$logs" --output "$output" > "$folder/logs/summary" 2>&1
}
trap 'kill $(jobs -p) 2> /dev/null' EXIT
gpu=${CUDA_VISIBLE_DEVICES:-0}
gpu=${gpu%%,*}
# within SECONDS COMMAND...: at most so long, and no longer than the budget
within() {
  local most_of_it=$(($1 < budget - SECONDS - 3 ? $1 : budget - SECONDS - 3))
  timeout -k 2 $((most_of_it > 1 ? most_of_it : 1)) "${@:2}"
}
within 60 "$folder/bin/device" > "$folder/logs/device.json" 2> "$logs/device.log"
code=$?
if [ $code -ne 0 ]; then
  [ $code -ne 124 ] && [ $code -ne 137 ] || echo "the device does not answer within a minute, or within the budget" >> "$logs/device.log"
  cat "$logs/device.log" >&2
  [ $code -eq 77 ] || ldd "$folder/bin/device" > "$logs/device.libraries" 2>&1
  save
  exit $code
fi
name_of() { sed -n 's/.*"name":"\([^"]*\)".*/\1/p' "$1" 2> /dev/null; }
if [ -s "$logs/device.json" ] && [ "$(name_of "$logs/device.json")" != "$(name_of "$folder/logs/device.json")" ]; then
  echo "the logs are of another device ($(name_of "$logs/device.json")): begins anew"
  begin_anew
  start_logs
fi
mv "$folder/logs/device.json" "$logs/device.json"
timeout -k 1 5 nvidia-smi -i "$gpu" --query-gpu=driver_version,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader > "$logs/smi.csv" 2> /dev/null || true
grep -v '^$' "$logs/device.json"

PATH=$PATH:/usr/local/cuda/bin   # compute-sanitizer
# What clocks are under load, not what an idle device shows.
watcher=
watch_clocks() {   # SECTION
  nvidia-smi -i "$gpu" --query-gpu=utilization.gpu,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader,nounits -lms 500 \
    >> "$logs/clocks.$1.csv" 2> /dev/null < /dev/null &
  watcher=$!
}
end_watch() {
  [ -z "$watcher" ] || { kill -9 "$watcher"; wait "$watcher"; } 2> /dev/null
  watcher=
}

most=500000   # bytes of an output that are kept; a program that writes more is ended
closing=4      # seconds that the last results take
left_over=0
wants() { case " ${sections[*]} " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
note() {   # SECTION NAME SECONDS STATUS: a line in the list, in place of an earlier one
  grep -v "^$1	$2	" "$logs/programs.tsv" > "$logs/.programs.tsv"
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" | tee -a "$logs/.programs.tsv"
  mv "$logs/.programs.tsv" "$logs/programs.tsv"
}
# program LIMIT SECTION NAME COMMAND...: its JSON lines are results, all it says is in its log. `input` is a file that it reads
program() {
  local most_seconds=$1 section=$2 name=$3 out=$logs/$2.$3.out err=$logs/$2.$3.err begun=$SECONDS left code status is_cut=false
  shift 3
  wants "$section" || return
  if is_left_out "$name" || is_left_out "$(basename "$1")"; then return; fi
  # What has ended, ends the same again; what the budget has cut or not reached is run now.
  if grep "^$section	$name	" "$logs/programs.tsv" | grep -qvE '	(left|cut|skipped): '; then return; fi
  if [ "${1#"$folder"/}" != "$1" ] && [ ! -x "$1" ]; then note "$section" "$name" 0 "skipped: $(basename "$1") was not built"; return; fi
  [ "$most_seconds" -le "$limit" ] || most_seconds=$limit
  left=$((budget - SECONDS - closing))
  # Of a program that is cut only its last lines are lost, so a third of its time is worth a try.
  if [ $((left * 3)) -lt "$most_seconds" ] || [ $left -lt 3 ]; then
    left_over=$((left_over + 1))
    note "$section" "$name" 0 "left: it may take $most_seconds s, and $((left > 0 ? left : 0)) s of the budget are left"
    return
  fi
  [ "$most_seconds" -le $left ] || { most_seconds=$left; is_cut=true; }
  watch_clocks "$section"
  # A child that the program has left behind keeps the pipes open: whoever reads them ends, too.
  kept() { timeout $((most_seconds + 3)) stdbuf -o0 head -c $most; }
  { { timeout -k 2 "$most_seconds" "$@" 2>&1 >&3 3>&- < "${input:-/dev/null}" | kept > "$err"; exit "${PIPESTATUS[0]}"; } 3>&1 | kept > "$out"
    code=${PIPESTATUS[0]}; }
  end_watch
  case $code in
    0) status=passed ;;
    77) status="skipped: $(cat "$out" "$err" | grep . | tail -n 1 | tr '\t' ' ' | cut -c1-200)" ;;
    124 | 137)
      if $is_cut; then status="cut: by the budget, after $most_seconds s" left_over=$((left_over + 1))
      elif [ $((SECONDS - begun)) -lt "$most_seconds" ]; then status="failed: it was killed (exit code $code)"
      else status="failed: stopped after $most_seconds s"; fi ;;
    *) status="failed: exit code $code" ;;
  esac
  if [ "$(stat -c %s "$out")" -ge $most ] || [ "$(stat -c %s "$err")" -ge $most ]; then status="failed: wrote more than $most bytes"; fi
  note "$section" "$name" "$((SECONDS - begun))" "$status"
  case $status in failed*) tail -qn 12 "$out" "$err" | cut -c1-300 | sed 's/^/    /' ;; esac
  save
}

lacks() {   # SECTION NAME WHAT: never in place of a result
  ! wants "$1" || grep -q "^$1	$2	" "$logs/programs.tsv" || note "$1" "$2" 0 "skipped: $3"
}
with_torch=true
within 60 "$python" -c 'import torch' 2> /dev/null || with_torch=false
peer() {   # LIMIT SECTION NAME SCRIPT ARGUMENTS...
  wants "$2" || return
  if $with_torch; then program "$1" "$2" "$3" "$python" "$root/bench/$4" "${@:5}"
  else lacks "$2" "$3" "no PyTorch in $python"; fi
}
test_program() { program "$1" tests "test_$2" "$folder/bin/test_$2"; }
sanitized() {   # LIMIT TOOL PROGRAM ARGUMENTS...: errors that libraries provoke and handle are no findings
  if is_left_out "$3"; then return; fi
  if [ ! -x "$folder/bin/$3" ]; then lacks sanitizer "$2.$3" "$3 was not built"
  elif ! command -v compute-sanitizer > /dev/null; then lacks sanitizer "$2.$3" "no compute-sanitizer here"
  else program "$1" sanitizer "$2.$3" compute-sanitizer --tool "$2" --report-api-errors no --error-exitcode 9 "$folder/bin/$3" "${@:4}"; fi
}
nano=(--device cuda --batch 12 --seconds 4 --gradient-norm)
gpt2=(--device cuda --batch 16 --layers 12 --heads 12 --width 768 --context 1024 --vocabulary 50257 --tied --dtype bf16 --gradient-norm)

# torch.compile fills its cache while tests run, which nobody times; so its own limit is for steps alone.
warm=
if $with_torch && wants step && ! grep -q '^step	gpt2_124m.compiled	' "$logs/programs.tsv" && [ $((budget - SECONDS)) -gt 120 ]; then
  within $((budget - SECONDS < 400 ? (budget - SECONDS) / 2 : 200)) "$python" "$root/bench/peers/gpt.py" "${gpt2[@]}" --seconds 0.1 --compile > "$logs/warm.out" 2>&1 < /dev/null &
  warm=$!
fi
# The most valuable first: is it right, how fast is a step, how exact is the plan; then rates; then what finds defects slowly.
test_program 45 products
test_program 60 block_kernels
test_program 90 trainer
test_program 90 attention
test_program 30 kernels
[ -z "$warm" ] || wait "$warm"
program 90 step gpt2_124m "$folder/bin/step_gpt2"
peer 90 step gpt2_124m.compiled peers/gpt.py "${gpt2[@]}" --seconds 8 --compile
input=$folder/products.txt program 60 products ours "$folder/bin/products"
program 45 attention all "$folder/bin/attention"
program 60 kernels all "$folder/bin/kernels"
ip link set lo up 2> /dev/null || true   # ranks of NCCL on one GPU speak by the loopback interface
test_program 140 ranks
program 45 step gpt_nano "$folder/bin/step_nano"
peer 45 step gpt2_124m.eager peers/gpt.py "${gpt2[@]}" --seconds 5
input=$logs/products.ours.out peer 60 products torch gpu/products.py
peer 60 step gpt_nano.compiled peers/gpt.py "${nano[@]}" --compile --mode reduce-overhead
test_program 60 trainer_more
test_program 60 convolution
program 60 tests lesson_07_gpu "$folder/bin/lesson_07_gpu" --steps 300 --sample 0
program 60 tests gpu_compiled "$folder/bin/gpu_compiled" --steps 300 --sample 0
sanitized 60 memcheck test_block_kernels
sanitized 150 racecheck test_block_kernels
sanitized 60 memcheck test_trainer small
program 75 ranks all "$folder/bin/ranks"
sanitized 60 synccheck test_block_kernels
peer 30 step gpt_nano.eager peers/gpt.py "${nano[@]}"
peer 60 step gpt_nano_bf16.compiled peers/gpt.py "${nano[@]}" --dtype bf16 --compile --mode reduce-overhead
[ $left_over -gt 0 ] || test_program 30 errors   # last: it faults on purpose

save || { broken=1; echo "the tables could not be made; all logs are in $output/logs.tgz"; }
say "results"
cat "$folder/logs/summary"
[ $left_over -eq 0 ] || echo "$left_over programs are left for the next --run"
! cut -f 4 "$logs/programs.tsv" | grep -q ^failed || broken=1
exit $broken
