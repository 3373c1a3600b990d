#!/bin/bash
# quoted.sh ROOT: docs/update_rules.md shows the rule of tests/support/lars.hpp as it is.
set -eu
shown() { awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1/docs/update_rules.md"; }
compiled() { sed -n '/^\/\/ docs: begin$/,/^\/\/ docs: end$/p' "$1/tests/support/lars.hpp" | sed '1d;$d'; }
diff -u <(compiled "$1") <(shown "$1")
[ -n "$(shown "$1")" ]
