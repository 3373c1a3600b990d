#!/bin/bash
# tune.sh TUNE: lesson 14 finds the same, killed or not, side by side or not, and counts the looks at its test data.
set -u
tune=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
# what was found, without seconds
losses() { sed 's/"seconds":[^}]*//g' "$1/trials.jsonl"; }
small=(--steps 36 --trials 9)

"$tune" --help > help || wrong "--help fails"
grep -q -- '--plan' help || wrong "--help: $(cat help)"
"$tune" --plan best > out 2> err; [ $? -eq 2 ] || wrong "--plan best is accepted"
"$tune" --trials 0 > out 2> err; [ $? -eq 2 ] || wrong "--trials 0 is accepted"
"$tune" --folder /proc/none > out 2> err; [ $? -eq 1 ] && grep -q '/proc/none: expected a folder' err || wrong "/proc/none: $(cat err)"

"$tune" --folder one "${small[@]}" > out 2> err || wrong "it fails: $(cat err)"
[ "$(wc -l < one/trials.jsonl)" -eq 9 ] || wrong "not nine trials: $(cat one/trials.jsonl)"
[ "$(grep -c '^regimen: trial' err)" -eq $((9 + 3 + 1)) ] || wrong "not 9 + 3 + 1 parts of trials: $(cat err)"
grep -q '^chosen: trial [0-9]*, validation loss [0-9.]*$' out && grep -q '^recipe 1: .*Sgd' out || wrong "no table: $(cat out)"
[ -e one/test.jsonl ] && wrong "it has looked at test data"

# killed when so many trials have ended, side by side: the same
killed=0
for ended in 1 3 5 7; do
  "$tune" --folder two --at-once 2 "${small[@]}" > /dev/null 2>&1 &
  process=$!
  until [ "$(cat two/trials.jsonl 2> /dev/null | wc -l)" -ge $ended ] || ! kill -0 $process 2> /dev/null; do sleep 0.01; done
  kill -KILL $process 2> /dev/null
  wait $process 2> /dev/null
  [ $? -eq 137 ] && killed=$((killed + 1))
done
[ $killed -ge 1 ] || wrong "it was never killed in the middle"
"$tune" --folder two --at-once 2 "${small[@]}" > out.two 2> err || wrong "it does not go on: $(cat err)"
diff <(losses one) <(losses two) || wrong "killed, it finds something else"
"$tune" --folder two --seed 2 "${small[@]}" > out.two 2> err; [ $? -eq 1 ] && grep -q "another search's" err || wrong "another seed: $(cat err)"

for look in 1 2; do
  "$tune" --folder one --test "${small[@]}" > out 2> err || wrong "--test fails: $(cat err)"
  grep -q "^look $look at the test data: loss [0-9.]*, accuracy 0.[0-9]* on 512 images$" out || wrong "look $look: $(cat out)"
done
grep -q 'look 2 at the test data' err || wrong "the second look is not said: $(cat err)"
grep -q 'regimen: trial' err && wrong "trials run again: $(cat err)"

# Ctrl-C: the exit code says so, and the search goes on
"$tune" --folder three --steps 20000 --plan grid > out 2> err &
process=$!
until [ -e three/search.txt ] || ! kill -0 $process 2> /dev/null; do sleep 0.1; done   # by then it catches Ctrl-C
kill -INT $process
wait $process
[ $? -eq 130 ] || wrong "Ctrl-C: $(cat err)"
exit $failed
