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

# Shards: the tokens of the one file, in order, under names that say how many there are.
tokenize() { run "$1" --tokenizer "$recorded/gpt2.json" "${@:2}" "$recorded/text.txt" "$recorded/text.txt"; }
separated="--specials-in-text --separator <|endoftext|>"
tokenize 0 $separated --output "$work/all.bin"
tokens=$(sed -n 's/.*: \([0-9]*\) tokens of.*/\1/p' "$work/said")
each=$((tokens / 3 + 1))
mkdir "$work/shards"
tokenize 0 $separated --output "$work/shards/all.bin" --shard-tokens $each
grep -q "all.bin: $tokens tokens of .*, in 3 shards" "$work/said" || fail "no summary of the shards"
listed() { (cd "$work/shards"; echo *); }
three="all-00000-of-00003.bin all-00001-of-00003.bin all-00002-of-00003.bin"
[ "$(listed)" = "$three" ] || fail "expected $three, found $(listed)"
[ "$(bytes "$work/shards/all-00000-of-00003.bin")" -eq $((1024 + 2 * each)) ] || fail "expected $each tokens in the first"
joined() { for shard in "$work"/shards/all-*.bin; do tail -c +1025 "$shard"; done; }
tail -c +1025 "$work/all.bin" > "$work/expected"
joined | cmp - "$work/expected" || fail "the shards have other tokens"

# Shards of an earlier run are neither mixed with others nor overwritten, unless that is wanted; then none of them stays.
tokenize 1 --output "$work/shards/all" --shard-tokens $each
grep -q "all: expected no shards yet, found .*/all-00000-of-00003.bin; replace them (--replace), or choose another name" "$work/said" || fail "no word about shards"
run 1 --train 300 --tokenizer "$work/late.json" --output "$work/shards/all" --shard-tokens 9 "$recorded/text.txt"
[ ! -e "$work/late.json" ] || fail "a vocabulary was learned for nothing"
tokenize 1 --output "$work/shards/all" --shard-tokens 9 --replace --separator '<none>'
[ "$(listed)" = "$three" ] || fail "a failed run changed the shards"
joined | cmp - "$work/expected" || fail "a failed run changed the tokens"
tokenize 0 $separated --output "$work/shards/all" --shard-tokens $tokens --replace
[ "$(listed)" = all-00000-of-00001.bin ] || fail "expected one shard, found $(listed)"
joined | cmp - "$work/expected" || fail "the one shard has other tokens"
cp "$recorded/text.txt" "$work/shards/all-00000-of-00001.bin"
ln -s shards/all-00000-of-00001.bin "$work/behind.txt"
for input in "$work/shards/all-00000-of-00001.bin" "$work/shards/../shards/all-00000-of-00001.bin" "$work/behind.txt"; do
  run 1 --tokenizer "$recorded/gpt2.json" --output "$work/shards/all" --shard-tokens 9 --replace "$input"
  grep -q -- "--output .*: expected a file of its own, found an input" "$work/said" || fail "no word about the input"
done
run 1 --train 300 --tokenizer "$work/shards/new-00000-of-00004.bin" --output "$work/shards/new" --shard-tokens 9 "$recorded/text.txt"
grep -q "found the file of --tokenizer" "$work/said" || fail "no word about the vocabulary"
cmp "$recorded/text.txt" "$work/shards/all-00000-of-00001.bin" || fail "the input is overwritten"
[ "$(listed)" = all-00000-of-00001.bin ] || fail "files of failed runs: $(listed)"
tokenize 1 --output "$work/none" --shard-tokens 2147483648
grep -q "expected 1 to 2147483647, found 2147483648" "$work/said" || fail "no word about the size of a shard"
tokenize 2 --output "$work/none.bin" --replace

# More shards than files that a shell lets a program open.
(ulimit -Sn 64; tokenize 0 --raw --output "$work/shards/many" --shard-tokens 10)
[ "$(cd "$work/shards"; echo many-*.bin | wc -w)" -gt 64 ] || fail "too few shards to tell"

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
