#!/bin/bash
# bench_gpu.sh ROOT: bench/gpu.sh --run with stubs in place of programs. What fails, hangs, is killed or writes too much stops nothing else,
# and stands in the results; a budget is kept; a second run goes on; without a device it ends with one sentence.
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
bin=folder/bin
mkdir -p "$work/$bin" "$work/path"
echo 0123456789ab > "$work/folder/commit"
touch "$work/folder/products.txt"
# A Python with a torch that is no torch: its peers say what theirs would.
stub path/python 'case "$2" in "import torch") exit ${NO_TORCH:-0} ;; esac
case "$1" in
  */peers/gpt.py) case "$*" in *"--tied"*"--compile"*) by="torch default" ;; *) by="torch eager" ;; esac
    case "$*" in *--gradient-norm*) echo "{\"by\":\"$by\",\"type\":\"bf16\",\"milliseconds\":100,\"tokens_per_second\":163840}" ;; esac ;;
  */products.py) sed "s/}$/,\"torch_tflop_per_s\":350,\"ratio\":2}/" ;;
  *) exec python3 "$@" ;;
esac'
stub path/compute-sanitizer 'case "$*" in *"--report-api-errors no"*) ;; *) exit 8 ;; esac
case "$*" in *racecheck*) echo RACE; exit 9 ;; esac; while [ "${1#/}" = "$1" ]; do shift; done; exec "$@"'
stub path/nvidia-smi 'case "$*" in *-lms*) echo $$ >> "${0%/*}/pids"; printf "3, 345, 2619, 80, 35\n97, 1700, 2619, 600, 60\n99, [N/A], 2619, 600, 60\n98, 1800, 2619, 650.5, 61\n99, 1755\n"; exec sleep 60 ;; *) echo "590.1, 1980 MHz, 2619 MHz, 700.00 W" ;; esac'
stub path/ip ''
stub $bin/lesson_07_gpu 'test "$*" = "--steps 300 --sample 0"'
stub $bin/device 'echo "{\"name\":\"STUB GPU 1\",\"driver_cuda\":13000,\"runtime\":13000,\"cublaslt\":130100,\"cudnn\":0,\"copy_gb_per_s\":2000}"'
stub $bin/test_trainer 'test "$*" = small && { echo "{\"trains\":\"bf16\",\"distance\":0.01,\"may\":0.02,\"repeats\":true}"; exit; }
echo "{\"trains\":\"bf16\",\"distance\":0.01,\"may\":0.02,\"repeats\":true,\"by_calls\":true,\"four_steps\":false,\"exact_losses\":[2,1.5],\"losses\":[2.01,1.52]}"'
stub $bin/test_block_kernels 'echo "{\"operation\":\"add\",\"type\":\"bf16\",\"difference\":0.5,\"largest\":2,\"may\":1,\"wrong\":0}"'
stub $bin/test_kernels 'setsid sleep 40 & echo "a wrong number"; exit 3'   # its child keeps the pipe
stub $bin/test_products 'echo "no fp8 here"; exit 77'
stub $bin/test_attention 'exec sleep 60'
stub $bin/test_convolution 'kill -9 $$'
stub $bin/test_errors 'yes "an error without an end"'
stub $bin/step_gpt2 'echo "{\"step\":\"gpt2_124m\",\"type\":\"bf16\",\"by\":\"regimen\",\"milliseconds\":50,\"tokens_per_second\":327680,\"planned_bytes\":1000,\"used_bytes\":1000,\"library_bytes\":5}"
echo "{\"failed\":\"cuDNN\",\"error\":\"no engine\"}"; exit 1'
stub $bin/step_nano 'echo "{\"step\":\"gpt_nano\",\"type\":\"fp32\",\"by\":\"regimen\",\"milliseconds\":0.2,\"tokens_per_second\":3840000}"; exec sleep 60'
stub $bin/products 'echo "{\"product\":\"8x8x8\",\"step\":\"alone\",\"times\":1,\"count\":1,\"m\":8,\"n\":8,\"k\":8,\"transpose_a\":false,\"transpose_b\":true,\"type\":\"bf16\",\"result\":\"bf16\",\"epilogue\":\"\",\"adds\":false,\"microseconds\":3,\"tflop_per_s\":700}"'
stub $bin/attention 'echo "{\"attention\":\"Cudnn\",\"pass\":\"forward\",\"type\":\"bf16\",\"microseconds\":30,\"tflop_per_s\":400}"'
stub $bin/ranks 'echo "{\"ranks\":2,\"gpus\":1,\"by\":\"threads\",\"shard\":\"ZeRO3\",\"overlaps\":false,\"milliseconds\":30,\"tokens_per_second\":546133,\"efficiency\":0.5}"'
stub $bin/kernels 'echo "{\"kernel\":\"add\",\"of\":\"others\",\"type\":\"bf16\",\"rows\":8,\"columns\":8,\"microseconds\":10,\"gb_per_s\":1700}"'
gpu() { REGIMEN_PYTHON=$work/path/python PATH=$work/path:$PATH bash "$script" --run --folder "$work/folder" --output "$work/results" "$@" > "$work/said" 2>&1; }
status_of() { sed -n "s/^$1	$2	[0-9]*	//p" "$work/results/programs.tsv"; }
expect() { case $(status_of "$1" "$2") in "$3"*) ;; *) wrong "$1 $2 is '$(status_of "$1" "$2")' in place of '$3'" ;; esac; }

# A section without a limit; then a budget of 9 s, of which the last results take 4, and a program that hangs: it is cut, or was not reached.
gpu kernels || wrong "a section that succeeds ended with $?: $(cat "$work/said")"
begun=$SECONDS
gpu --budget 9 tests
code=$?
[ $code -eq 0 ] || wrong "cut by the budget it ended with $code"
[ $((SECONDS - begun)) -le 14 ] || wrong "a budget of 9 s took $((SECONDS - begun)) s"
case $(status_of tests test_attention) in 'cut: by the budget'* | 'left: '*) ;; *) wrong "what hangs is '$(status_of tests test_attention)'" ;; esac
expect tests test_kernels 'left: '
grep -q 'are left for the next --run' "$work/said" || wrong "it does not say that programs are left"
[ "$(ls "$work/results" | wc -l)" -le 8 ] && [ -s "$work/results/logs.tgz" ] || wrong "the results are $(ls "$work/results")"

# On another machine, with nothing but the results: goes on, and runs nothing again that has ended.
rm -rf "$work/folder/logs"
cp "$work/$bin/kernels" "$work/kernels"
stub $bin/kernels 'exit 5'
gpu --limit 3
code=$?
[ $code -eq 1 ] || wrong "with failures it ended with $code"
pkill -f 'sleep 40' && [ $((SECONDS - begun)) -lt 70 ] || wrong "it waited for a child that a program left behind"
expect kernels all passed
expect tests test_products 'skipped: no fp8 here'
expect tests test_block_kernels passed
expect tests test_trainer passed
expect tests test_attention 'failed: stopped after 3 s'
expect tests test_kernels 'failed: exit code 3'
expect tests test_convolution 'failed: it was killed'
expect tests test_errors 'failed: wrote more than'
expect tests test_ranks 'skipped: test_ranks was not built'
expect tests lesson_07_gpu passed
expect step gpt2_124m 'failed: exit code 1'
expect step gpt_nano 'failed: stopped after 3 s'
expect step gpt2_124m.compiled passed
expect sanitizer racecheck.test_block_kernels 'failed: exit code 9'
expect sanitizer memcheck.test_trainer passed
[ "$(wc -l < "$work/results/programs.tsv")" -eq "$(cut -f 1,2 "$work/results/programs.tsv" | sort -u | wc -l)" ] || wrong "a program has two lines"
[ "$(find "$work/results" -size +16M | wc -l)" -eq 0 ] || wrong "a result is larger than 16 MiB"
grep -q 'a wrong number' "$work/said" || wrong "what a failed program said is not printed"
table=$(cat "$work"/results/gpu-*-stub-gpu-1.md) || wrong "no table"
for expected in '| 1800 (1700 to 1800) | 2619 (2619 to 2619) | 650 (600 to 650) | 61 (60 to 61) |' \
  'power limit: 590.1, 1980 MHz, 2619 MHz, 700.00 W' '| gpt2_124m | cuDNN | no engine |' '| gpt2_124m | bf16 | regimen | 50.000 | 327,680 | 2.000 |' \
  '| gpt_nano | fp32 | regimen | 0.200 | 3,840,000 |' '| gpt2_124m | regimen | 1,000 | 1,000 | equal | 5 |' \
  '| alone | 1 | 8x8x8 | NT | bf16 |  | 3.0 | 700.0 | 350.0 | 2.000 |' '| Cudnn | forward | bf16 | 30.0 | 400.0 |' \
  '| add | others | bf16 | 8 x 8 | 10.0 | 1700 | 0.85 |' '| 2 | 1 | threads | ZeRO3 | no | 30.00 | 546,133 | 0.50 |' \
  '| `add` | bf16 | 1 right | 0.2 | 1700 GB/s, 0.85 of a copy | memcheck passed, racecheck failed, synccheck passed |' \
  '| test_trainer | bf16 | 1.0e-02 | 2.0e-02 | **no** | memcheck passed |' '| bf16, GPU | 2.01000 | 1.52000 |' \
  'STUB GPU 1' 'cuBLASLt 130100' 'commit 0123456789ab'; do
  case $table in *"$expected"*) ;; *) wrong "the table lacks '$expected'" ;; esac
done
[ $failed -eq 0 ] || echo "$table"
python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["device"]["name"] == "STUB GPU 1" and r["commit"] and len(r["programs"]) >= 24 and r["clocks"]["step"]["sm_mhz"]["least"] == 1700, r' \
  "$work"/results/gpu-*.json || wrong "the results are not what they should be"
for pid in $(cat "$work/path/pids"); do
  if kill -0 "$pid" 2> /dev/null; then wrong "nvidia-smi still runs"; kill "$pid"; fi
done

mv "$work/kernels" "$work/$bin/kernels"
# Other programs begin anew. Sections by name, and programs that are left out; all well is exit code 0.
echo 0123456789ac > "$work/folder/commit"
gpu kernels products --without torch || wrong "two sections that succeed ended with $?: $(cat "$work/said")"
grep -q 'begins anew' "$work/said" || wrong "logs of other programs are taken for these programs'"
[ "$(cut -f 2 "$work/results/programs.tsv" | tr '\n' ' ')" = "ours all " ] || wrong "other programs: $(cat "$work/results/programs.tsv")"
NO_TORCH=1 gpu step --limit 1
expect step gpt2_124m.compiled 'skipped: no PyTorch'

# Killed in the middle of a program: all before it is there.
rm -rf "$work/results" "$work/folder/logs"
REGIMEN_PYTHON=$work/path/python PATH=$work/path:$PATH bash "$script" --run --folder "$work/folder" --output "$work/results" tests kernels > "$work/said" 2>&1 &
for _ in $(seq 100); do if grep -q '^tests	test_trainer	' "$work/results/programs.tsv" 2> /dev/null; then break; fi; sleep 0.1; done
kill -9 $!
wait 2> /dev/null
expect tests test_trainer passed
tar tzf "$work/results/logs.tgz" > /dev/null || wrong "a kill left logs that cannot be unpacked"
pkill -f "$work/path/nvidia-smi" 2> /dev/null
pkill -f "$work/$bin/test_attention" 2> /dev/null

# Another device begins anew; what was measured on the first stays, apart.
gpu kernels
stub $bin/device 'echo "{\"name\":\"STUB GPU 2\",\"driver_cuda\":13000,\"runtime\":13000,\"cublaslt\":130100,\"cudnn\":0,\"copy_gb_per_s\":3000}"'
gpu kernels
grep -q 'of another device (STUB GPU 1)' "$work/said" && [ -e "$work"/results/earlier/logs.tgz ] && ls "$work"/results/gpu-*-stub-gpu-2.md > /dev/null ||
  wrong "two devices: $(cat "$work/said")"

gpu --frobnicate; [ $? -eq 2 ] || wrong "an unknown option is accepted"
gpu warmth; [ $? -eq 2 ] || wrong "an unknown section is accepted"
gpu --build; [ $? -eq 2 ] || wrong "--build and --run together are accepted"
gpu --budget 0x10; [ $? -eq 2 ] || wrong "a budget that is no number is accepted"

stub $bin/device 'echo "Device<Cuda>: expected a GPU and its driver, found none" >&2; exit 77'
gpu
[ $? -eq 77 ] && [ "$(wc -l < "$work/said")" -eq 1 ] && grep -q '^Device<Cuda>: expected' "$work/said" || wrong "without a device: $(cat "$work/said")"
rm -r "$work/folder"
gpu
[ $? -eq 2 ] && grep -q 'run bench/gpu.sh --build' "$work/said" || wrong "without programs: $(cat "$work/said")"
exit $failed
