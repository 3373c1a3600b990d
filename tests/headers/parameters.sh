#!/bin/sh
# parameters.sh FOLDER: no function of the headers there has more than seven parameters. What belongs together is one struct, whose
# members a call names. Counts what is written as clang-format lays out a parameter, `Type name`, so that no expression is one.
found=$(find "$1" -name '*.hpp' -o -name '*.ipp' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' | sort | xargs awk '
function is_parameter(text) {
  sub(/=.*/, "", text)
  return text ~ /^ *(const |unsigned |typename )*[A-Za-z_][A-Za-z0-9_:]*( const)?[&*]*( const)? +[A-Za-z_][A-Za-z0-9_]* *$/
}
function end_of_parameter() { count[depth] += is_parameter(text[depth]); text[depth] = "" }
FNR == 1 { depth = angles[0] = 0; text[0] = "" }
{
  gsub(/\\./, ""); gsub(/"[^"]*"/, ""); sub(/\/\/.*/, "")
  for (i = 1; i <= length($0); ++i) {
    c = substr($0, i, 1)
    if (c ~ /[([{]/) {
      is_list = c == "(" && text[depth] !~ /requires *$/
      if (angles[depth] == 0 && c == "(") text[depth] = text[depth] "()"
      ++depth; opens[depth] = is_list; at[depth] = FNR; count[depth] = angles[depth] = 0; text[depth] = ""
    } else if (c ~ /[])}]/ && depth > 0) {
      end_of_parameter()
      if (opens[depth] && count[depth] > 7) print FILENAME ":" at[depth] ": " count[depth] " parameters"
      --depth
      if (c == "}") text[depth] = ""
    } else if (c == "<") ++angles[depth]
    else if (c == ">" && angles[depth] > 0 && substr($0, i - 1, 1) != "-") --angles[depth]
    else if (c == ";") { text[depth] = ""; angles[depth] = 0 }
    else if (angles[depth] == 0 && c == ",") end_of_parameter()
    else if (angles[depth] == 0) text[depth] = text[depth] c
  }
  if (angles[depth] == 0) text[depth] = text[depth] " "
}')
if [ -n "$found" ]; then
  echo "give a struct to what belongs together; a function has seven parameters at most:"
  echo "$found"
  exit 1
fi
