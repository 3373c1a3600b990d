#!/bin/bash
# quoted.sh ROOT: what the documentation quotes stands in the programs that the tests compile, line for line.
# docs/update_rules.md shows the rule of tests/support/lars.hpp; docs/extending.md, docs/inference.md, docs/names.md,
# docs/tune.md and docs/data_service.md name a file before each block.
set -eu
shown() { awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1/docs/update_rules.md"; }
compiled() { sed -n '/^\/\/ docs: begin$/,/^\/\/ docs: end$/p' "$1/tests/support/lars.hpp" | sed '1d;$d'; }
diff -u <(compiled "$1") <(shown "$1")
[ -n "$(shown "$1")" ]

for page in data_service extending inference names tune; do
awk -v root="$1" -v page="docs/$page.md" '
  function text_of(path,    text, line) {
    while ((getline line < path) > 0) text = text line "\n"
    close(path)
    return text
  }
  /^<!-- .* -->$/ { file = $2; next }
  /^```cpp$/ { inside = 1; block = ""; first = NR + 1; next }
  /^```$/ && inside {
    inside = 0
    if (file == "") { print page ":" first ": no file is named before this block"; wrong = 1 }
    else if (index("\n" text_of(root "/" file), "\n" block) == 0) {
      print page ":" first ": " file " has other lines; quote it again"
      wrong = 1
    }
    ++blocks
    file = ""
    next
  }
  inside { block = block $0 "\n" }
  END {
    if (blocks == 0) { print page ": no block of code was found"; wrong = 1 }
    exit wrong
  }' "$1/docs/$page.md"
done
