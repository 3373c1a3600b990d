# SPDX-License-Identifier: Apache-2.0
# regimen::compiled: regimen::regimen, and the code that depends on no type of a program, as a library. It is compiled
# once, here, with CMAKE_CXX_FLAGS of this directory, optimised in every build type, and only if something links it. A
# program that was compiled for another processor throws when it makes its first Trainer.
if(NOT TARGET regimen_compiled)
  get_target_property(regimen_folder regimen::regimen HEADER_DIRS)
  file(GLOB regimen_sources CONFIGURE_DEPENDS ${regimen_folder}/regimen/compiled/*.cpp)
  add_library(regimen_compiled STATIC EXCLUDE_FROM_ALL ${regimen_sources})
  add_library(regimen::compiled ALIAS regimen_compiled)
  target_link_libraries(regimen_compiled PUBLIC regimen::regimen)
  target_compile_definitions(regimen_compiled PUBLIC REGIMEN_COMPILED=1)
  target_compile_options(regimen_compiled PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O3>)
endif()

# regimen::emulated_compiled: the kernels of Device<Emulated>, for programs with regimen::compiled or without.
if(NOT TARGET regimen_emulated_compiled)
  file(GLOB regimen_sources CONFIGURE_DEPENDS ${regimen_folder}/regimen/compiled/emulated/*.cpp)
  add_library(regimen_emulated_compiled STATIC EXCLUDE_FROM_ALL ${regimen_sources})
  add_library(regimen::emulated_compiled ALIAS regimen_emulated_compiled)
  target_link_libraries(regimen_emulated_compiled PUBLIC regimen::regimen)
  target_compile_definitions(regimen_emulated_compiled PUBLIC REGIMEN_EMULATED_COMPILED=1)
  target_compile_options(regimen_emulated_compiled PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O3>)
endif()

# regimen::cuda_compiled: regimen::compiled, and the kernels of a GPU in fp32, tf32 and bf16 with the calls of CUDA's
# libraries. nvcc compiles it once, for CMAKE_CUDA_ARCHITECTURES. Programs that link it have Device<Cuda> in files that
# any compiler compiles. It exists if the project has the language CUDA.
if(TARGET regimen::cuda AND CMAKE_CUDA_COMPILER_LOADED AND NOT TARGET regimen_cuda_compiled)
  get_target_property(regimen_folder regimen::regimen HEADER_DIRS)
  file(GLOB regimen_sources CONFIGURE_DEPENDS ${regimen_folder}/regimen/compiled/cuda/*.cu)
  add_library(regimen_cuda_compiled STATIC EXCLUDE_FROM_ALL ${regimen_sources})
  add_library(regimen::cuda_compiled ALIAS regimen_cuda_compiled)
  target_link_libraries(regimen_cuda_compiled PUBLIC regimen::compiled regimen::cuda)
  # The host's code; a GPU's is optimised except by -G.
  target_compile_options(regimen_cuda_compiled PRIVATE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-O3>)
  # The least architecture, 800 for sm_80, which the rules about a GPU's element types ask; 0: not known.
  string(REGEX MATCHALL "[0-9]+" regimen_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  set(regimen_least 0)
  foreach(regimen_architecture IN LISTS regimen_architectures)
    if(regimen_least EQUAL 0 OR regimen_architecture LESS regimen_least)
      set(regimen_least ${regimen_architecture})
    endif()
  endforeach()
  math(EXPR regimen_least "${regimen_least} * 10")
  target_compile_definitions(regimen_cuda_compiled PUBLIC REGIMEN_CUDA_COMPILED=${regimen_least})
endif()
