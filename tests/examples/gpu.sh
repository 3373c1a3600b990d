#!/bin/bash
# gpu.sh LESSON_1 EMULATED [GPU...]: lesson 7 is lesson 1 on another device. Emulated, it trains what lesson 1 trains; built by nvcc, without
# a device it says so in one line.
set -u
lesson=$1 emulated=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }

# Two steps, the second of them as a graph. A text of 1,500 bytes leaves two blocks to validate with.
head -c 1500 /dev/zero | tr '\0' 'a' | sed 's/aaaaaaa/a quick /g' > text
for program in "$lesson" "$emulated"; do
  "$program" --data text --steps 2 --sample 0 --log "$(basename "$program")" > out 2> err || wrong "$program: $(cat err)"
done
losses() { grep -oE '"(step|validation)".*"loss":[^,}]*' "$1" | grep -oE '[0-9.e+-]+$'; }
losses "$(basename "$lesson")" > here
losses "$(basename "$emulated")" > there
# fp32: sums of at most 1,024 terms in other orders, 2^-24 each, in losses of at most 6: 4e-4.
paste here there | awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 4e-4)) bad = 1 } END { exit bad || NR != 3 }' ||
  wrong "the losses differ: $(paste here there)"

for gpu in "$@"; do
  CUDA_VISIBLE_DEVICES='' "$gpu" --steps 1 > out 2> err
  code=$?
  [ $code -eq 1 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q '^Device<Cuda>: expected a GPU' err ||
    wrong "without a device $gpu ended with $code and said: $(cat out err)"
done
exit $failed
