#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tokenizers beside Hugging Face's tokenizers and tiktoken: 10 MB of mixed text, the same ids, CPU seconds of one thread.
#
#   bench/tokenizers.sh --data tinyshakespeare.txt [--vocabulary 16384] [--repeat 3]
#
# PYTHON is a Python with tokenizers, tiktoken and numpy (default: python3). Exit code 1 if an id differs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/bench
cmake -S "$root" --preset release -B "$build" -DREGIMEN_TESTS=OFF -DREGIMEN_BENCH=OFF -DREGIMEN_PCRE2=ON | { grep -E '^-- regimen|^CMake (Warning|Error)' || true; }
cmake --build "$build" --target tokens --parallel
exec "${PYTHON:-python3}" "$root/bench/peers/bpe.py" --program "$build/examples/tokens" --work "$build/bpe" "$@"
