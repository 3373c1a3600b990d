#!/bin/bash
# readme.sh ROOT COMPILER FLAGS...: README.md shows examples/quickstart.cpp as it is, at most 25 lines, and its mistake gives the error it shows.
set -eu
root=$1 compiler=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$root/README.md" > "$work/shown.cpp"
diff -u "$root/examples/quickstart.cpp" "$work/shown.cpp"
[ "$(wc -l < "$work/shown.cpp")" -le 25 ]
sed 's/Precision<bf16, fp32>/Precision<fp16, fp32>/' "$work/shown.cpp" > "$work/mistake.cpp"
if "$compiler" -std=c++20 -fsyntax-only "$@" "$work/mistake.cpp" 2> "$work/errors"; then
  echo "the mistake compiles"
  exit 1
fi
sentence=$(sed -n 's/^error: static assertion failed: \(regimen: .*\)$/\1/p' "$root/README.md")
[ -n "$sentence" ]
if ! grep -m 1 'error: ' "$work/errors" | grep -qF "$sentence"; then
  echo "README.md promises: $sentence"
  grep -m 1 'error: ' "$work/errors"
  exit 1
fi
