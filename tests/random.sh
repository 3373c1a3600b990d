#!/usr/bin/env bash
# Random programs: as many seeds as one likes, in pieces; what was done is known and not done again.
#
#   tests/random.sh --from 1000 --count 500     seeds 1000 to 1499
#   tests/random.sh --shrink 1234               a smaller program of that seed that still fails
#   tests/random.sh --planted [--only NAME]     every defect of tests/random/planted.txt, put into a copy of the library, is found
#
#   --emulated      the programs on the emulated device, beside the CPU engine
#   --piece N       seeds in one program (8); a seed costs 2 to 3 seconds of processor time
#   --compiler C    g++ by default
#   --out DIR       where programs and results lie: build/random, or build/random_emulated. DIR/done has a line for each finished piece; --status reads it
#   --jobs N        pieces at a time (1)
#   --prefix CMD    put before each compilation and run: nice, taskset, ...
#
# Ends with 1 when a seed failed; DIR/failed lists what was wrong.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

from='' count=1 piece=8 compiler=${CXX:-g++} out='' jobs=1 prefix='' work=seeds include=$root parsed=() only='' check=seed
while [ $# -gt 0 ]; do
  case $1 in
    --from) from=${2:?}; shift 2 ;;
    --count) count=${2:?}; shift 2 ;;
    --piece) piece=${2:?}; shift 2 ;;
    --compiler) compiler=${2:?}; shift 2 ;;
    --out) out=${2:?}; shift 2 ;;
    --jobs) jobs=${2:?}; shift 2 ;;
    --prefix) prefix=${2:?}; shift 2 ;;
    --shrink) work=shrink; from=${2:?}; shift 2 ;;
    --planted) work=planted; shift ;;
    --emulated) check=emulated; shift ;;
    --only) only=${2:?}; shift 2 ;;
    --status) work=status; shift ;;
    --help | -h) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit ;;
    *) echo "unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
done
[ -n "$out" ] || case $check in emulated) out=$root/build/random_emulated ;; *) out=$root/build/random ;; esac
mkdir -p "$out"
export OMP_NUM_THREADS=1 CCACHE_DISABLE=1
flags=(-std=c++20 -O0)   # clang compiles these in half of g++'s time
case ${compiler##*/} in g++*) flags+=(-fopenmp --param ggc-min-expand=1000 --param ggc-min-heapsize=4000000) ;; esac

# The headers, parsed once. They are included by the file that is parsed: g++ does not remember that one, and would read
# it again where another header includes it.
parse() {
  local all=$out/parsed_$check.hpp
  case ${compiler##*/} in
    clang*) parsed=(-include-pch "$all.gch") ;;
    *) parsed=(-include "$all") ;;
  esac
  echo "#include \"random/$check.hpp\"" > "$all"
  $prefix "$compiler" "${flags[@]}" -I "$root/include" -I "$root/tests" -x c++-header "$all" -o "$all.gch"
}
# compile FROM COUNT WITHOUT PROGRAM: the program of these seeds. WITHOUT is a list of ids, each with a comma before it.
compile() {
  printf '#include "random/%s.hpp"\n#include "random/run.hpp"\n' $check | $prefix "$compiler" "${flags[@]}" "${parsed[@]}" -I "$include/include" -I "$include/tests" -DREGIMEN_RANDOM_FROM="$1" \
    -DREGIMEN_RANDOM_COUNT="$2" -DREGIMEN_RANDOM_WITHOUT="$3" -DREGIMEN_RANDOM_CHECK=check_$check -x c++ - -o "$4" -lz
}
# run_piece FROM COUNT: compiles, runs, and writes down what came of it.
run_piece() {
  local program=$out/seeds_$1_$2 code=0
  if compile "$1" "$2" '' "$program" > "$program.log" 2>&1; then
    $prefix timeout 600 "$program" > "$program.log" 2> "$program.errors" || code=$?
  else
    code=compile
  fi
  if [ "$code" = 0 ]; then
    echo "$1 $2 holds" >> "$out/done"
    rm -f "$program" "$program.log" "$program.errors"
  else
    { echo "seeds $1 to $(($1 + $2 - 1)): code $code"; grep -v ' holds$' "$program.log" | cut -c1-2000; } >> "$out/failed"
    echo "$1 $2 failed ($code)" >> "$out/done"
    rm -f "$program"
  fi
}

case $work in
  status) sort -n "$out/done" 2> /dev/null || true ;;

  seeds)
    [ -n "$from" ] || { echo "--from needs a seed; see --help" >&2; exit 2; }
    touch "$out/done"
    parse
    for ((first = from; first < from + count; first += piece)); do
      size=$((first + piece > from + count ? from + count - first : piece))
      grep -q "^$first $size " "$out/done" && continue
      while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
      run_piece "$first" "$size" &
    done
    wait
    held=0 failed=0
    for ((first = from; first < from + count; first += piece)); do
      size=$((first + piece > from + count ? from + count - first : piece))
      if grep -q "^$first $size holds" "$out/done"; then held=$((held + size)); else failed=$((failed + 1)); fi
    done
    echo "seeds $from to $((from + count - 1)): $held hold, $failed pieces of $piece failed"
    [ "$failed" = 0 ] || { echo "see $out/failed"; exit 1; }
    ;;

  shrink)
    program=$out/shrink_$from without=''
    parse
    # fails WITHOUT: is what is left a program, and does it still fail?
    fails() {
      local code=0
      compile "$from" 1 "$1" "$program" > "$program.log" 2>&1 || return 1
      timeout 600 "$program" > "$program.log" 2> /dev/null || code=$?
      [ "$code" != 0 ] && [ "$code" != 3 ]
    }
    fails '' || { echo "seed $from holds, or does not compile; see $program.log"; exit 0; }
    cat "$program.log"
    ids=$("$program" ids)
    again=yes
    while [ $again = yes ]; do
      again=no
      for id in $ids; do
        case "$without," in *", $id,"*) continue ;; esac
        if fails "$without, $id"; then
          without="$without, $id"
          again=yes
        fi
      done
    done
    fails "$without" || true
    echo "smaller, and still failing (REGIMEN_RANDOM_WITHOUT='$without'):"
    cat "$program.log"
    exit 1
    ;;

  planted)
    # tests/random/planted.txt: a name, what stands once in the library, what is put in its place, and seeds that find it.
    missed=0 name='' old='' new=''
    while IFS= read -r line; do
      case $line in
        name:*) name=${line#name: } ;;
        old:*) old=${line#old: } ;;
        new:*) new=${line#new: } ;;
        seeds:*)
          [ -z "$only" ] || [ "$only" = "$name" ] || continue
          copy=$out/planted/$name
          rm -rf "$copy"
          mkdir -p "$copy"
          cp -r "$root/include" "$root/tests" "$copy/"
          file=$(grep -rlF -- "$old" "$copy/include" || true)
          if [ "$(grep -rhcF -- "$old" "$copy/include" | awk '{ sum += $1 } END { print sum }')" != 1 ]; then
            echo "$name: STALE: what it replaces does not stand in the library once; mend tests/random/planted.txt"
            missed=$((missed + 1))
            continue
          fi
          OLD=$old NEW=$new perl -pi -e 's/\Q$ENV{OLD}\E/$ENV{NEW}/' "$file"
          include=$copy found=no
          for seed in ${line#seeds: }; do
            code=0
            if ! compile "$seed" 1 '' "$copy/program" > "$copy/log" 2>&1; then
              # A plan that does not add up is no constant: found, too.
              if grep -q "constant expression" "$copy/log"; then found=yes; echo "$name: found by seed $seed: its plan is no constant"; break; fi
              head -n 5 "$copy/log"
              continue
            fi
            $prefix timeout 600 "$copy/program" > "$copy/log" 2>&1 || code=$?
            if [ "$code" != 0 ]; then
              found=yes
              echo "$name: found by seed $seed: $(grep -v '^seed\|^  Model\|^  mp_list\|^  neighbour mp_list\|^regimen: Debug' "$copy/log" | head -n 1 | cut -c1-160)"
              break
            fi
          done
          [ $found = yes ] || { echo "$name: MISSED"; missed=$((missed + 1)); }
          rm -rf "$copy"
          ;;
      esac
    done < "$root/tests/random/planted.txt"
    [ $missed = 0 ]
    ;;
esac
