#!/bin/bash
# run_script.sh ROOT: examples/run.sh leaves standard output to the program that it builds, whatever else it does. Nothing is
# built or installed: cmake, apt-get and the program are scripts that say that they were called.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/cmake" "$work/tree/build/examples/examples" "$work/tree/include" "$work/tree/docs"
cp -r "$root/examples" "$work/tree/"
cp "$root/cmake/packages.sh" "$work/tree/cmake/"
echo "text" > "$work/tree/docs/page.md"
stub() { { echo '#!/bin/sh'; cat; } > "$1"; chmod +x "$1"; }
stub "$work/bin/cmake" <<< 'echo "cmake version 3.25.1"; echo "-- regimen: cmake $*"; echo "cmake errs" >&2'
for name in apt-get apt-cache sudo; do stub "$work/bin/$name" <<< "echo \"$name \$*\""; done
stub "$work/tree/build/examples/examples/gpt" <<< 'echo "{\"arguments\":\"$*\"}"; echo "progress" >&2; exit 7'
code=0
PATH=$work/bin:$PATH bash "$work/tree/examples/run.sh" --log - > "$work/out" 2> "$work/err" < /dev/null || code=$?
fail() {
  echo "run_script.sh: $1"
  head -n 50 "$work/out" "$work/err"
  exit 1
}
[ $code -eq 7 ] || fail "expected the program's exit code 7, found $code"
[ "$(wc -l < "$work/out")" -eq 1 ] || fail "expected the program's line on standard output and nothing else"
grep -q '^{"arguments":"--data .* --log -"}$' "$work/out" || fail "expected the program's arguments"
stub "$work/tree/build/examples/examples/images" <<< 'echo "{\"arguments\":\"$*\"}"'
PATH=$work/bin:$PATH bash "$work/tree/examples/run.sh" --images "my folder" > "$work/images" 2> /dev/null < /dev/null || fail "expected --images to run"
[ "$(cat "$work/images")" = '{"arguments":"--images my folder"}' ] || fail "expected the program of images, and its arguments"
for words in "== what is missing" "== build" "-- regimen: cmake" "cmake errs" "progress"; do
  grep -qF -- "$words" "$work/err" || fail "expected '$words' on standard error"
done
