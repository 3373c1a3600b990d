# cmake -DROOT=<source folder> [-DCHECK=ON] -P errors.cmake: docs/errors from tests/misuse, a page for each file, a
# heading for each mistake. With CHECK it writes nothing and fails when a page is missing, stale, or left over, or a
# header or page names an error that is not there.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/mistakes.cmake)
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

# The text between `from` and `to`, or the error that the section is not written as it should be.
function(between out text from to)
  string(FIND "${text}" "${from}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${source}, ${name}: no '${from}'")
  endif()
  string(LENGTH "${from}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "${to}" end)
  if(end EQUAL -1)
    message(FATAL_ERROR "${source}, ${name}: no '${to}' after '${from}'")
  endif()
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# header_of_NAME: the header of the rule NAME.
file(GLOB_RECURSE headers RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/*.hpp)
foreach(header IN LISTS headers)
  file(READ ${ROOT}/include/regimen/${header} text)
  if(text MATCHES "struct must_hold {")
    string(REGEX MATCHALL "\nstruct [a-z0-9_]+" rules "${text}")
    foreach(rule IN LISTS rules)
      string(REGEX REPLACE "\nstruct " "" rule "${rule}")
      set(header_of_${rule} ${header})
    endforeach()
  endif()
endforeach()

file(GLOB sources RELATIVE ${ROOT}/tests/misuse ${ROOT}/tests/misuse/*.cpp)
set(index "# What the compiler may tell you

Each heading of these pages is a program that does not compile, what the first line of the error says, and the cure. The pages are made
from [tests/misuse](../../tests/misuse), where every one of them is tested with g++, clang and nvcc.

| error | the sentence |
|---|---|
")
set(pages README.md)
set(known errors/README.md)
foreach(source IN LISTS sources)
  string(REGEX REPLACE "\\.cpp$" "" subject ${source})
  read_mistakes(${ROOT}/tests/misuse/${source})
  set(name "its first line")
  between(title "${head}" "// " ".\n")
  set(page "# ${title}

Programs that do not compile, what is said to each, and the cure; from [`tests/misuse/${source}`](../../tests/misuse/${source}),
which has what they include. [All errors](README.md).
")
  foreach(name IN LISTS mistakes)
    set(text "${text_${name}}")
    if(text MATCHES "\n// compiler: ")         # the language leaves no way to speak
      between(story "${text}" "\n// " "\n// compiler: ")
      between(words "${text}" "// compiler: " "\n")
      if(words MATCHES "^\\((.*)\\)$")                # a regex of what each compiler says
        string(REPLACE "|" ", or: " words "${CMAKE_MATCH_1}")
      endif()
      set(sentence "(the compiler's own words) ${words}")
    else()
      between(story "${text}" "\n// " "\n// expect: ")
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
    if(DEFINED header_of_${name})
      set(rule "\nThe rule: [`${header_of_${name}}`](../../include/regimen/${header_of_${name}}).\n")
    endif()
    string(APPEND page "
## ${name}

${story}

> ${sentence}

The mistake:

```cpp
${mistake}```

The cure:

```cpp
${cure}```
${rule}")
    string(REPLACE "|" "\\|" sentence "${sentence}")
    string(REGEX REPLACE "^regimen: " "" sentence "${sentence}")
    list(APPEND known "errors/${subject}.md#${name}")
    string(APPEND index "| [${name}](${subject}.md#${name}) | ${sentence} |\n")
  endforeach()
  settle(${folder}/${subject}.md "${page}")
  list(APPEND pages ${subject}.md)
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
file(GLOB_RECURSE readers ${ROOT}/include/regimen/*.hpp ${ROOT}/include/regimen/*.cuh)
file(GLOB pages_of_docs ${ROOT}/README.md ${ROOT}/CONTRIBUTING.md ${ROOT}/docs/*.md ${ROOT}/docs/why/*.md)
foreach(reader IN LISTS readers pages_of_docs)
  file(READ ${reader} text)
  string(REGEX MATCHALL "errors/[A-Za-z0-9_]+\\.md(#[a-z0-9_]+)?" links "${text}")
  foreach(link IN LISTS links)
    if(NOT link IN_LIST known)
      string(APPEND stale "  ${reader}: no ${link}\n")
    endif()
  endforeach()
endforeach()
if(stale)
  message(FATAL_ERROR "not what tests/misuse says:\n${stale}write them anew: cmake -DROOT=. -P cmake/errors.cmake")
endif()
