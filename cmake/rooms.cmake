# cmake -DROOT=<source folder> -P rooms.cmake: checks that each folder of include/regimen includes only the folders
# listed after it here, and that the table in docs/architecture.md says the same. Each missing arrow is missing for a
# reason: ask before you add one.
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

set(core       "")
set(comm       core)
set(policy     core comm)          # comm: policy/communicator.hpp names the communicators
set(loss       core policy)
set(optimizer  core)
set(layer      core)
set(data       core)
set(service    comm core data)
set(walk       core comm engine layer)
set(kernel     core)
set(engine     core comm kernel policy)   # policy: an engine's header names the Device that selects it
set(programs   core engine layer loss optimizer policy walk)
set(rule       core engine layer loss policy programs walk)
set(saves    comm core data layer)
set(trainers   core comm data engine loss optimizer policy programs rule saves)
set(models     core layer saves)
set(watch      comm core programs saves trainers)
set(tune       comm core data saves trainers watch)   # comm: how a forked process computes
set(compiled   comm core data engine kernel optimizer programs saves trainers watch)  # the sources of a library
# Other folders include only these headers of engine/: the concept, and the plan. A Device selects an engine; the user
# includes its header.
set(engines_for_all engine/engine.hpp engine/plan/engine.hpp engine/plan/devices.hpp)

file(GLOB_RECURSE headers RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/*.hpp ${ROOT}/include/regimen/*.ipp
  ${ROOT}/include/regimen/*.cuh ${ROOT}/include/regimen/*.cpp ${ROOT}/include/regimen/*.cu)
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
    elseif(other STREQUAL "engine" AND NOT room MATCHES "^(engine|compiled)$" AND NOT file IN_LIST engines_for_all)
      string(APPEND wrong "  ${header} includes ${file}: an engine is named by Device alone\n")
    endif()
  endforeach()
endforeach()
# The table: | `folder/` | holds | knows of |
file(STRINGS ${ROOT}/docs/architecture.md lines REGEX "^\\| `[a-z]+/` \\|")
set(in_table "")
set(drifted "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^\\| `([a-z]+)/` .*\\| ([a-z, ]+) \\|$" found "${line}")
  set(room "${CMAKE_MATCH_1}")
  string(REPLACE ", " ";" written "${CMAKE_MATCH_2}")
  if(written STREQUAL "nothing")
    set(written "")
  endif()
  list(APPEND in_table ${room})
  set(listed ${${room}})
  list(SORT written)
  list(SORT listed)
  if(NOT "${written}" STREQUAL "${listed}")
    list(JOIN ${room} ", " right)
    string(APPEND drifted "  ${room}: ${right}\n")
  endif()
endforeach()
file(GLOB folders RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/*/)
foreach(room IN LISTS folders)
  if(IS_DIRECTORY ${ROOT}/include/regimen/${room} AND NOT room IN_LIST in_table)
    string(APPEND drifted "  ${room} is missing\n")
  endif()
endforeach()
if(NOT drifted STREQUAL "")
  message(FATAL_ERROR "the table in docs/architecture.md must say\n${drifted}")
endif()

if(NOT wrong STREQUAL "")
  message(FATAL_ERROR "headers that include what their folder does not know:\n${wrong}"
    "move what they need to where both may read it, or the header to where it belongs")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/signposts.cmake)   # the comments that lead from policies to their effects
