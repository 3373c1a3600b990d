#!/bin/sh
# count.sh COMPILER SOURCE FLAGS...: how many templates a clang instantiates for SOURCE, and the bytes of its object file.
set -eu
compiler=$1 source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c++20 -O0 "$@" -ftime-trace -ftime-trace-granularity=0 -c "$source" -o "$work/it.o"
count=$(tr '{' '\n' < "$work/it.json" | grep -c '"name":"Instantiate\(Class\|Function\)"' || true)
echo "$count $(wc -c < "$work/it.o")"
