# cmake -DROOT=<source folder> -P rooms.cmake: each folder of include/regimen includes those alone that stand behind it here.
# docs/architecture.md says what the folders are. An arrow that is missing here is missing for a reason: ask before you add one.
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

set(core       "")
set(comm       core)
set(policy     core comm)          # comm: Communicator names what a communicator is
set(loss       core policy)
set(optimizer  core)
set(layer      core)
set(data       core rule)          # rule: a source that writes other samples is told so
set(walk       core comm engine layer)
set(rule       core policy layer data)
set(kernel     core)
set(engine     core comm kernel policy)   # policy: the header that brings an engine says for which Device
set(program    core engine layer loss optimizer policy rule walk)
set(verdict    core engine layer loss policy program rule walk)
set(state      comm core data layer)
set(train      core comm data engine loss optimizer policy program rule state verdict)
set(models     core layer rule state)
# Of engines, whoever is not one knows the concept and the plan, which knows what the kernels of each need: Device picks another, and its
# header brings it.
set(engines_for_all engine/engine.hpp engine/plan/engine.hpp engine/plan/devices.hpp)

file(GLOB_RECURSE headers RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/*.hpp)
set(wrong "")
foreach(header IN LISTS headers)
  if(NOT header MATCHES "^([a-z]+)/")
    continue()                     # regimen.hpp includes everything
  endif()
  set(room ${CMAKE_MATCH_1})
  if(NOT DEFINED ${room})
    string(APPEND wrong "  ${header}: a folder that cmake/rooms.cmake does not know\n")
    continue()
  endif()
  file(STRINGS ${ROOT}/include/regimen/${header} lines REGEX "^ *#[ ]*include <regimen/[a-z]+/")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "<regimen/(([a-z]+)/[^>]*)>" found "${line}")
    set(file ${CMAKE_MATCH_1})
    set(other ${CMAKE_MATCH_2})
    if(NOT other STREQUAL room AND NOT other IN_LIST ${room})
      string(APPEND wrong "  ${header} includes ${file}: ${room} knows nothing of ${other}\n")
    elseif(other STREQUAL "engine" AND NOT room STREQUAL "engine" AND NOT file IN_LIST engines_for_all)
      string(APPEND wrong "  ${header} includes ${file}: an engine is named by Device alone\n")
    endif()
  endforeach()
endforeach()
if(NOT wrong STREQUAL "")
  message(FATAL_ERROR "headers that include what their folder does not know:\n${wrong}"
    "move what they need to where both may read it, or the header to where it belongs")
endif()
