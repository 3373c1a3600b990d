# cmake -DROOT=<source folder> -P kernel_flags.cmake: kernel_flags in engine/cpu/compiled.hpp, or host_flags in
# core/compiled.hpp, has every macro of the compiler's flags that the CPU engine's headers read. Otherwise a program could
# call kernels of regimen::compiled that were compiled for another processor.
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

# The system and the compiler, which are one for all files of a program; and what every processor of the family has.
set(of_no_flag __x86_64__ __i386__ __aarch64__ __linux__ __CUDACC__ __SSE2__)
list(APPEND of_no_flag __AVX__)                       # asked for only where registers have 32 bytes, that is with AVX2
list(APPEND of_no_flag REGIMEN_COMPILED)               # is how a program asks for them

set(asks "^ *# *(if|elif|ifdef|ifndef) ")
file(STRINGS ${ROOT}/include/regimen/engine/cpu/compiled.hpp lines REGEX "${asks}")
file(STRINGS ${ROOT}/include/regimen/core/compiled.hpp host_lines REGEX "${asks}")
string(APPEND lines "${host_lines}")
string(REGEX MATCHALL "__[A-Z0-9_]+__|__ARM_[A-Z_]+|REGIMEN_HAS_[A-Z]+" flags "${lines}")

file(GLOB headers RELATIVE ${ROOT}/include/regimen ${ROOT}/include/regimen/engine/cpu/*.hpp ${ROOT}/include/regimen/engine/cpu/*.ipp)
list(REMOVE_ITEM headers engine/cpu/compiled.hpp)
set(missing "")
foreach(header IN LISTS headers)
  file(STRINGS ${ROOT}/include/regimen/${header} lines REGEX "${asks}")
  string(REGEX MATCHALL "__[A-Za-z0-9_]+__|__ARM_[A-Z_]+|REGIMEN_HAS_[A-Z]+" macros "${lines}")
  list(REMOVE_DUPLICATES macros)
  foreach(macro IN LISTS macros)
    if(NOT macro IN_LIST flags AND NOT macro IN_LIST of_no_flag)
      string(APPEND missing "  ${header}: ${macro}\n")
    endif()
  endforeach()
endforeach()
if(NOT missing STREQUAL "")
  message(FATAL_ERROR "kernels depend on macros that kernel_flags in engine/cpu/compiled.hpp does not have:\n${missing}")
endif()
