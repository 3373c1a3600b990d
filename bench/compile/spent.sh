#!/bin/bash
# spent.sh COMPILER MEGABYTES SOURCE FLAGS...: the seconds of processor time of compiling SOURCE, optimised, within so much memory; by
# nvcc, for sm_90a alone.
set -eu
compiler=$1 megabytes=$2 source=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
case $compiler in
  *nvcc*) options=(-O3 -x cu -gencode arch=compute_90a,code=sm_90a) ;;
  *) options=(-O3 -march=native) ;;
esac
ulimit -v $((megabytes * 1024))          # of address space, which is more than what is resident: the stricter test
"$compiler" -std=c++20 "${options[@]}" "$@" -c "$source" -o "$work/it.o"
times > "$work/times"                     # not through a pipe: a subshell has no children to have waited for
tail -n 1 "$work/times" | awk '{ split($1, user, "[ms]"); split($2, system_time, "[ms]")
  printf "%.2f\n", user[1] * 60 + user[2] + system_time[1] * 60 + system_time[2] }'
