#!/bin/bash
# vit_matrix.sh PROGRAM: the plans of the eight combinations are those of vit_matrix.txt beside this script, and what is measured takes the
# memory that is planned.
set -u
program=$1 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
"$program" --only planned --log log > out 2> err || wrong "planned: $(cat err)"
diff -u "$here/vit_matrix.txt" out || failed=1
[ "$(grep -c '^{"event":"planned",.*}$' log)" -eq 32 ] || wrong "its log is $(cat log)"
"$program" --only measured --ranks 1 --steps 1 --warmup 0 --rounds 1 --log log > out 2> err || wrong "measured: $(cat err)"
[ "$(grep -c '^{"event":"measured",.*}$' log)" -eq 8 ] && ! grep -q 'NOT as planned' out || wrong "measured: $(cat out log)"
"$program" --only nothing > out 2> err
[ $? -eq 2 ] || wrong "--only nothing: not refused"
exit $failed
