#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel's argument is as large on the device as on the host: its size stands in the kernel's name as C++ knows it, and in PTX
# beside the parameter as nvcc lays it out. usage: layouts.sh PROGRAM, whose PTX is not compressed. Exit code 77: it has none.
set -uo pipefail
strings -n 4 "$1" | awk '
  /^\.entry |^\.visible \.entry |^\.weak \.entry / { name = $0; sub(/\(.*/, "", name); sub(/.* /, "", name) }
  /^\.param .*_param_0\[[0-9]+\]/ && name != "" {
    found = $0; sub(/.*_param_0\[/, "", found); sub(/\].*/, "", found)
    if (match(name, /Lm[0-9]+EEEvT_$/)) {
      size = substr(name, RSTART + 2); sub(/E.*/, "", size); ++kernels
      if (size != found) { print name ": expected a parameter of " size " bytes, found " found; ++wrong }
    }
    name = ""
  }
  END {
    if (kernels == 0) { print "no PTX of kernels here"; exit 77 }
    print kernels " kernels, " wrong + 0 " with another layout on the device"
    if (wrong > 0) { print "does an aggregate end with an empty [[no_unique_address]] member? Put it before another"; exit 1 }
  }'
