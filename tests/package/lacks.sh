#!/bin/sh
# lacks.sh COMPILER FLAGS... FILE: a program that links regimen::compiled reads no body of a kernel; a kernel that the
# library lacks is refused by one sentence, and compiled in a program that includes the bodies. With
# -DREGIMEN_CUDA_COMPILED=... the same checks of regimen::cuda_compiled, whose programs read no header of CUDA; nvcc then
# compiles the kernels that this library lacks, and no others.
set -eu
case $1 in *nvcc*)
  "$@"
  before= ptx=
  for argument in "$@"; do
    if [ "$before" = -o ]; then ptx=$argument; fi
    before=$argument
  done
  kernels=$(grep -c '\.entry ' "$ptx" || true) lacked=$(grep '\.entry ' "$ptx" | grep -c Averaged || true)
  echo "$kernels kernels, of which the library lacks $lacked"
  [ "$kernels" -gt 0 ] && [ "$kernels" = "$lacked" ]
  exit ;;
esac
says() { "$@" 2>&1 || true; }
bodies='engine/cpu/|/immintrin\.h$'
declared='engine/cpu/(compiled|device|engine|execute|flags|machine|memory|step|traits)\.hpp$'
list='engine/cpu/compiled.hpp$'
sentence='regimen: regimen::compiled lacks the kernel of this operation; include <regimen/engine/cpu/kernels.hpp>'
case "$*" in *REGIMEN_CUDA_COMPILED*)
  bodies='engine/cpu/|/immintrin\.h$|/cuda[a-z_]*\.h|/cublas|/cudnn|/nccl|/nvtx|\.cuh$'
  list='engine/cuda/compiled.hpp$'
  sentence='regimen: regimen::cuda_compiled lacks the kernel of this operation; compile this file by nvcc, as a .cu file' ;;
esac
all=$("$@" -M -MT all 2>/dev/null | tr ' ' '\n')
printf '%s\n' "$all" | grep -q "$list" || { echo "it does not include the list, either"; exit 1; }
read=$(printf '%s\n' "$all" | grep -E "$bodies" | grep -vE "$declared" || true)
[ -z "$read" ] || { echo "it reads $read"; exit 1; }
said=$(says "$@")
errors=$(printf '%s\n' "$said" | grep -c 'error: ' || true)
printf '%s\n' "$said" | grep 'error: ' | grep -qF "$sentence" && [ "$errors" = 1 ] ||
  { echo "$errors errors, where one must say: $sentence"; printf '%s\n' "$said"; exit 1; }
printf '%s\n' "$said" | grep -q 'Averaged' || { echo "it does not name the operation"; printf '%s\n' "$said"; exit 1; }
"$@" -DREGIMEN_CURE
