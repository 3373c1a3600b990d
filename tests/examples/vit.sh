#!/bin/bash
# vit.sh VIT_FAKE RUN_VIT_TRAINING: lesson 10 times its steps, alone and as two processes; in lesson 11 every combination of flags trains,
# and recomputation and sharding change no loss; numbers of the training change it; what is not compiled in, or does not fit, is refused.
set -u
fake=$1 training=$2
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT REGIMEN_USE_BF16
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
losses() { grep -o '"step":[0-9]*,"loss":[^,}]*' "$1"; }
# processes PROGRAM ARGUMENTS...: two ranks; out.R, err.R and code.R of each rank R
processes() {
  local port=$((20000 + RANDOM % 12000)) r
  for r in 0 1; do
    (RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$@" > "out.$r" 2> "err.$r"; echo $? > "code.$r") &
  done
  wait
}
refused() { # CODE WORDS COMMAND...
  local code=$1 words=$2 said found
  shift 2
  said=$("$@" 2>&1)
  found=$?
  [ $found -eq "$code" ] && [[ $said == *"$words"* && $said != *"step:"* ]] || wrong "$*: expected $code and '$words', found $found, $said"
}

# ---- lesson 10
"$fake" --threads 1 --steps 3 > out 2> err || wrong "vit_fake: $(cat err)"
[ "$(grep -o '^step: [0-9]*: step time is [0-9.]*$' out | cut -d: -f2 | tr -d '\n')" = " 2 3" ] || wrong "vit_fake: not the times of steps 2 and 3: $(cat out)"
grep -Eq '^average step time: [0-9.]+$' out && grep -Eq 'samples/s; built in [0-9.]+ s, first step [0-9.]+ s$' out || wrong "vit_fake: $(cat out)"
grep -Eq 'planned [0-9.]+ MiB \(([0-9]+) bytes\), used \1 bytes$' out || wrong "vit_fake does not use what it planned: $(cat out)"
processes "$fake" --threads 1 --steps 2
[ "$(cat code.0)$(cat code.1)" = 00 ] && grep -q 'one of 2 ranks' out.0 && grep -q '^step: 2: step time is' out.0 || wrong "two processes: $(cat code.* out.0 err.*)"
[ -z "$(cat out.1 err.1)" ] || wrong "rank 1 speaks: $(cat out.1 err.1)"
# Without MASTER_ADDR and MASTER_PORT they meet at localhost:2222, which one run at a time can have; what is set stays as it is.
said=$(exec 9> "${TMPDIR:-/tmp}/regimen-port-2222.lock"; flock -w 300 9
  (RANK=1 WORLD_SIZE=2 "$fake" --threads 1 --steps 2 > out.1 2> err.1; echo $? > code.1) 9>&- &
  RANK=0 WORLD_SIZE=2 "$fake" --threads 1 --steps 2 2>&1 9>&-; echo "code $?"; wait)
{ [[ $said == *'one of 2 ranks'*'step: 2: step time is'*'code 0' ]] && [ "$(cat code.1)" = 0 ]; } || [[ $said == *':2222'*'in use'* ]] ||
  wrong "two processes without an address: $said, $(cat code.1 err.1)"
refused 1 'MASTER_PORT=0' env RANK=0 WORLD_SIZE=2 MASTER_PORT=0 "$fake" --steps 1
refused 2 'small|whole' "$fake" --size large
if [ "$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)" -lt 24000000 ]; then
  refused 1 'the network: expected 25.2 GiB of free memory for its plan, found' "$fake" --size whole
  refused 1 'plan: 1263558120 parameters, batch 10' "$fake" --size whole
fi

# ---- lesson 11: in fp32, and in bf16, one curve
for bf16 in 0 1; do
  for flags in '' --no_grad_ckpt --run_without_fsdp '--run_without_fsdp --no_grad_ckpt'; do
    REGIMEN_USE_BF16=$bf16 "$training" --fake_data --threads 1 --steps 3 --log_step_interval 1 --log log $flags > out 2> err || wrong "run_vit_training $flags: $(cat err)"
    grep -Eq '\(([0-9]+) bytes\), used \1 bytes$' out && grep -q '^step: 3: step time is' out || wrong "run_vit_training $flags: $(cat out)"
    [ "$(losses log | wc -l)" -eq 3 ] || wrong "run_vit_training $flags logs $(cat log)"
    [ -z "$flags" ] && cp log log.$bf16
    diff <(losses log.$bf16) <(losses log) || wrong "run_vit_training $flags, REGIMEN_USE_BF16=$bf16, has other losses than without these flags"
  done
done
diff -q <(losses log.0) <(losses log.1) > /dev/null && wrong "REGIMEN_USE_BF16 changes nothing"
processes "$training" --fake_data --threads 1 --steps 3 --batch_size 16 --log sharded
[ "$(cat code.0)$(cat code.1)" = 00 ] || wrong "two processes: $(cat code.* err.*)"
processes "$training" --fake_data --threads 1 --steps 3 --run_without_fsdp --log whole
diff <(losses sharded) <(losses whole) || wrong "two processes: sharding changes the losses"

# ---- numbers of the training: epochs are steps, of which the last of each has what is left (20 images are 8, 8 and 4), and every number is felt
numbers() { grep -o '"\(step\|loss\|learning_rate\)":[0-9][^,}]*' "$1"; }
trains() { # LOG ARGUMENTS...
  "$training" --fake_data --threads 1 --num_images 20 --log "$@" > out 2> err || wrong "run_vit_training $*: $(cat err)"
}
trains epochs --num_epochs 4 --lr 0.01 --image_size 56 --patch_size 14 --num_classes 1000 --batch_size 8
trains steps --steps 12 --learning-rate 0.01 --num_workers 2
[ "$(losses epochs | wc -l)" -eq 12 ] || wrong "four epochs of 20 images in batches of 8 are not 12 steps: $(losses epochs)"
diff <(numbers epochs) <(numbers steps) || wrong "--num_epochs, --lr, or sizes that are compiled in, train otherwise than --steps and --learning-rate"
for number in '--lr 0.02' '--lr 0.01 --weight_decay 0.5' '--lr 0.01 --warmup_steps 0'; do
  trains log --steps 12 $number
  diff -q <(numbers steps) <(numbers log) > /dev/null && wrong "$number changes nothing"
done
refused 2 'excludes' "$training" --fake_data --lr 0.1 --learning-rate 0.1
refused 2 'excludes' "$training" --fake_data --num_epochs 1 --steps 3
refused 2 'shard_on_cpu' "$training" --fake_data --shard_on_cpu
"$training" --help | grep -q 'shard_on_cpu' || wrong "--help does not say what is not here"
sizes='--embed_dim 64 --num_heads 4 --num_blocks 2 --batch_size 8 --image_size 56 --patch_size 14 --num_classes 1000, or '
sizes+='--embed_dim 2048 --num_heads 16 --num_blocks 16 --batch_size 32 --image_size 224 --patch_size 14 --num_classes 1000'
refused 1 "one that is compiled in, which on 1 rank is $sizes" "$training" --fake_data --embed_dim 5120
refused 1 "found --embed_dim 64 --num_heads 4 --num_blocks 2 --batch_size 9" "$training" --fake_data --batch_size 9
refused 1 'add Size<64, 4, 2, 8, 224, 16, 1000> to Sizes' "$training" --fake_data --image_size 224 --patch_size 16
refused 1 'evenly among the 2 ranks, found 15' env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=2345 "$training" --fake_data --batch_size 15
refused 1 'folders of images are not read' "$training"
refused 1 "REGIMEN_USE_BF16: expected 0 or 1, found 'yes'" env REGIMEN_USE_BF16=yes "$training" --fake_data
exit $failed
