# cmake -DROOT=<source folder> -P sources.cmake: calls that the library's headers must not make, since one place makes
# them for all, or since they depend on the user's locale; and includes that a file of bodies must not repeat from its
# header.
#
#   pattern   a regular expression; comments are not searched
#   allowed   the headers that may; none: "-"
#   cure      what a header writes in its place
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

set(rules 0)
macro(forbid pattern allowed cure)
  set(pattern_${rules} "${pattern}")
  set(allowed_${rules} ${allowed})
  set(cure_${rules} "${cure}")
  math(EXPR rules "${rules} + 1")
endmacro()

# Files are opened for reading by one function, which refuses pipes and devices and tells an error from the end.
set(open "open_file, read_to_end or MappedFile (core/file.hpp, core/mapped_file.hpp)")
forbid("[^a-z_](fopen|freopen|fdopen|gzopen|openat|ifstream|fstream|filebuf) *[(]|std::(basic_)?(if|f)stream|std::filebuf|# *include <fstream>" "-" "${open}")
forbid("::open *[(][^;]*O_RDONLY" "core/file.hpp;core/atomic_file.hpp;tune/process.hpp" "${open}")   # a folder to sync; /dev/null
forbid("::(opendir|readdir) *[(]|directory_iterator" "core/file.hpp;data/image_folder.hpp" "detail::names_in (core/file.hpp)")
forbid("gzdopen" "data/idx.hpp" "${open}")

# Numbers in texts do not depend on the locale: a decimal comma is no JSON, and another number when it is read again.
forbid("printf *[(][^;]*%[-+ #0-9.*]*l?[aefgAEFG]" "core/printed.hpp" "detail::printed (core/printed.hpp)")
forbid("[^a-z_](strto(d|f|ld)|sto(d|f|ld)|atof|[a-z]*scanf) *[(]" "-" "std::from_chars, which knows no locale")
forbid("json::parse *[(]" "data/json_lines.hpp;data/tokenizer/read_json.hpp" "core/json.hpp, or detail::LocaleC around it (core/printed.hpp)")
forbid("# *include <(sstream|iostream|ostream|istream|iomanip|strstream)>|std::(o|i)?(stringstream|stream)|std::c(out|err|log|in)[^a-z_]" "-" "strings, std::to_chars and std::from_chars, which know no locale")
forbid("setlocale *[(]|uselocale *[(]|std::locale" "core/printed.hpp" "nothing: the locale is the program's")
forbid("[^a-z_](isalpha|isdigit|isspace|isalnum|isprint|isupper|islower|ispunct|tolower|toupper|strcoll|strftime) *[(]|std::regex" "-" "comparisons of characters, which know no locale")

file(GLOB_RECURSE headers RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/*.hpp ${ROOT}/include/regimen/*.ipp ${ROOT}/include/regimen/*.cuh)
set(wrong "")
math(EXPR last "${rules} - 1")
foreach(header IN LISTS headers)
  file(READ ${ROOT}/include/regimen/${header} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  foreach(rule RANGE ${last})
    string(REGEX REPLACE "\\.ipp$" ".hpp" declared ${header})   # bodies may what their header may
    if(text MATCHES "${pattern_${rule}}" AND NOT declared IN_LIST allowed_${rule})
      string(STRIP "${CMAKE_MATCH_0}" found)
      string(APPEND wrong "  ${header}: \"${found}\"; write ${cure_${rule}}\n")
    endif()
  endforeach()
endforeach()
if(NOT wrong STREQUAL "")
  message(FATAL_ERROR "what these headers call, one place does for all of them:\n${wrong}")
endif()

# What a header includes, its bodies do not include again.
foreach(body IN LISTS headers)
  string(REGEX REPLACE "\\.ipp$" ".hpp" declared ${body})
  if(declared STREQUAL body OR NOT declared IN_LIST headers)
    continue()
  endif()
  file(STRINGS ${ROOT}/include/regimen/${body} included REGEX "^# *include <")
  file(STRINGS ${ROOT}/include/regimen/${declared} known REGEX "^# *include <")
  foreach(line IN LISTS included)
    if(line IN_LIST known)
      string(APPEND wrong "  ${body}: ${line}\n")
    endif()
  endforeach()
endforeach()
if(NOT wrong STREQUAL "")
  message(FATAL_ERROR "their headers include these already; leave them out:\n${wrong}")
endif()
