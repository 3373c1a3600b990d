#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Networks of images beside PyTorch (channels last) on this CPU: bench/cpu.sh with other networks, and all its options.
# Writes bench/results/vision-*.{json,md}. The peers need torchvision and timm, too. Batches of 128 images of 224 x 224 take
# minutes; --skip vit_s16 leaves them out. In bf16, too, where the processor has AMX.
set -euo pipefail
formats=
if grep -qw amx_bf16 /proc/cpuinfo; then formats='(_bf16)?'; fi
exec "$(dirname "${BASH_SOURCE[0]}")/cpu.sh" --results vision --only "(resnet18|vit_s16)(_8)?$formats" --steps 10 --warmup 2 "$@"
