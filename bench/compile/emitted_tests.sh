#!/bin/sh
# emitted_tests.sh COMPILER WITH OBJECT...: fails when a file of tests/train makes the compiler emit more functions than emitted_tests.txt allows.
# emitted_tests.sh --update COMPILER WITH OBJECT...: writes that anew. (cmake --build build/clang --target emitted_tests)
#
# The objects are those that the tests are linked from: sixteen files in one, each in a namespace of its own (of_NAME), or one file. A function belongs
# to the file whose namespace its name contains; to nobody, and is counted as `nobody`, if it is of the library's types alone. WITH: what the
# counts depend on beside the compiler and the processor's registers, the optional libraries.
# A file without an object is not judged: a machine that is too slow leaves programs out. A budget without a file fails.
# A file may emit 3 % more than its budget, as instantiations may in budget.txt, or 20: at -O0 nothing is inlined, so that a count is the same
# in every build, and a change of what all files share adds some functions to each; a Trainer more is some 200.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
files=$(cd "$here/../../tests/train" && echo *.cpp)
table=$here/emitted_tests.txt
update=no
if [ "$1" = --update ]; then update=yes; shift; fi
compiler=$1 with=$2
shift 2
yardstick="clang $("$compiler" -dumpversion | cut -d. -f1), libstdc++ $(printf '#include <cstddef>\n_GLIBCXX_RELEASE\n' | "$compiler" -x c++ -E -P - | tail -n 1), $with, registers of$("$compiler" -march=native -dM -E -x c++ /dev/null |
  sed -n 's/^#define __\(AVX2\|AVX512F\|AMX_BF16\)__ 1$/ \1/p' | LC_ALL=C sort | tr -d '\n')"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for object in "$@"; do
  whole=$(echo "$object" | sed -n 's/.*test_train_\(.*\)\.dir\/\(\.\/\)*train\/.*/\1/p')   # of one file
  nm --defined-only "$object" | awk -v whole="$whole" -v files="$files" '
    BEGIN { n = split(files, names, / /); for (i = 1; i <= n; ++i) { sub(/\.cpp$/, "", names[i]); known["of_" names[i]] = names[i] } }
    $2 ~ /^[TtW]$/ {
      owner = whole; rest = $3
      while (owner == "" && match(rest, /[0-9]+of_[a-z]/)) {
        rest = substr(rest, RSTART); length_ = rest + 0
        sub(/^[0-9]+/, "", rest)
        if (substr(rest, 1, length_) in known) owner = known[substr(rest, 1, length_)]
      }
      ++count[owner == "" ? "nobody" : owner]
    }
    END { for (name in count) print name, count[name] }'
done | awk '{ count[$1] += $2 } END { for (name in count) print name, count[name] }' | LC_ALL=C sort > "$work/counted"

if [ $update = yes ]; then
  {
    echo "# Functions that each file of tests/train makes a compiler emit, with types of its own, at -O0. +3 %, or 20, fails a test."
    echo "# $yardstick"
    cat "$work/counted"
  } > "$table.new"
  mv "$table.new" "$table"
  cat "$table"
  exit 0
fi
if ! grep -qx "# $yardstick" "$table"; then
  echo "emitted_tests.txt was not counted with $yardstick: nothing to compare with"
  exit 77
fi
awk -v names="nobody $files" '
  BEGIN { n = split(names, list, / /); for (i = 1; i <= n; ++i) { sub(/\.cpp$/, "", list[i]); is_there[list[i]] = 1 } }
  NR == FNR { if (!/^#/) budget[$1] = $2; next }
  { counted++; all += $2; seen[$1] = 1 }
  $1 == "nobody" && !($1 in budget) { next }
  !($1 in budget) { print $1 ": " $2 " functions, and no budget"; failed = 1; next }
  { limit = budget[$1] * 1.03; if (limit < budget[$1] + 20) limit = budget[$1] + 20 }
  $2 > limit { print $1 ": " $2 " functions, the budget is " budget[$1]; failed = 1 }
  $2 < budget[$1] * 0.97 - 20 { praise = praise $1 ": " $2 " functions, of " budget[$1] ": well done; update the budget, so that it stays so\n" }
  END {
    for (name in budget) {
      if (!(name in is_there)) { print name ": a budget, and no such file"; failed = 1 }
      else if (!(name in seen)) { print name ": not compiled here, and not counted"; praise = "" }   # the functions of nobody are fewer then
    }
    printf "%s", praise
    if (counted < 2) { print "nothing was counted"; failed = 1 }
    print counted - 1 " files, " all " functions"
    if (failed) print "find the cause, or say in the commit why it is worth it: cmake --build build/clang --target emitted_tests"
    exit failed
  }' "$table" "$work/counted"
