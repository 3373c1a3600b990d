# cmake -DROOT=<source folder> -P kernel_flags.cmake: every macro of the compiler's flags that the CPU engine's headers
# ask for is in a list: of objects that several files know (sanitizers, _GLIBCXX_*), in host_flags of
# core/compiled.hpp; any other, by which kernels differ, in kernel_flags of engine/cpu/flags.hpp.
# Otherwise a program could call kernels of regimen::compiled that were compiled for another processor.
cmake_policy(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)
set(include ${ROOT}/include/regimen)

# The system and the compiler, which are one for all files of a program; and what every processor of the family has.
set(of_no_flag __x86_64__ __i386__ __aarch64__ __linux__ __CUDACC__ __SSE2__)
list(APPEND of_no_flag __AVX__)                       # asked for only where registers have 32 bytes, that is with AVX2
list(APPEND of_no_flag REGIMEN_COMPILED)               # is how a program asks for them

# The macros that the conditions of a file name.
function(read_macros result file)
  file(READ ${file} text)
  string(REPLACE "\\\n" " " text "${text}")            # a condition may have several lines
  string(REGEX MATCHALL "\n *# *(if|elif|ifdef|ifndef) [^\n]*" conditions "${text}")
  string(REGEX MATCHALL "__[A-Za-z0-9_]+__|__ARM_[A-Z_]+|_GLIBCXX_[A-Z_]+|REGIMEN_HAS_[A-Z]+" macros "${conditions}")
  list(REMOVE_DUPLICATES macros)
  set(${result} "${macros}" PARENT_SCOPE)
endfunction()

read_macros(kernel_flags ${include}/engine/cpu/flags.hpp)
read_macros(host_flags ${include}/core/compiled.hpp)
file(GLOB headers RELATIVE ${include} ${include}/engine/cpu/*.hpp ${include}/engine/cpu/*.ipp)
list(REMOVE_ITEM headers engine/cpu/flags.hpp)
set(missing "")
foreach(header IN LISTS headers)
  read_macros(macros ${include}/${header})
  foreach(macro IN LISTS macros)
    set(list kernel_flags)
    set(file engine/cpu/flags.hpp)
    if(macro MATCHES "^(__SANITIZE_|_GLIBCXX_)")
      set(list host_flags)
      set(file core/compiled.hpp)
    endif()
    if(NOT macro IN_LIST ${list} AND NOT macro IN_LIST of_no_flag)
      string(APPEND missing "  ${header}: ${macro}, which is not in ${list} of ${file}\n")
    endif()
  endforeach()
endforeach()
if(NOT missing STREQUAL "")
  message(FATAL_ERROR "the CPU engine depends on macros that no list has:\n${missing}")
endif()
