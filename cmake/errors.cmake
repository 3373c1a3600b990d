# cmake -DROOT=<source folder> [-DCHECK=ON] -P errors.cmake: docs/errors from tests/misuse, one page for each file.
# With CHECK it writes nothing and fails when a page is missing, stale, or left over.
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)
set(folder ${ROOT}/docs/errors)
set(stale "")

function(settle path text)
  set(old "")
  if(EXISTS ${path})
    file(READ ${path} old)
  endif()
  if(NOT old STREQUAL text)
    if(CHECK)
      set(stale "${stale}  ${path}\n" PARENT_SCOPE)
    else()
      file(WRITE ${path} "${text}")
    endif()
  endif()
endfunction()

# The text between `from` and `to`, or the error that the file is not written as it should be.
function(between out text from to)
  string(FIND "${text}" "${from}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${source}: no '${from}'")
  endif()
  string(LENGTH "${from}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "${to}" end)
  if(end EQUAL -1)
    message(FATAL_ERROR "${source}: no '${to}' after '${from}'")
  endif()
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(GLOB sources RELATIVE ${ROOT}/tests/misuse ${ROOT}/tests/misuse/*.cpp)
set(index "# What the compiler may tell you

Each page is a program that does not compile, what the first line of the error says, and the cure. The pages are made
from [tests/misuse](../../tests/misuse), where every one of them is tested with g++, clang and nvcc.

| page | the sentence |
|---|---|
")
set(pages README.md)
foreach(source IN LISTS sources)
  string(REGEX REPLACE "\\.cpp$" "" name ${source})
  file(READ ${ROOT}/tests/misuse/${source} text)
  if(text MATCHES "\n// compiler: ")         # the language leaves no way to speak
    between(story "${text}" "// " "\n// compiler: ")
    between(words "${text}" "// compiler: " "\n")
    if(words MATCHES "^\\((.*)\\)$")                # a regex of what each compiler says
      string(REPLACE "|" ", or: " words "${CMAKE_MATCH_1}")
    endif()
    set(sentence "(the compiler's own words) ${words}")
  else()
    between(story "${text}" "// " "\n// expect: ")
    between(sentence "${text}" "// expect: " "\n")
    string(PREPEND sentence "regimen: ")
  endif()
  string(REPLACE "\n// " " " story "${story}")
  string(REGEX REPLACE "\\[0-9\\][+*]" "N" sentence "${sentence}")          # a regex, told as a sentence
  string(REGEX REPLACE "\\.[+*]" "…" sentence "${sentence}")
  string(REGEX REPLACE "\\\\(.)" "\\1" sentence "${sentence}")
  between(cure "${text}" "#ifndef REGIMEN_MISUSE\n" "#else\n")
  string(FIND "${text}" "#ifndef REGIMEN_MISUSE\n" at)
  string(SUBSTRING "${text}" ${at} -1 rest)
  between(mistake "${rest}" "#else\n" "#endif")
  set(rule "")
  if(EXISTS ${ROOT}/include/regimen/rule/${name}.hpp)
    set(rule "\nThe rule: [`rule/${name}.hpp`](../../include/regimen/rule/${name}.hpp). ")
  else()
    set(rule "\n")
  endif()
  settle(${folder}/${name}.md "# ${name}

${story}

> ${sentence}

The mistake:

```cpp
${mistake}```

The cure:

```cpp
${cure}```
${rule}The whole program: [`tests/misuse/${source}`](../../tests/misuse/${source}).
")
  list(APPEND pages ${name}.md)
  string(REPLACE "|" "\\|" sentence "${sentence}")
  string(REGEX REPLACE "^regimen: " "" sentence "${sentence}")
  string(APPEND index "| [${name}](${name}.md) | ${sentence} |\n")
endforeach()
settle(${folder}/README.md "${index}")

file(GLOB there RELATIVE ${folder} ${folder}/*.md)
foreach(page IN LISTS there)
  if(NOT page IN_LIST pages)
    if(CHECK)
      string(APPEND stale "  ${folder}/${page} (nothing in tests/misuse stands for it)\n")
    else()
      file(REMOVE ${folder}/${page})
    endif()
  endif()
endforeach()
if(stale)
  message(FATAL_ERROR "not what tests/misuse says:\n${stale}write them anew: cmake -DROOT=. -P cmake/errors.cmake")
endif()
