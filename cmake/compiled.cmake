# SPDX-License-Identifier: Apache-2.0
# regimen::compiled: regimen::regimen, and whatever depends on no type of a program's as a library that is compiled once, here, with CMAKE_CXX_FLAGS of
# this directory, and optimised in every build type. Built when something links it. A program that was compiled for another processor throws when it
# makes its first Trainer.
if(NOT TARGET regimen_compiled)
  get_target_property(regimen_folder regimen::regimen HEADER_DIRS)
  file(GLOB regimen_sources CONFIGURE_DEPENDS ${regimen_folder}/regimen/compiled/*.cpp)
  add_library(regimen_compiled STATIC EXCLUDE_FROM_ALL ${regimen_sources})
  add_library(regimen::compiled ALIAS regimen_compiled)
  target_link_libraries(regimen_compiled PUBLIC regimen::regimen)
  # nvcc compiles what it includes: its host code has other flags.
  target_compile_definitions(regimen_compiled PUBLIC $<$<COMPILE_LANGUAGE:CXX>:REGIMEN_COMPILED=1>)
  target_compile_options(regimen_compiled PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O3>)
endif()
