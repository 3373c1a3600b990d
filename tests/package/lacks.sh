#!/bin/sh
# lacks.sh COMPILER FLAGS... FILE: who links regimen::compiled reads no body of a kernel; a kernel that it lacks is refused
# by one sentence, and compiled by who includes the bodies.
set -eu
says() { "$@" 2>&1 || true; }
bodies='engine/cpu/|/immintrin\.h$'
declared='engine/cpu/(compiled|device|engine|machine|memory|step|traits)\.hpp$'
all=$("$@" -M -MT all 2>/dev/null | tr ' ' '\n')
printf '%s\n' "$all" | grep -q 'engine/cpu/compiled.hpp$' || { echo "it does not include the list, either"; exit 1; }
read=$(printf '%s\n' "$all" | grep -E "$bodies" | grep -vE "$declared" || true)
[ -z "$read" ] || { echo "it reads $read"; exit 1; }
said=$(says "$@")
errors=$(printf '%s\n' "$said" | grep -c 'error: ' || true)
sentence='regimen: regimen::compiled lacks the kernel of this operation; include <regimen/engine/cpu/kernels.hpp>'
printf '%s\n' "$said" | grep 'error: ' | grep -qF "$sentence" && [ "$errors" = 1 ] ||
  { echo "$errors errors, where one must say: $sentence"; printf '%s\n' "$said"; exit 1; }
printf '%s\n' "$said" | grep -q 'Averaged' || { echo "it does not name the operation"; printf '%s\n' "$said"; exit 1; }
"$@" -DREGIMEN_CURE
