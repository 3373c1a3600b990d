# bench/common.sh — what the scripts share that measure programs; they read it with `.`. `root` is the repository.
# SPDX-License-Identifier: Apache-2.0

# busy: the seconds that all processors together have worked since the machine started, in hundredths
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat 2> /dev/null || echo 0; }

# quiet DEADLINE: waits for a second in which less than a tenth of a processor is used; false when that comes too late
quiet() {
  local before
  while [ "$SECONDS" -lt "$1" ]; do
    before=$(busy)
    sleep 1
    if [ $(($(busy) - before)) -lt 10 ]; then return 0; fi
  done
  return 1
}

# timed FILE COMMAND...: runs it, with its output in FILE.out and FILE.err. `code` is its exit code, `others` how many
# processors other programs kept busy meanwhile.
timed() {
  local file=$1 before after used TIMEFORMAT='%R %U %S'
  shift
  code=0
  before=$(busy)
  { time "$@" > "$file.out" 2> "$file.err" < /dev/null; } 2> "$file.time" || code=$?
  after=$(busy)
  read -r -a used < <(tail -n 1 "$file.time")
  others=$(awk -v all=$((after - before)) -v wall="${used[0]}" -v u="${used[1]}" -v s="${used[2]}" \
    'BEGIN { others = wall > 0 ? (all / 100 - u - s) / wall : 0; printf "%.2f\n", (others > 0 ? others : 0) }')
}

# how_compiled BUILD: sets compiler, flags, libraries and commit, as far as the build directory tells
how_compiled() {
  local build=$1 type
  local cache=$build/CMakeCache.txt
  from_cache() { if [ -f "$cache" ]; then sed -n "s/^$1:[^=]*=//p" "$cache" | head -n 1; fi; }
  compiler=$(from_cache CMAKE_CXX_COMPILER)
  if [ -n "$compiler" ]; then compiler=$("$compiler" --version 2> /dev/null | head -n 1 || printf '%s' "$compiler"); fi
  type=$(from_cache CMAKE_BUILD_TYPE)
  flags="$(from_cache CMAKE_CXX_FLAGS) $(from_cache "CMAKE_CXX_FLAGS_${type^^}")"
  libraries=$(ldd "$build"/bench/* 2> /dev/null | sed -n 's/.*=> \(.*\(blas\|dnnl\|mkl\|omp\)[^ ]*\) .*/\1/p' | sort -u \
    | while read -r library; do basename "$(readlink -f "$library")"; done | sort -u | paste -sd ' ' - || true)
  commit=$(git -C "$root" rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
  if [ -n "$(git -C "$root" status --porcelain --untracked-files=no 2> /dev/null)" ]; then commit="$commit, with changes"; fi
}
