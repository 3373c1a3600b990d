#!/bin/sh
# depth.sh COMPILER SOURCE FLAGS...: SOURCE with -DDEPTH=12, 96 and 1000 must not differ by 5 % in object size, nor, where
# the compiler can count them, in template instantiations.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
compiler=$1 source=$2
shift 2
if [ ! -e "$source" ]; then
  echo "no $source yet"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# nvcc takes as long as all others together: it compiles the shallowest and the deepest.
depths="12 96 1000"
case $compiler in *nvcc*) depths="12 1000" ;; esac
for depth in $depths; do
  case $compiler in
    *nvcc*)
      "$compiler" -std=c++20 -Xcicc -O0 --no-compress "$@" -DDEPTH=$depth -c "$source" -o "$work/it.o"
      echo "0 $(wc -c < "$work/it.o")" ;;
    *clang*) sh "$here/count.sh" "$compiler" "$source" "$@" -DDEPTH=$depth ;;
    *)
      "$compiler" -std=c++20 -O0 "$@" -DDEPTH=$depth -c "$source" -o "$work/it.o"
      echo "0 $(wc -c < "$work/it.o")" ;;
  esac > "$work/line"
  echo "$depth $(cat "$work/line")" >> "$work/table"
done
awk '
  { printf "depth %4d: %d instantiations, object of %d bytes\n", $1, $2, $3
    if (NR == 1 || $2 < few) few = $2;  if ($2 > many) many = $2
    if (NR == 1 || $3 < little) little = $3;  if ($3 > much) much = $3 }
  END { if (many > few * 1.05 || much > little * 1.05 || NR < 2 || little == 0) { print "depth costs 5 % or more"; exit 1 } }
' "$work/table"
