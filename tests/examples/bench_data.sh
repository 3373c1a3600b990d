#!/bin/bash
# bench_data.sh ROOT: bench/data.sh with stubs in place of programs: what is not there is left out and said, a program that fails or reads
# something else is told, and stops nothing else.
set -u
script=$1/bench/data.sh
python=$(command -v python3) || { echo "needs python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "bench/data.sh: $*"; cat "$work/said"; exit 1; }
run() {  # CODE ARGUMENTS...
  local expected=$1
  shift
  REGIMEN_PYTHON=$work/python REGIMEN_TENSORFLOW=$work/none REGIMEN_DATA='' bash "$script" --build "$work/build" --output "$work/out" --rounds 2 "$@" > "$work/said" 2>&1
  local code=$?
  [ $code -eq "$expected" ] || wrong "$*: expected exit code $expected, found $code"
}
stub() {  # NAME LINE...
  printf '%s\n' '#!/bin/sh' "${@:2}" > "$work/$1"
  chmod +x "$work/$1"
}
mkdir -p "$work/build/bench"
# A Python that has crc32c and tfrecord, whose peer reads what CHECK says.
stub python "case \"\$1 \$2\" in" "  '-c import crc32c;import tfrecord;' | '-c import tfrecord;') exit 0 ;;" "  -c*) exit 1 ;;" \
  "  *records.py*) echo '{\"rate\": 50, \"check\": \"'\"\${CHECK:-9}\"'\", \"versions\": [\"tfrecord 7\"]}'; exit 0 ;;" "esac" "exec '$python' \"\$@\""
stub none 'exit 1'
stub build/bench/records '[ "$1" = write ] || echo "{\"rate\":200,\"check\":\"9\"}"'
stub build/bench/token_batches 'echo "{\"rate\":2.5}"'

run 0
grep -q "SKIPPED: tf.data: 'none' cannot import tensorflow" "$work/said" || wrong "no word about a peer that is not there"
grep -q "SKIPPED: bench/data_images, which is not built" "$work/said" || wrong "no word about a program that is not built"
grep -Eq "read TFRecords and parse Examples .* 200 .* tfrecord +\| 50 .* 4.00 " "$work/said" || wrong "no ratio"
grep -Eq "a batch of .* 2.5 .* wanted below 1.0" "$work/said" || wrong "no bound"
results=$(ls "$work"/out/data-*.md) && grep -q "left out: tf.data" "$results" && grep -q "tfrecord 7" "$results" || wrong "no results"
"$python" -m json.tool "$(ls "$work"/out/data-*.json)" > "$work/checked" || wrong "no JSON"
grep -q '"met": false' "$work/checked" || wrong "2.5 % is not below 1 %"

run 0 --only tokens --keep "$work/kept"
stub build/bench/token_batches 'echo "{\"rate\":7.5}"'
run 0 --keep "$work/kept" --resume
grep -Eq "a batch of .* 2.5 \(2.5..2.5\)" "$work/said" && grep -q "| read TFRecords " "$work/said" || wrong "what is kept is measured again"
run 2 --resume

export CHECK=8
run 1 --only records
grep -q "programs read different things: 8, 9" "$work/said" || wrong "no word about other contents"
unset CHECK
stub build/bench/token_batches 'echo broken >&2; exit 3'
run 1 --only 'tokens|records'
grep -q "failed: ours, exit code 3" "$work/said" && grep -q broken "$work/said" || wrong "no word about a failure"
grep -q "| read TFRecords " "$work/said" || wrong "a failure stopped the others"
run 2 --rounds 0
run 2 --fast
REGIMEN_PYTHON=python3 bash "$script" --build "$work/nowhere" > "$work/said" 2>&1
[ $? -eq 2 ] || wrong "expected exit code 2 without programs"
bash "$script" --help > "$work/said" || wrong "no help"
