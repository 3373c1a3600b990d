# regimen::kernels: regimen::regimen, and the kernels of engine/cpu/compiled.hpp, with the JSON of saved files, as a library that is compiled once, here, with
# CMAKE_CXX_FLAGS and the build type of this directory. Built when something links it. A program that was compiled for another
# processor throws when it makes its first Trainer.
if(NOT TARGET regimen_kernels)
  get_target_property(regimen_folder regimen::regimen INTERFACE_INCLUDE_DIRECTORIES)
  if(TARGET regimen)
    set(regimen_folder ${CMAKE_CURRENT_LIST_DIR}/../include)
  endif()
  list(GET regimen_folder 0 regimen_folder)
  add_library(regimen_kernels STATIC EXCLUDE_FROM_ALL ${regimen_folder}/regimen/kernels.cpp)
  add_library(regimen::kernels ALIAS regimen_kernels)
  target_link_libraries(regimen_kernels PUBLIC regimen::regimen)
  target_compile_definitions(regimen_kernels PUBLIC REGIMEN_HAS_KERNELS=1)
endif()
