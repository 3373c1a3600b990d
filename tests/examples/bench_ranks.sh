#!/bin/bash
# bench_ranks.sh SCALING OVERLAP: the benchmarks of ranks run, their logs are JSON lines, and every rank sends what is planned.
set -u
scaling=$1 overlap=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
short=(--steps 2 --warmup 1 --rounds 1)

"$scaling" --only measured --ranks 2 "${short[@]}" --log log > out 2> err || wrong "scaling: $(cat err)"
[ "$(grep -c ', as planned' out)" -eq 11 ] || wrong "scaling: of 1 rank and 5 times 2 not all 11 sent what was planned: $(cat out)"
[ "$(grep -c '^{"event":"scaling",.*}$' log)" -eq 6 ] && [ "$(grep -c '^{"event":"phases",.*}$' log)" -eq 11 ] || wrong "scaling: its log is $(cat log)"
"$scaling" --only predicted --log - > out 2> err || wrong "scaling: $(cat err)"
[ "$(grep -c '^{"event":"predicted",.*}$' out)" -eq 34 ] && [ "$(wc -l < out)" -eq 34 ] || wrong "scaling: predicted $(cat out)"
grep -q 'predicted, not measured' err || wrong "scaling: a prediction without the word: $(cat err)"
# Measured rates: ten times slower links take longer.
"$scaling" --only predicted --inside 45 --between 5 --log - > slow 2> err || wrong "scaling: $(cat err)"
grep -q 'links measured at 45 GB/s' err || wrong "scaling: does not say which rates: $(cat err)"
sends() { awk -F'"sends":' '/"ranks":8,/ && $2 > 0 { split($2, a, ","); sum += a[1] } END { print sum }' "$1"; }
awk -v fast="$(sends out)" -v slow="$(sends slow)" 'BEGIN { exit !(slow > 5 * fast && slow < 10 * fast) }' ||
  wrong "scaling: with a tenth of the rates collectives take $(sends slow) s in place of $(sends out)"

"$overlap" "${short[@]}" --log log > out 2> err || wrong "overlap: $(cat err)"
[ "$(grep -c '^{"event":"overlap",.*"ratio":[0-9].*}$' log)" -eq 18 ] || wrong "overlap: its log is $(cat log)"
"$overlap" "${short[@]}" --trace trace.json 2> err || wrong "overlap: $(cat err)"
for words in '"name":"rank 1"' '"name":"gather 2 (repeat), iteration 1"' '"cat":"wait"'; do
  grep -qF "$words" trace.json || wrong "the trace has no $words"
done
for program in "$scaling" "$overlap"; do
  "$program" --ranks none > out 2> err
  [ $? -eq 2 ] || wrong "$program --ranks none: not refused"
done
exit $failed
