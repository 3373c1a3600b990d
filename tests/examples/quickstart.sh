#!/bin/bash
# quickstart.sh PROGRAM: the README's program says how it is used, and ends with an error's words where it cannot go on.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ends() {  # CODE WORDS ARGUMENTS...
  local code=0 expected=$1 words=$2
  shift 2
  "$program" "$@" > "$work/said" 2>&1 < /dev/null || code=$?
  if [ $code -ne "$expected" ] || [ "$(wc -l < "$work/said")" -ne 1 ] || ! grep -qF -- "$words" "$work/said"; then
    echo "quickstart $*: expected exit code $expected and one line with '$words', found $code and:"
    cat "$work/said"
    exit 1
  fi
}
ends 2 "usage: quickstart"
ends 2 "usage: quickstart" one two
ends 0 "usage: quickstart" --help
ends 1 "/nowhere/text: expected" /nowhere/text
printf 'short' > "$work/short"
ends 1 "$work/short" "$work/short"
