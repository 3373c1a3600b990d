#!/bin/sh
# chains.sh FOLDER: the headers of FOLDER in chains, a line each, so that one compilation shows of several headers that each compiles alone.
# In a chain each header includes all before it: so nothing stands before its text that it does not include by itself. Only what is included
# whatever the macros are counts. (A chain costs what its last header costs, and there are 2.5 times fewer chains than headers.)
set -eu
cd "$1"
find . -name '*.hpp' | sed 's|^\./||' | LC_ALL=C sort | xargs awk '
  FNR == 1 { depth = 0; headers[++count] = FILENAME; is_left[FILENAME] = 1 }
  /^[ \t]*#[ \t]*if/ { ++depth }
  /^[ \t]*#[ \t]*endif/ { --depth }
  depth == 0 && /^#include <.*\.hpp>/ { split($2, parts, /[<>]/); includes[FILENAME] = includes[FILENAME] " " parts[2] }
  function reach(header,   i, of, names) {   # fills reached[header, all that it includes]
    if (header in size) return
    size[header] = 1
    reached[header, header]
    split(includes[header], names, " ")
    for (i = 1; i in names; ++i) {
      if (!(names[i] in is_left)) continue
      reach(names[i])
      for (of = 1; of <= count; ++of)
        if ((names[i], headers[of]) in reached && !((header, headers[of]) in reached)) {
          reached[header, headers[of]]
          ++size[header]
        }
    }
  }
  function largest(under,   i, best) {   # of the headers that are left, and that `under` includes
    best = ""
    for (i = 1; i <= count; ++i)
      if (headers[i] in is_left && (under == "" || (under, headers[i]) in reached) && (best == "" || size[headers[i]] > size[best])) best = headers[i]
    return best
  }
  END {
    for (i = 1; i <= count; ++i) reach(headers[i])
    while ((header = largest("")) != "") {
      chain = ""
      for (; header != ""; header = largest(header)) {
        chain = header (chain == "" ? "" : " " chain)
        delete is_left[header]
      }
      print chain
    }
  }'
