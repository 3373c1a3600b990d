#!/bin/sh
# budget.sh COMPILER NAME FLAGS...: fails when NAME.cpp needs more than 3 % more instantiations than budget.txt allows.
# budget.sh --update COMPILER FLAGS...: writes budget.txt anew. (cmake --build build/release --target compile_budget)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
update=no
if [ "$1" = --update ]; then update=yes; shift; fi
compiler=$1
shift
if ! command -v "$compiler" > /dev/null; then
  echo "no $compiler here: instantiations are not counted"
  exit 77
fi

# Another compiler or standard library counts differently.
yardstick="clang $("$compiler" -dumpversion | cut -d. -f1), libstdc++ $(printf '#include <cstddef>\n_GLIBCXX_RELEASE\n' | "$compiler" -x c++ -E -P - | tail -n 1)"

if [ $update = yes ]; then
  {
    echo "# Template instantiations of the programs in this folder, at -O0 without the optional libraries. +3 % fails a test."
    echo "# $yardstick"
    for source in "$here"/*.cpp; do
      case $(basename "$source") in reference.cpp | trainers.cpp) continue ;; esac   # of quickstart.sh and emitted.sh
      counted=$(sh "$here/count.sh" "$compiler" "$source" "$@")
      echo "$(basename "$source" .cpp) ${counted% *}"
    done
  } > "$here/budget.txt.new"
  mv "$here/budget.txt.new" "$here/budget.txt"
  cat "$here/budget.txt"
  exit 0
fi

name=$1
shift
if ! grep -qx "# $yardstick" "$here/budget.txt"; then
  echo "budget.txt was not counted with $yardstick: nothing to compare with"
  exit 77
fi
budget=$(sed -n "s/^$name //p" "$here/budget.txt")
counted=$(sh "$here/count.sh" "$compiler" "$here/$name.cpp" "$@")
count=${counted% *}
if [ -z "$budget" ]; then
  echo "$name: $count instantiations, and no budget; write one with: cmake --build build/release --target compile_budget"
  exit 1
fi
echo "$name: $count instantiations, the budget is $budget"
if [ "$count" -eq 0 ]; then
  echo "nothing was counted: the trace is not what this script reads"
  exit 1
fi
if [ $((count * 100)) -gt $((budget * 103)) ]; then
  echo "more than 3 % over: find the cause, or say in the commit why it is worth it and update budget.txt"
  exit 1
fi
if [ $((count * 100)) -lt $((budget * 97)) ]; then
  echo "more than 3 % under: well done; update budget.txt, so that it stays so"
fi
