#!/bin/bash
# tokens.sh PROGRAM RECORDED: text becomes a file of tokens, whose length is the recorded one; exit codes; nothing half-written.
set -eu
program=$1 recorded=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "tokens: $*"; cat "$work/said"; exit 1; }
run() {  # CODE ARGUMENTS...
  local code=0 expected=$1
  shift
  "$program" "$@" > "$work/said" 2>&1 || code=$?
  [ $code -eq "$expected" ] || fail "$*: expected exit code $expected, found $code"
}
bytes() { wc -c < "$1"; }

run 0 --help
run 2
run 2 --output "$work/out" "$recorded/text.txt"
if ! "$program" --tokenizer "$recorded/gpt2.json" --output "$work/gpt2.bin" "$recorded/text.txt" > "$work/said" 2>&1; then
  if grep -q 'install libpcre2-dev' "$work/said"; then echo "needs PCRE2 (libpcre2-dev)"; exit 77; fi
  fail "could not read gpt2.json"
fi
tokens=$(sed -n 's/.*: \([0-9]*\) tokens of.*/\1/p' "$work/said")
[ "$(bytes "$work/gpt2.bin")" -eq $((1024 + 2 * tokens)) ] || fail "expected 1024 bytes and 2 for each of $tokens tokens"

# The same by several threads, and without the header.
run 0 --raw --threads 3 --tokenizer "$recorded/gpt2.json" --output "$work/raw.bin" "$recorded/text.txt"
tail -c +1025 "$work/gpt2.bin" | cmp - "$work/raw.bin" || fail "another layout has other tokens"

# A vocabulary that is learned, saved, and read again.
run 0 --train 300 --special '<end>' --separator '<end>' --tokenizer "$work/mine.json" --output "$work/one.bin" "$recorded/text.txt" "$recorded/text.txt"
run 0 --separator '<end>' --tokenizer "$work/mine.json" --output "$work/two.bin" "$recorded/text.txt" "$recorded/text.txt"
cmp "$work/one.bin" "$work/two.bin" || fail "the saved vocabulary gives other tokens"
run 0 --pattern cl100k --tokenizer "$recorded/cl100k.tiktoken" --output "$work/ranks.bin" "$recorded/text.txt"

# What goes wrong is one line, and leaves no file.
run 1 --tokenizer "$recorded/cl100k.tiktoken" --output "$work/none.bin" "$recorded/text.txt"
grep -q -- "--pattern: expected the pattern of" "$work/said" || fail "no word about the pattern"
run 1 --pattern cl100k --special '<end>' --tokenizer "$recorded/cl100k.tiktoken" --output "$work/none.bin" "$recorded/text.txt"
grep -q -- "--special: expected --train" "$work/said" || fail "no word about the special token"
run 1 --tokenizer "$recorded/gpt2.json" --separator '<none>' --output "$work/none.bin" "$recorded/text.txt"
grep -q -- "--separator: expected a token of" "$work/said" || fail "no word about the separator"
run 1 --tokenizer "$recorded/text.txt" --output "$work/none.bin" "$recorded/text.txt"
run 1 --tokenizer "$recorded/gpt2.json" --output "$work/none.bin" "$work/nowhere.txt"
[ "$(wc -l < "$work/said")" -eq 1 ] || fail "expected one line"
[ ! -e "$work/none.bin" ] || fail "a file of a failed run"

# No file of the command is overwritten by another one, under whatever name.
cp "$recorded/text.txt" "$work/text.txt"
ln -s text.txt "$work/link.txt"
run 1 --tokenizer "$recorded/gpt2.json" --output "$work/text.txt" "$work/text.txt"
grep -q -- "--output .*: expected a file of its own, found an input; give it another name" "$work/said" || fail "no word about the input"
run 1 --tokenizer "$recorded/gpt2.json" --output "$work/link.txt" "$work/text.txt"
run 1 --train 300 --tokenizer "$work/text.txt" --output "$work/none.bin" "$work/text.txt"
cmp "$recorded/text.txt" "$work/text.txt" || fail "the input is overwritten"
run 1 --train 300 --tokenizer "$work/both.json" --output "$work/./both.json" "$work/text.txt"
grep -q "found the file of --tokenizer" "$work/said" || fail "no word about the vocabulary"
[ ! -e "$work/both.json" ] || fail "a file of a failed run"
