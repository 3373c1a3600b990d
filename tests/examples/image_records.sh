#!/bin/bash
# image_records.sh PROGRAM RECORDED: images become shards that tar lists; exit codes; Ctrl-C; nothing half-written.
set -eu
program=$1 recorded=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "image_records: $*"; cat "$work/said"; exit 1; }
run() {  # CODE ARGUMENTS...
  local code=0 expected=$1
  shift
  "$program" "$@" > "$work/said" 2>&1 || code=$?
  [ $code -eq "$expected" ] || fail "$*: expected exit code $expected, found $code"
}
mkdir -p "$work/images/a" "$work/images/b"
cp "$recorded/baseline.jpg" "$work/images/a/1.jpg"
cp "$recorded/rgb.png" "$work/images/a/1.png"
cp "$recorded/progressive.jpg" "$work/images/b/2.JPEG"

run 0 --help
run 2
run 2 --images "$work/images"
run 2 --images "$work/images" --output "$work/x" --format zip
if ! "$program" --images "$work/images" --output "$work/t" --per-shard 2 --in-order > "$work/said" 2>&1; then
  if grep -Eq 'install lib(jpeg|png)-dev' "$work/said"; then echo "needs libjpeg-turbo and libpng"; exit 77; fi
  fail "could not convert"
fi
grep -q "t: 3 images of 2 classes, .* in 2 shards" "$work/said" || fail "no summary"
tar tf "$work/t-00001-of-00002.tar" > "$work/listed"
printf '%s\n' 000000001.png 000000001.cls 000000002.jpg 000000002.cls | cmp - "$work/listed" || fail "tar lists something else"
tar xOf "$work/t-00001-of-00002.tar" 000000002.jpg | cmp - "$recorded/progressive.jpg" || fail "another image"
[ "$(tar xOf "$work/t-00001-of-00002.tar" 000000002.cls)" = 1 ] || fail "another class"
printf 'a\nb\n' | cmp - "$work/t-classes.txt" || fail "other classes"
run 0 --images "$work/images" --output "$work/r" --format tfrecord --shorter 16
[ -s "$work/r-00000-of-00001.tfrec" ] || fail "no TFRecord file"

# What goes wrong is one line, and leaves no shard.
printf 'no image' > "$work/images/b/3.png"
run 1 --images "$work/images" --output "$work/bad"
grep -q "b/3.png: expected a JPEG or PNG image" "$work/said" || fail "no word about the file"
[ "$(wc -l < "$work/said")" -eq 1 ] || fail "expected one line"
run 1 --images "$work/nowhere" --output "$work/bad"
run 1 --images "$work/images" --output "$work/nowhere/bad"
[ -z "$(find "$work" -name '*bad*')" ] || fail "a file of a failed run"
