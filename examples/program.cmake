# The target regimen_program: the code that lessons and benchmarks share, compiled once. Both include this file; without
# CLI11 there is no such target, and there are no lessons and benchmarks.
include_guard(GLOBAL)
find_package(CLI11 QUIET)                      # examples/program.cpp: the command line. The library itself does not use it.
if(NOT CLI11_FOUND)
  message(STATUS "regimen: no CLI11 found, so no examples and no benchmarks; install libcli11-dev")
  return()
endif()
add_library(regimen_program STATIC ${CMAKE_CURRENT_LIST_DIR}/program.cpp)
target_include_directories(regimen_program PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(regimen_program PUBLIC regimen::compiled $<TARGET_NAME_IF_EXISTS:regimen::images> $<TARGET_NAME_IF_EXISTS:regimen::json>
  $<TARGET_NAME_IF_EXISTS:regimen::tokenizers> PRIVATE regimen_warnings CLI11::CLI11)
if(REGIMEN_HURRY)
  target_compile_options(regimen_program PRIVATE -O0)
endif()
