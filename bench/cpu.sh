#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Regimen beside PyTorch on this CPU: the same work, alternated in the same run. Writes bench/results/cpu-*.{json,md}.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/cpu.sh [options]

  --build DIR     build directory; programs are read from DIR/bench   (default: build/release, else the newest build*)
  --rounds N      times that all programs of a configuration run      (3)
  --steps N       timed steps of one run                              (30; at least 1000 for mlp_64, whose steps are short)
  --warmup N      steps before those                                  (5)
  --threads N     of every program                                    (2)
  --only REGEX    configurations whose name matches, e.g. 'gpt_nano(_bf16)?'   ('(gpt|mlp)_.*'; bench/vision.sh runs those of images, --results lstm --only 'lstm_.*' the recurrent ones)
  --skip REGEX    configurations whose name does not match
  --patience N    seconds that each run may wait for a quiet machine, and be repeated if others disturbed it  (0)
  --peers-only    time PyTorch alone
  --output DIR    where the results go                                (bench/results)
  --results NAME  how the results' names begin                        (cpu)
  --keep DIR      keep the logs of the single runs in DIR
  --resume        with --keep: runs whose logs lie in DIR are not repeated, so that the whole can be done in pieces
  --help

REGIMEN_PYTHON names the Python to use: one with torch and numpy (bench/peers/requirements.txt). Each configuration runs
rounds of ours, PyTorch eager, PyTorch compiled, and starts every round with another one of the three. A program that
is not built is skipped, and said to be. Other programs on the machine disturb the figures, and how many processors
they used is printed: below 0.1 is quiet; above it, threads that spin in barriers make figures many times too large.
OMP_* variables are passed to all three alike and stand in the results.

Exit code: 0 all ran (skips included), 1 a program failed, 2 bad usage or no usable Python.
TEXT
}

die() { printf 'bench/cpu.sh: %s\n' "$*" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bench/common.sh"
build='' rounds=3 steps=30 warmup=5 threads=2 patience=0 only='(gpt|mlp)_.*' skip='^$' peers_only=false resume=false output=$root/bench/results keep='' results=cpu
command=bench/cpu.sh
while [ $# -gt 0 ]; do
  case $1 in
    --build | --rounds | --steps | --warmup | --threads | --patience | --only | --skip | --output | --keep | --results)
      [ $# -ge 2 ] || die "$1 needs a value"
      declare "${1#--}=$2"
      case $1 in --build | --output | --keep) ;; *) command+=" $1 '$2'" ;; esac  # no path of one machine in the results
      shift 2 ;;
    --resume) resume=true; shift ;;
    --peers-only) peers_only=true command+=" $1"; shift ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option $1; see --help" ;;
  esac
done
for name in rounds steps threads; do
  [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "--$name needs a number of at least 1, not '${!name}'"
done
if $resume && [ -z "$keep" ]; then die "--resume needs --keep DIR, where the logs are"; fi
for name in warmup patience; do
  [[ ${!name} =~ ^[0-9]+$ ]] || die "--$name needs a number, not '${!name}'"
done

python=${REGIMEN_PYTHON:-python3}
if ! "$python" -c 'import numpy, torch' 2> /dev/null; then
  cat >&2 <<TEXT
bench/cpu.sh: '$python' is no Python with torch and numpy. Make one, anywhere, and name it:
  python3 -m venv venv && venv/bin/pip install -r bench/peers/requirements.txt
  REGIMEN_PYTHON=venv/bin/python bench/cpu.sh
TEXT
  exit 2
fi

if [ -z "$build" ]; then
  build=$root/build/release
  if [ ! -d "$build" ]; then build=$(ls -dt "$root"/build*/ 2> /dev/null | head -n 1 || true); fi
fi
build=${build%/}
if [ -n "$build" ] && [ -d "$build" ]; then build=$(cd "$build" && pwd); fi

# Our program | at least so many steps | the same work in PyTorch | number formats. In bf16 our program is NAME_bf16.
configurations() {
  cat <<'TABLE'
gpt_nano   | 1   | gpt.py --layers 4 --heads 4 --width 128 --context 64 --batch 12 --vocabulary 65   | fp32 bf16
gpt_256    | 1   | gpt.py --layers 4 --heads 8 --width 256 --context 128 --batch 16 --vocabulary 256 | fp32 bf16
mlp_4096   | 1   | mlp.py --widths 784,4096,4096,10 --batch 1024 --optimizer adam --weight-decay 0   | fp32 bf16
mlp_64     | 1000| mlp.py --widths 784,64,64,10 --batch 64 --optimizer adam --weight-decay 0         | fp32 bf16
lstm_256   | 1   | lstm.py --layers 1 --width 256 --context 64 --batch 16 --vocabulary 256           | fp32
lstm_200   | 1   | lstm.py --layers 2 --width 200 --context 35 --batch 20 --vocabulary 10000         | fp32
resnet18   | 1   | vision.py --model resnet18 --batch 128                                            | fp32 bf16
resnet18_8 | 1   | vision.py --model resnet18 --batch 8                                              | fp32 bf16
vit_s16    | 1   | vision.py --model vit_s16 --batch 128 --size 224 --classes 1000                   | fp32 bf16
vit_s16_8  | 1   | vision.py --model vit_s16 --batch 8 --size 224 --classes 1000                     | fp32 bf16
TABLE
}

export OMP_NUM_THREADS=$threads
logs=${keep:-$(mktemp -d)}
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
if [ -z "$keep" ]; then trap 'rm -rf "$logs"' EXIT; fi
plan=$logs/plan.tsv
printf 'configuration\tdtype\tprogram\tstatus\tcommand\n' > "$plan"
failures=0

# run NAME ROUND PROGRAM COMMAND...: one run; its log is NAME.ROUND.PROGRAM.jsonl
# Beside it NAME.ROUND.PROGRAM.jsonl.others: how many processors other programs kept busy meanwhile.
run() {
  local name=$1 round=$2 program=$3
  shift 3
  local log=$logs/$name.$round.$program.jsonl
  local code others deadline=$((SECONDS + patience))
  printf '  round %s  %-8s ' "$round" "$program"
  if $resume && [ -s "$log" ] && [ -s "$log.others" ]; then
    printf 'kept '
    "$python" "$root/bench/summary.py" median --warmup "$warmup" "$log"
    return
  fi
  rm -f "$log.others"
  while :; do
    quiet $deadline || true
    timed "$log" "$@" --log "$log"
    printf '%s\n' "$others" > "$log.others"
    if [ $code -ne 0 ] || [ "$SECONDS" -ge $deadline ] || [[ $others == 0.0* ]]; then break; fi
  done
  if [ $code -ne 0 ]; then
    printf 'failed with exit code %s\n' "$code"
    tail -n 3 "$log.err" | sed 's/^/    /'
    mv "$log" "$log.failed" 2> /dev/null || true
    failures=$((failures + 1))
  else
    "$python" "$root/bench/summary.py" median --warmup "$warmup" "$log"
  fi
}

# record NAME DTYPE PROGRAM STATUS COMMAND...
record() {
  local name=$1 dtype=$2 program=$3 status=$4
  shift 4
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$dtype" "$program" "$status" "$*" >> "$plan"
}

while IFS='|' read -r base least peer dtypes; do
  base=${base// /}
  peer=$(sed 's/^ *//; s/ *$//' <<< "$peer")
  for dtype in $dtypes; do
    name=$base
    if [ "$dtype" = bf16 ]; then name=${base}_bf16; fi
    if ! [[ $name =~ ^($only)$ ]] || [[ $name =~ ^($skip)$ ]]; then continue; fi
    count=$((warmup + (steps > least ? steps : least)))
    common=(--steps "$count" --threads "$threads")
    read -ra words <<< "$peer"
    eager=("$python" "$root/bench/peers/${words[0]}" "${words[@]:1}" --dtype "$dtype" "${common[@]}")
    ours=("$build/bench/$name" "${common[@]}")
    printf '%s: %s steps after %s\n' "$name" "$((count - warmup))" "$warmup"
    programs=(eager compiled)
    if $peers_only; then
      record "$name" "$dtype" ours skipped 'not asked for'
    elif [ ! -x "${ours[0]}" ]; then
      printf '  SKIPPED: no program %s\n' "${ours[0]}"
      record "$name" "$dtype" ours skipped 'not built'
      continue
    else
      programs=(ours eager compiled)
      record "$name" "$dtype" ours run "bench/$name ${common[*]}"
    fi
    record "$name" "$dtype" eager run "bench/peers/$peer --dtype $dtype ${common[*]}"
    record "$name" "$dtype" compiled run "bench/peers/$peer --dtype $dtype ${common[*]} --compile"
    for ((round = 1; round <= rounds; ++round)); do
      for ((turn = 0; turn < ${#programs[@]}; ++turn)); do
        case ${programs[$(((turn + round - 1) % ${#programs[@]}))]} in
          ours) run "$name" "$round" ours "${ours[@]}" ;;
          eager) run "$name" "$round" eager "${eager[@]}" ;;
          compiled) run "$name" "$round" compiled "${eager[@]}" --compile ;;
        esac
      done
    done
  done
done < <(configurations)

how_compiled "$build"
mkdir -p "$output"
"$python" "$root/bench/summary.py" report --logs "$logs" --output "$output" --warmup "$warmup" --rounds "$rounds" \
  --name "$results" --threads "$threads" --compiler "$compiler" --flags "$flags" --libraries "$libraries" --commit "$commit" \
  --command "$command"
[ "$failures" -eq 0 ] || { printf '%s run(s) failed\n' "$failures" >&2; exit 1; }
