#!/bin/bash
# bench_gpu.sh ROOT: bench/gpu.sh with stubs in place of programs: what fails stops nothing else, and stands in the results; without a
# device it ends with one sentence.
set -u
script=$1/bench/gpu.sh
command -v python3 > /dev/null || { echo "needs python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "$*"; failed=1; }
stub() {   # NAME COMMANDS: a program
  printf '#!/bin/sh\n%s\n' "$2" > "$work/$1" && chmod +x "$work/$1"
}
mkdir -p "$work/folder/bin" "$work/path"
echo 0123456789ab > "$work/folder/commit"
stub path/python 'case "$2" in "import torch") exit 1 ;; esac; exec python3 "$@"'
stub path/compute-sanitizer 'case "$*" in *racecheck*) echo RACE; exit 9 ;; esac; for last; do :; done; exec "$last"'
stub path/nvidia-smi 'case "$*" in *-lms*) echo $$ >> "${0%/*}/pids"; printf "3, 345, 2619, 80, 35\n97, 1700, 2619, 600, 60\n99, [N/A], 2619, 600, 60\n98, 1800, 2619, 650.5, 61\n99, 1755"; exec sleep 60 ;; *) echo "590.1, 1980 MHz, 2619 MHz, 700.00 W" ;; esac'
stub folder/bin/lesson_07_gpu 'test "$*" = "--steps 300 --sample 0"'
stub folder/bin/device 'echo "{\"name\":\"STUB GPU 1\",\"driver_cuda\":13000,\"runtime\":13000,\"cublaslt\":130100,\"cudnn\":0,\"copy_gb_per_s\":2000}"'
stub folder/bin/test_trainer 'echo "no fp8 here"; exit 77'
stub folder/bin/test_block_kernels 'exit 0'
stub folder/bin/test_kernels 'echo "a wrong number"; exit 3'
stub folder/bin/step_gpt2 'echo "{\"step\":\"gpt2_124m\",\"type\":\"bf16\",\"by\":\"regimen\",\"milliseconds\":50,\"tokens_per_second\":327680}"'
stub folder/bin/step_nano 'echo "{\"step\":\"gpt_nano\",\"type\":\"fp32\",\"by\":\"regimen\",\"milliseconds\":0.2,\"tokens_per_second\":3840000}"; exec sleep 60'
stub folder/bin/products 'echo "{\"product\":\"8x8x8\",\"m\":8,\"n\":8,\"k\":8,\"transpose_a\":false,\"transpose_b\":true,\"type\":\"bf16\",\"tflop_per_s\":700}"'
stub folder/bin/ranks 'echo "{\"ranks\":2,\"gpus\":1,\"by\":\"threads\",\"shard\":\"ZeRO3\",\"overlaps\":false,\"milliseconds\":30,\"tokens_per_second\":546133,\"efficiency\":0.5}"'
stub folder/bin/kernels 'echo "{\"kernel\":\"add\",\"of\":\"others\",\"type\":\"bf16\",\"rows\":8,\"columns\":8,\"microseconds\":10,\"gb_per_s\":1700}"'
gpu() { REGIMEN_PYTHON=$work/path/python PATH=$work/path:$PATH bash "$script" --run --folder "$work/folder" --output "$work/results" --limit 2 "$@" > "$work/said" 2>&1; }

gpu
code=$?
[ $code -eq 1 ] || wrong "with failures it ended with $code"
# How long a program ran is no matter here.
table=$(sed -E 's/^(\| [a-z]+ \| [^|]* \|) [0-9]+ \|/\1 s |/' "$work"/results/stub-gpu-1/*.md) || wrong "no table"
for expected in '| tests | test_trainer | s | skipped: no fp8 here |' '| tests | test_block_kernels | s | passed |' \
  '| tests | test_kernels | s | failed: exit code 3 |' \
  '| tests | lesson_07_gpu | s | passed |' '| step | 2 | 1800 (1700 to 1800) | 2619 (2619 to 2619) | 650 (600 to 650) | 61 (60 to 61) |' \
  'power limit: 590.1, 1980 MHz, 2619 MHz, 700.00 W' 'failed: stopped after 2 s |' '| gpt2_124m | bf16 | regimen | 50.000 | 327,680 |' \
  '| gpt_nano | fp32 | regimen | 0.200 | 3,840,000 |' '| step | gpt2_124m.compiled | s | skipped: no PyTorch' '| 8x8x8 | NT | bf16 | 700.0 |' \
  '| add | others | bf16 | 8 x 8 | 10.0 | 1700 | 0.85 |' '| 2 | 1 | threads | ZeRO3 | no | 30.00 | 546,133 | 0.50 |' '| sanitizer | racecheck.block_kernels | s | failed: exit code 9 |' \
  '| sanitizer | synccheck.block_kernels | s | passed |' 'STUB GPU 1' 'cuBLASLt 130100' 'commit 0123456789ab'; do
  case $table in *"$expected"*) ;; *) wrong "the table lacks '$expected'" ;; esac
done
[ $failed -eq 0 ] || echo "$table"
grep -q 'a wrong number' "$work/said" || wrong "what a failed program said is not printed"
python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["device"]["name"] == "STUB GPU 1" and r["commit"] and len(r["programs"]) >= 18 and r["clocks"]["step"]["sm_mhz"]["least"] == 1700, r' \
  "$work"/results/stub-gpu-1/*.json || wrong "the results are not what they should be"

for pid in $(cat "$work/path/pids"); do
  if kill -0 "$pid" 2> /dev/null; then wrong "nvidia-smi still runs"; kill "$pid"; fi
done

# Sections by name, in the order given; all well is exit code 0.
rm -r "$work/results"
gpu kernels products || wrong "two sections that succeed ended with $?: $(cat "$work/said")"
[ "$(grep '^== ' "$work/said" | tr -d '\n')" = "== kernels== products== results" ] || wrong "other sections: $(cat "$work/said")"
gpu --frobnicate; [ $? -eq 2 ] || wrong "an unknown option is accepted"
gpu warmth; [ $? -eq 2 ] || wrong "an unknown section is accepted"
gpu --build; [ $? -eq 2 ] || wrong "--build and --run together are accepted"

stub folder/bin/device 'echo "Device<Cuda>: expected a GPU and its driver, found none" >&2; exit 77'
gpu
[ $? -eq 77 ] && [ "$(wc -l < "$work/said")" -eq 1 ] && grep -q '^Device<Cuda>: expected' "$work/said" || wrong "without a device: $(cat "$work/said")"
rm -r "$work/folder"
gpu
[ $? -eq 2 ] && grep -q 'run bench/gpu.sh --build' "$work/said" || wrong "without programs: $(cat "$work/said")"
exit $failed
