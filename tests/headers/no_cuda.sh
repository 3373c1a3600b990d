#!/bin/sh
# no_cuda.sh COMPILER FLAGS... FILE: FILE includes, directly or not, no header of CUDA or its libraries.
set -eu
all=$("$@" -x c++ -M -MT all)
found=$(printf '%s\n' "$all" | tr ' ' '\n' | grep -E '/(cuda|cublas|cudnn|nccl)[a-zA-Z0-9_]*\.h$|\.cuh$' || true)
printf '%s\n' "$all" | grep -q 'regimen/engine/cuda/engine.hpp' || { echo "it does not include the CUDA engine, either"; exit 1; }
[ -z "$found" ] || { echo "a build for a CPU includes $found"; exit 1; }
