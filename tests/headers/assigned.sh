#!/bin/sh
# assigned.sh FOLDER: in the headers there no braces with named members are assigned without their type. nvcc 13 drops the names in a
# template, so that a value goes to the next member, whatever its name was: `x = {.last = 1}` sets the first. `x = T{.last = 1}` is right.
found=$(grep -rnE '(^|[;{(]) *\*?[a-z_][][a-z_0-9.]*(\+\+)? = \{\.' "$1" --include='*.hpp' --include='*.ipp' --include='*.cuh' | grep -vE ':[0-9]+: *//')
if [ -n "$found" ]; then
  echo "write the type before the braces, x = T{.member = ...}:"
  echo "$found"
  exit 1
fi
