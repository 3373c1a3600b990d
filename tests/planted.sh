#!/usr/bin/env bash
# Puts each defect of tests/planted.txt into a copy of the library, and runs the cases of a test that must find it.
#
#   tests/planted.sh [--only NAME] [--compiler C] [--out DIR]
#
#   --compiler C    g++ by default
#   --out DIR       where copies and programs lie: build/planted
#
# Ends with 1 when one was missed, or does not stand in the library once.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
only='' compiler=${CXX:-g++} out=$root/build/planted
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=${2:?}; shift 2 ;;
    --compiler) compiler=${2:?}; shift 2 ;;
    --out) out=${2:?}; shift 2 ;;
    --help | -h) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit ;;
    *) echo "unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
flags=(-std=c++20 -O0 -fopenmp "-DREGIMEN_RECORDED=\"$root/tests/recorded\"" -I "$root/tests")
"$compiler" "${flags[@]}" -c "$root/tests/support/main.cpp" -o "$out/main.o"

# compile INCLUDE TEST PROGRAM
compile() { "$compiler" "${flags[@]}" -I "$1" "$root/tests/$2.cpp" "$out/main.o" -o "$3" -lz -lpthread; }

missed=0 name='' old='' new=''
while IFS= read -r line; do
  case $line in
    name:*) name=${line#name: } ;;
    old:*) old=${line#old:} old=${old# } ;;
    new:*) new=${line#new:} new=${new# } ;;
    test:*)
      [ -z "$only" ] || [ "$only" = "$name" ] || continue
      read -r test cases <<< "${line#test: }"
      copy=$out/$name
      rm -rf "$copy"
      mkdir -p "$copy"
      cp -r "$root/include" "$copy/"
      file=$(grep -rlF -- "$old" "$copy/include" || true)
      if [ "$(grep -rhcF -- "$old" "$copy/include" | awk '{ sum += $1 } END { print sum }')" != 1 ]; then
        echo "$name: STALE: what it replaces does not stand in the library once; mend tests/planted.txt"
        missed=$((missed + 1))
        continue
      fi
      OLD=$old NEW=$new perl -pi -e 's/\Q$ENV{OLD}\E/$ENV{NEW}/' "$file"
      if ! compile "$copy/include" "$test" "$copy/program" > "$copy/log" 2>&1; then
        echo "$name: DOES NOT COMPILE: $(grep -m 1 error "$copy/log")"
        missed=$((missed + 1))
      elif timeout 120 "$copy/program" "$cases" > "$copy/log" 2>&1; then
        echo "$name: MISSED"
        missed=$((missed + 1))
      else
        echo "$name: found: $(grep -m 1 -A 1 FAILED "$copy/log" | tail -n 1 | cut -c1-160)"
      fi
      rm -rf "$copy"
      ;;
  esac
done < "$root/tests/planted.txt"
[ $missed = 0 ]
