#!/usr/bin/env bash
# nanoGPT's published CPU setting on tiny Shakespeare, in fp32 and bf16: the loss over the whole validation split must be at
# most 1.90. (4 layers, 4 heads, width 128, context 64, batch 12, 2000 steps, AdamW 1e-3 to 1e-4, 100 of warm-up, β2 0.99.)
#
#   bench/accept_nanogpt.sh BUILD TEXT     e.g. build/release tinyshakespeare.txt; one or two minutes on two quiet cores
set -euo pipefail
build=${1:?a build directory, e.g. build/release} text=${2:?the text, tinyshakespeare.txt}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
code=0
for program in gpt_nano gpt_nano_bf16; do
  "$build/bench/$program" --data "$text" --steps 2000 --validate-every 500 --sample 0 --log "$logs/$program" > /dev/null
  tail -n 1 "$logs/$program" | sed 's/.*"validation_loss":\([^,}]*\).*/\1/' |
    awk -v name="$program" '{ printf "%s: validation loss %.4f, at most 1.90: %s\n", name, $1, ($1 <= 1.90 ? "yes" : "NO"); exit !($1 <= 1.90) }' || code=1
done
exit $code
