# SPDX-License-Identifier: Apache-2.0
# The library regimen::NAME of these sources, optimised in every build type. (By nvcc: the host's code; a GPU's is, except
# by -G.)
function(regimen_add_compiled name sources)
  get_target_property(folder regimen::regimen HEADER_DIRS)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/regimen/compiled/${sources})
  add_library(regimen_${name} STATIC EXCLUDE_FROM_ALL ${files})
  add_library(regimen::${name} ALIAS regimen_${name})
  target_compile_options(regimen_${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-O3>
    $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-O3>)
endfunction()

# regimen::compiled: regimen::regimen, and the code that depends on no type of a program, as a library. It is compiled
# once, here, with CMAKE_CXX_FLAGS of this directory, optimised in every build type, and only if something links it. A
# program that was compiled for another processor throws when it makes its first Trainer.
if(NOT TARGET regimen_compiled)
  regimen_add_compiled(compiled *.cpp)
  target_link_libraries(regimen_compiled PUBLIC regimen::regimen)
  target_compile_definitions(regimen_compiled PUBLIC REGIMEN_COMPILED=1)
endif()

# regimen::emulated_compiled: the kernels of Device<Emulated>, for programs with regimen::compiled or without.
if(NOT TARGET regimen_emulated_compiled)
  regimen_add_compiled(emulated_compiled emulated/*.cpp)
  target_link_libraries(regimen_emulated_compiled PUBLIC regimen::regimen)
  target_compile_definitions(regimen_emulated_compiled PUBLIC REGIMEN_EMULATED_COMPILED=1)
endif()

# regimen::cuda_compiled: regimen::compiled, and the kernels of a GPU in fp32, tf32 and bf16 with the calls of CUDA's
# libraries. nvcc compiles it once, for CMAKE_CUDA_ARCHITECTURES. Programs that link it have Device<Cuda> in files that
# any compiler compiles. It exists if the project has the language CUDA.
if(TARGET regimen::cuda AND CMAKE_CUDA_COMPILER_LOADED AND NOT TARGET regimen_cuda_compiled)
  regimen_add_compiled(cuda_compiled cuda/*.cu)
  target_link_libraries(regimen_cuda_compiled PUBLIC regimen::compiled regimen::cuda)
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
