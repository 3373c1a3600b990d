#!/usr/bin/env bash
# stamped.sh STAMPED COMPILER: a test of tests/stamped.sh, which must read again what has changed, or has not held, and nothing else.
set -euo pipefail
stamped=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '#define HOLDS true\nstatic_assert(HOLDS, "one");\n' > it.hpp
printf '#include "it.hpp"\n' > it.cpp
echo expected > it.txt
read_it() { bash "$stamped" "$work/stamps" "$work/it.txt" "$compiler|-std=c++20|-fsyntax-only|$work/it.cpp" "$compiler" -fsyntax-only "$@" "$work/it.cpp"; }
failed=0
expect() {   # WHAT IT SAYS, AND ITS STATUS; WHY; OPTIONS
  local expected=$1 why=$2 said status=0
  shift 2
  said=$(read_it "$@" 2> /dev/null) || status=$?
  [ "$said$status" = "$expected" ] || { echo "$why: '$said', $status; not '$expected'"; failed=1; }
}
skipped="unchanged since it last held: not read again0"
expect 0 "the first time"
expect "$skipped" "nothing has changed"
expect 0 "another option of the command" -DOPTION
sed 's/one/two/' it.hpp > it.new && mv it.new it.hpp
expect 0 "another word in a header"
expect "$skipped" "nothing has changed since"
printf '// a line\n' | cat - it.hpp > it.new && mv it.new it.hpp
expect 0 "other numbers of lines"
printf '// other\n' > it.new && sed 1d it.hpp >> it.new && mv it.new it.hpp
expect "$skipped" "a comment of a header"
echo '// a comment' >> it.cpp
expect 0 "a comment of the source, which may say what is expected"
echo another > it.txt
expect 0 "a file that judges"
sed 's/true/false/' it.hpp > it.new && mv it.new it.hpp
expect 1 "a macro: it holds no longer"
expect 1 "what has not held has no stamp"
sed 's/false/true/' it.hpp > it.new && mv it.new it.hpp
expect "$skipped" "as it was when it held"
rm it.hpp
expect 1 "what cannot be preprocessed"
exit $failed
