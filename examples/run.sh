#!/usr/bin/env bash
# From a fresh clone to a transformer that generates text: installs missing packages (Debian, Ubuntu), builds examples/gpt, runs it.
#
#   examples/run.sh                          learns this project's own headers and documentation
#   examples/run.sh --data shakespeare.txt   learns another text
#   examples/run.sh --images FOLDER          learns a folder of images instead: a sub-folder of JPEG and PNG files for each class
#   examples/run.sh --help                   what else the program takes; every argument is passed on
#
# Standard output has only the program's output: with --log - it can be piped. This script prints to standard error.
# Two to three minutes to the first printed loss on two cores, package installation included; seconds the next time.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/packages.sh"
exec 3>&1 >&2

program=gpt
case " $* " in *" --images "* | *" --images="*) program=images ;; esac

say "what is missing"
need_to_build
if [ $program = images ]; then
  need libjpeg-dev header jpeglib.h
  need libpng-dev header png.h
fi
need libcli11-dev header CLI/CLI.hpp
install_missing
check_cmake

say "build (about a minute)"
begun=$SECONDS
build=$root/build/examples
cmake -S "$root" --preset release -B "$build" -DREGIMEN_TESTS=OFF -DREGIMEN_BENCH=OFF | { grep -E '^-- regimen|^CMake (Warning|Error)' || true; }
cmake --build "$build" --target $program --parallel
echo "$((SECONDS - begun)) s"

data=()
case "$program $* " in
  images\ * | *" --data "* | *" --data="* | *" --help "* | *" -h "*) ;;
  *)
    text=$(mktemp "${TMPDIR:-/tmp}/regimen-text.XXXXXX")
    trap 'rm -f "$text"' EXIT
    sources=("$root/include" "$root/docs" "$root/examples")
    for file in "$root"/*.md; do if [ -e "$file" ]; then sources+=("$file"); fi; done
    find "${sources[@]}" -type f \( -name '*.hpp' -o -name '*.ipp' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.md' \) | LC_ALL=C sort |
      while IFS= read -r file; do cat "$file"; echo; done > "$text"
    data=(--data "$text")
    say "learns its own source, $(($(wc -c < "$text") / 1024)) KB (another text: --data FILE)" ;;
esac
"$build/examples/$program" "${data[@]}" "$@" >&3 3>&-
