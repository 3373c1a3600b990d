# What compiling costs, as tests. Counts of template instantiations do not depend on the machine; seconds do.
set(compile ${root}/bench/compile)

# Instantiations of each program in this folder, against budget.txt.
file(GLOB programs CONFIGURE_DEPENDS RELATIVE ${compile} ${compile}/*.cpp)
list(REMOVE_ITEM programs reference.cpp trainers.cpp)   # of quickstart.sh and emitted.sh
if("clang-14" IN_LIST compilers)
  set(counter ${program_clang-14})
else()
  set(counter clang++-14)   # not there: the script says so and skips
endif()
foreach(source IN LISTS programs)
  get_filename_component(name ${source} NAME_WE)
  add_stamped_test(compile.${name} "${counter};-std=c++20;${includes}" ${compile}/${source}
    READS ${compile}/budget.sh ${compile}/budget.txt ${compile}/count.sh
    COMMAND sh ${compile}/budget.sh ${counter} ${name} ${includes} COMMAND_EXPAND_LISTS)
  list(APPEND costs compile.${name})
endforeach()

add_custom_target(compile_budget COMMAND sh ${compile}/budget.sh --update ${counter} ${includes} COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "bench/compile/budget.txt, counted anew")

# Depth is free: programs of 12, 96 and 1000 blocks cost the same, under every compiler's default limits. clang 14, which
# counts instantiations, has headers alone: it sees those in the bodies of kernels, too. The others have the library.
foreach(compiler IN LISTS compilers)
  set(options -DREGIMEN_COMPILED=1)
  if(compiler STREQUAL "nvcc")
    list(APPEND options -x cu -arch=compute_90a -code=compute_90a)
  elseif(compiler STREQUAL "clang-14")
    set(options "")
  endif()
  add_stamped_test(compile.depth.${compiler} "${program_${compiler}};-std=c++20;${options};${includes}" ${compile}/depth.cpp
    READS ${compile}/depth.sh ${compile}/count.sh
    COMMAND sh ${compile}/depth.sh ${program_${compiler}} ${compile}/depth.cpp ${options} ${includes} COMMAND_EXPAND_LISTS)
  list(APPEND costs compile.depth.${compiler})
endforeach()

# No kernel of a training step spills registers. (bench/results/registers-sm_90a.md is what this prints for 90a.)
find_program(REGIMEN_PYTHON3 python3)
mark_as_advanced(REGIMEN_PYTHON3)
# A thread has at most 255 registers on each; in a hurry one architecture speaks for all.
if("nvcc" IN_LIST compilers AND REGIMEN_PYTHON3)
  set(architectures 80 90a 100)
  if(REGIMEN_HURRY)
    set(architectures 90a)
  endif()
  foreach(architecture IN LISTS architectures)
    # What registers.py compiles, which is all, for this architecture.
    set(command ${program_nvcc} -std=c++20 -O3 -arch=compute_${architecture} -code=sm_${architecture} "${includes}")
    add_stamped_test(compile.registers.${architecture} "${command}" ${compile}/registers.cu READS ${compile}/registers.py
      COMMAND ${REGIMEN_PYTHON3} ${compile}/registers.py ${program_nvcc} ${architecture} ${includes} COMMAND_EXPAND_LISTS)
    list(APPEND costs compile.registers.${architecture})
  endforeach()
endif()

# The quickstart compiles in 4.2 times the processor time of reference.cpp (17 seconds where that takes 4), and 2 GB.
file(GLOB quickstart ${root}/examples/*gpt.cpp)
add_test(NAME compile.quickstart COMMAND bash ${compile}/quickstart.sh g++ 4.2 2048 "${quickstart}" -I${root}/examples ${includes}
  COMMAND_EXPAND_LISTS)
list(APPEND costs compile.quickstart)

# The README's program, where what it shares with others is compiled once (measured: 0.98), and regimen.hpp in an empty one: 0.33 on an Intel Xeon;
# on an AMD EPYC, whose two cores are threads of one, 0.35, and 0.385 beside other tests, a tenth below the limit.
add_test(NAME compile.quickstart.compiled COMMAND bash ${compile}/quickstart.sh g++ 1.1 2048 ${root}/examples/quickstart.cpp -O1
  -DREGIMEN_COMPILED=1 ${includes} COMMAND_EXPAND_LISTS)
file(CONFIGURE OUTPUT include.cpp CONTENT "#include <regimen/regimen.hpp>\n" @ONLY)
add_test(NAME compile.include COMMAND bash ${compile}/quickstart.sh g++ 0.42 2048 ${CMAKE_CURRENT_BINARY_DIR}/include.cpp -O1
  -DREGIMEN_COMPILED=1 ${includes} COMMAND_EXPAND_LISTS)
list(APPEND costs compile.quickstart.compiled compile.include)
# The README's program on a GPU, with regimen::cuda_compiled (measured: 1.36).
file(READ ${root}/examples/quickstart.cpp on_gpu)
string(REPLACE "Batch<16>," "Batch<16>, Device<Cuda>," on_gpu "#include <regimen/engine/cuda/device.hpp>\n${on_gpu}")
file(CONFIGURE OUTPUT on_gpu.cpp CONTENT "${on_gpu}" @ONLY)
add_test(NAME compile.quickstart.cuda_compiled COMMAND bash ${compile}/quickstart.sh g++ 1.5 2048 ${CMAKE_CURRENT_BINARY_DIR}/on_gpu.cpp -O1
  -DREGIMEN_COMPILED=1 -DREGIMEN_CUDA_COMPILED=900 ${includes} COMMAND_EXPAND_LISTS)
list(APPEND costs compile.quickstart.cuda_compiled)

# One more Trainer in a program emits at most so many functions. (g++ 12 counts 181, 465 and 213.)
add_stamped_test(compile.emitted "g++;-std=c++20;-DREGIMEN_COMPILED=1;${includes}" ${compile}/trainers.cpp READS ${compile}/emitted.sh
  COMMAND sh ${compile}/emitted.sh g++ 187 479 220 ${includes} COMMAND_EXPAND_LISTS)
list(APPEND costs compile.emitted)

# With the library programs of ResNet-50 and Llama compile in 2.2 times lesson 1's time. (Measured: 1.75 to 2.0, and 0.9 to
# 1.0. By headers alone, where kernels take most of each, 1.1 and 0.8: a model's own part would hardly be seen.)
add_test(NAME compile.models COMMAND bash ${compile}/models.sh g++ 2.2 "${quickstart}" "${compile}/resnet.cpp ${compile}/llama.cpp" -O1
  -DREGIMEN_COMPILED=1 -I${root}/examples ${includes}
  COMMAND_EXPAND_LISTS)
list(APPEND costs compile.models)

# Lesson 7, which is lesson 1 on a GPU, with regimen::compiled and its kernels in the file, compiles for sm_90a in 4.4 times that of
# reference.cpp by nvcc, and 3 GB. (Beside other tests it measured 3.8 to 4.1 on an AMD EPYC; by headers alone 5.1 on an Intel Xeon.)
if("nvcc" IN_LIST compilers)
  add_test(NAME compile.quickstart.nvcc COMMAND bash ${compile}/quickstart.sh ${program_nvcc} 4.4 3072 ${root}/examples/07_gpu.cpp
    -DREGIMEN_COMPILED=1 -I${root}/examples ${includes} COMMAND_EXPAND_LISTS)
  list(APPEND costs compile.quickstart.nvcc)
endif()
set_tests_properties(${costs} PROPERTIES LABELS "compilers;compile" COST 60 SKIP_RETURN_CODE 77 TIMEOUT 900)
