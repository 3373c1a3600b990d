#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast data are read, beside Python's readers, alternated in the same run. Writes bench/results/data-*.{json,md}.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: bench/data.sh [options]

  --build DIR      build directory; programs are read from DIR/bench and DIR/examples  (default: build/release)
  --only REGEX     parts whose name matches                                            (.*)
                     records      TFRecords of tf.train.Example, beside tf.data, protobuf and the package tfrecord
                     images       JPEG files, decoded, cut, resized, normalised as lesson 12 does, beside torchvision
                     tokens       a batch from a mapped file of tokens, as a share of nanoGPT's step by one thread
                     tokenizers   text to tokens by examples/tokens, beside tokenizers and tiktoken: the same ids
  --rounds N       times that each program runs                                        (3)
  --workers N      of the loaders of images, in a case of their own                    (2)
  --records N      TFRecords in the file, of about 10 KB each                          (20000)
  --data FILE      a text in English for the tokenizers                                ($REGIMEN_DATA/tinyshakespeare.txt)
  --patience N     seconds that each run may wait for a quiet machine                  (0)
  --output DIR     where the results go                                                (bench/results)
  --keep DIR       keep what was measured in DIR/log.jsonl
  --resume         with --keep: what stands there is not measured again, so that the whole can be done in pieces
  --help

REGIMEN_PYTHON names a Python with the peers (bench/peers/requirements.txt), REGIMEN_TENSORFLOW one with tensorflow, if that
is another. A peer that is not there is left out, and said to be; so is a part whose program is not built. Programs of a case
run one after the other, and start every round with another one. Files are written and read once before, so that they are in
memory. Other programs on the machine disturb what is measured by the clock, and how many processors they used is printed.

Exit code: 0 all ran (what is left out included), 1 a program failed or read something else, 2 bad usage.
TEXT
}
die() { printf 'bench/data.sh: %s\n' "$*" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bench/common.sh"
build=$root/build/release only='.*' rounds=3 workers=2 records=20000 data=${REGIMEN_DATA:+$REGIMEN_DATA/tinyshakespeare.txt} patience=0 output=$root/bench/results keep='' resume=false
command=bench/data.sh
while [ $# -gt 0 ]; do
  case $1 in
    --build | --only | --rounds | --workers | --records | --data | --patience | --output | --keep)
      [ $# -ge 2 ] || die "$1 needs a value"
      declare "${1#--}=$2"
      case $1 in --build | --data | --output | --keep) ;; *) command+=" $1 '$2'" ;; esac  # no path of one machine in the results
      shift 2 ;;
    --resume) resume=true; shift ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option $1; see --help" ;;
  esac
done
if $resume && [ -z "$keep" ]; then die "--resume needs --keep DIR, where the measurements are"; fi
for name in rounds workers records; do [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "--$name needs a number of at least 1, not '${!name}'"; done
[[ $patience =~ ^[0-9]+$ ]] || die "--patience needs a number, not '$patience'"
[ -d "$build" ] || die "no folder $build; build the benchmarks and examples, or name their folder with --build"
build=$(cd "$build" && pwd)
python=${REGIMEN_PYTHON:-python3} tensorflow=${REGIMEN_TENSORFLOW:-${REGIMEN_PYTHON:-python3}}
command -v "$python" > /dev/null || die "no Python '$python', which writes the results; name one with REGIMEN_PYTHON"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$keep" ]; then mkdir -p "$keep"; fi
log=${keep:-$work}/log.jsonl skipped=() failures=0
if ! $resume; then : > "$log"; fi
touch "$log"

left_out() { printf '  SKIPPED: %s\n' "$1"; skipped+=(--skipped "$1"); }
failed() { printf '  failed: %s\n' "$1"; tail -n 3 "$2" | sed 's/^/    /'; failures=$((failures + 1)); }
wanted() { [[ $1 =~ ^($only)$ ]]; }
built() { [ -x "$build/$1" ] || { left_out "$1, which is not built"; return 1; }; }
has() {  # PYTHON WHAT MODULE...: whether it imports them
  local imports
  imports=$(printf 'import %s;' "${@:3}")
  "$1" -c "$imports" > /dev/null 2>&1 || { left_out "$2: '$(basename "$1")' cannot import ${*:3}"; return 1; }
}

# compare CASE UNIT: runs the commands of `programs`, whose keys are their names, `rounds` times; each prints one JSON object.
declare -A programs
compare() {
  local name=$1 unit=$2 round turn program line begin names=()
  for program in ours "${!programs[@]}"; do
    if [ -n "${programs[$program]:-}" ] && ! { [ "$program" = ours ] && [ ${#names[@]} -gt 0 ]; }; then names+=("$program"); fi
  done
  printf '%s, %s\n' "$name" "$unit"
  for ((round = 1; round <= rounds; ++round)); do
    for ((turn = 0; turn < ${#names[@]}; ++turn)); do
      program=${names[$(((turn + round - 1) % ${#names[@]}))]}
      begin=$(printf '{"case":"%s","unit":"%s","program":"%s","round":%s,' "$name" "$unit" "$program" "$round")
      if $resume && grep -qF "$begin" "$log"; then continue; fi
      quiet $((SECONDS + patience)) || true
      eval "timed \"\$work/run\" ${programs[$program]}"
      line=$(tail -n 1 "$work/run.out")
      if [ "$code" -ne 0 ] || [[ $line != \{* ]]; then failed "$program, exit code $code" "$work/run.err"; continue; fi
      printf '%s"others":%s,%s\n' "$begin" "$others" "${line#\{}" >> "$log"
      printf '  round %s  %-12s %s  others %s\n' "$round" "$program" "$(sed 's/.*"rate": *\([0-9.]*\).*/\1/' <<< "$line")" "$others"
    done
  done
}

if wanted records && built bench/records; then
  file=$work/a.tfrec
  peers="'$python' '$root/bench/peers/records.py'"
  "$build/bench/records" write "$file" "$records" 10000
  "$build/bench/records" read "$file" > /dev/null
  has_protobuf=false has_package=false has_tensorflow=false
  if has "$python" 'protobuf with checksums' crc32c tfrecord; then has_protobuf=true; fi
  if has "$python" 'the package tfrecord' tfrecord; then has_package=true; fi
  if has "$tensorflow" tf.data tensorflow; then has_tensorflow=true; fi
  for what in read parse; do
    programs=([ours]="'$build/bench/records' $what '$file'")
    if $has_protobuf; then programs[protobuf]="$peers checked $what '$file'"; fi
    if $has_package && [ $what = parse ]; then programs[tfrecord]="$peers tfrecord $what '$file'"; fi
    if $has_tensorflow; then programs[tf.data]="'$tensorflow' '$root/bench/peers/records.py' tensorflow $what '$file'"; fi
    compare "read TFRecords$([ $what = read ] || echo ' and parse Examples')" 'records per processor second'
  done
  if $has_tensorflow; then
    if timed "$work/run" "$tensorflow" "$root/bench/peers/records.py" tensorflow copy "$file" "$work/b.tfrec"; [ "$code" -ne 0 ]; then
      failed 'TensorFlow does not read what is written here' "$work/run.err"
    elif sums=$("$build/bench/records" parse "$file" && "$build/bench/records" parse "$work/b.tfrec") && [ "$(sed 's/.*"check"//' <<< "$sums" | sort -u | wc -l)" -eq 1 ]; then
      printf '  TensorFlow read the records and wrote them again; here they are read as the same\n'
    else
      failed 'what TensorFlow wrote is read as something else' /dev/null
    fi
  fi
fi

if wanted images && built bench/data_images; then
  has_peer=false
  if has "$python" torchvision torch torchvision; then has_peer=true; fi
  for extents in '256 375 500' '16 1500 2000'; do
    read -r count height width <<< "$extents"
    folder=$work/$height
    "$build/bench/data_images" make "$folder" "$count" "$height" "$width"
    for of in "eval 0" "train 0" "train $workers"; do
      read -r mode threads <<< "$of"
      if [ "$threads" -gt 0 ] && [ "$count" -lt 100 ]; then continue; fi  # too few for several workers
      turns=$((threads > 0 ? 4 : count > 100 ? 2 : 4))
      programs=([ours]="'$build/bench/data_images' $mode '$folder' $turns $threads")
      if $has_peer; then programs[torchvision]="'$python' '$root/bench/peers/images.py' $mode '$folder' $turns $threads"; fi
      compare "images of $width x $height to 224 x 224, $mode$([ "$threads" -eq 0 ] || echo ", $threads workers")" \
        "images per $([ "$threads" -eq 0 ] && echo 'processor second' || echo second)"
    done
  done
fi

if wanted tokens && built bench/token_batches; then
  programs=([ours]="'$build/bench/token_batches' '$work/tokens.bin' 100 1")
  compare 'a batch of 12 x 64 from a file of tokens, step of one thread' '% of a step'
fi

if wanted tokenizers && built examples/tokens; then
  if [ -z "$data" ] || [ ! -r "$data" ]; then
    left_out "tokenizers: no text${data:+ $(basename "$data")}; name one with --data"
  elif $resume && grep -q '"case": "encode' "$log"; then
    :
  elif has "$python" tokenizers tokenizers tiktoken numpy; then
    quiet $((SECONDS + patience)) || true
    timed "$work/run" "$python" "$root/bench/peers/bpe.py" --program "$build/examples/tokens" --data "$data" --work "$work/bpe" --repeat "$rounds" --log "$work/bpe.jsonl"
    cat "$work/run.out"
    if [ "$code" -ne 0 ]; then failed "tokenizers, exit code $code" "$work/run.err"; fi
    if [ -s "$work/bpe.jsonl" ]; then sed "s/^{/{\"others\":$others,/" "$work/bpe.jsonl" >> "$log"; fi
  fi
fi

how_compiled "$build"
mkdir -p "$output"
"$python" "$root/bench/summary.py" rates --log "$log" --output "$output" --rounds "$rounds" --name data --compiler "$compiler" --flags "$flags" \
  --libraries "$libraries" --commit "$commit" --command "$command" "${skipped[@]}" || failures=$((failures + 1))
[ "$failures" -eq 0 ] || { printf '%s failure(s)\n' "$failures" >&2; exit 1; }
