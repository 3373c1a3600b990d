# Everything that Regimen stands on, each with its reason. The build includes this file, and so does the installed
# package: a consumer gets the same decisions. Defines regimen::dependencies, which the library brings, and the
# components, each where its library is found. A program links the components that it uses:
#
#   regimen::images       files of images (regimen/data/image_folder.hpp)         libjpeg-turbo, libpng, or one of them
#   regimen::json         lines of JSON (regimen/data/json_lines.hpp)             nlohmann-json
#   regimen::tokenizers   texts as tokens (regimen/data/tokenizer.hpp)            PCRE2, nlohmann-json
#   regimen::mpi          ranks that are MPI processes (regimen/comm/mpi.hpp)     MPI
#   regimen::cuda         a GPU (regimen/engine/cuda/device.hpp)                  CUDA, cuBLASLt, cuDNN if it is there
#   regimen::nccl         ranks with a GPU each (Communicator<Nccl>)              NCCL
#
#   REGIMEN_CBLAS, REGIMEN_ONEDNN, REGIMEN_MPI   AUTO: use it if it is there; ON: fail without it; OFF: do without
#   REGIMEN_CUDA, REGIMEN_CUDNN, REGIMEN_NCCL    likewise
#   REGIMEN_JPEG, REGIMEN_PNG, REGIMEN_JSON, REGIMEN_PCRE2   likewise
#   REGIMEN_CUDA_PACKAGES                        folders `nvidia` of PyTorch's packages, searched after the toolkit
#   REGIMEN_CUDA_ARCHITECTURES                   of our own builds; a proposal for CMAKE_CUDA_ARCHITECTURES of others
include(CheckCXXSourceCompiles)

foreach(choice IN ITEMS CBLAS ONEDNN JPEG PNG JSON PCRE2 MPI CUDA CUDNN NCCL)
  if(NOT DEFINED REGIMEN_${choice})
    set(REGIMEN_${choice} AUTO CACHE STRING "AUTO, ON or OFF")
    set_property(CACHE REGIMEN_${choice} PROPERTY STRINGS AUTO ON OFF)
  endif()
  if(NOT REGIMEN_${choice} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "REGIMEN_${choice} is '${REGIMEN_${choice}}'; choose AUTO, ON or OFF")
  endif()
endforeach()

if(TARGET regimen::dependencies)
  return()   # a second find_package(regimen) in the same program
endif()
set(regimen_links)
set(regimen_includes)
set(regimen_defines)

# Imported targets must be visible where a program links regimen, which may be a folder above this one.
set(regimen_keep_global ${CMAKE_FIND_PACKAGE_TARGETS_GLOBAL})
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)   # Boost by its own configuration file
endif()

# What cannot be done without stops the configuration; inside an installed package it makes find_package fail politely.
macro(regimen_need package)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "regimen")
    find_package(${package} ${ARGN} QUIET)
    if(NOT ${package}_FOUND)
      set(regimen_FOUND FALSE)
      set(regimen_NOT_FOUND_MESSAGE "regimen needs ${package}")
      return()
    endif()
  else()
    find_package(${package} ${ARGN} REQUIRED)
  endif()
endmacro()

# `choice` is on and the thing is not there: an error. It is on AUTO: a note. Otherwise silence.
macro(regimen_missing choice sentence)
  if(REGIMEN_${choice} STREQUAL "ON")
    if(CMAKE_FIND_PACKAGE_NAME STREQUAL "regimen")
      set(regimen_FOUND FALSE)
      set(regimen_NOT_FOUND_MESSAGE "${sentence}")
      return()
    endif()
    message(FATAL_ERROR "regimen: ${sentence}")
  elseif(NOT regimen_FIND_QUIETLY)
    message(STATUS "regimen: ${sentence}")
  endif()
endmacro()

# ---- always ----------------------------------------------------------------------------------------------------------
regimen_need(Boost 1.74)            # Mp11, headers only: packs of policies are sorted, searched and checked with it
regimen_need(Threads)               # loops on all cores, the loader's workers
regimen_need(ZLIB)                  # data/idx.hpp reads MNIST as it is published, gzipped
list(APPEND regimen_links Boost::headers Threads::Threads ZLIB::ZLIB ${CMAKE_DL_LIBS})

# ---- CBLAS: fp32 and fp64 products -----------------------------------------------------------------------------------
set(REGIMEN_HAS_CBLAS OFF)
set(regimen_blas_name OFF)
if(NOT REGIMEN_CBLAS STREQUAL "OFF")
  find_package(BLAS QUIET)
  find_path(REGIMEN_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas openblas-pthread cblas)
  mark_as_advanced(REGIMEN_CBLAS_INCLUDE)
  if(BLAS_FOUND AND REGIMEN_CBLAS_INCLUDE)
    set(CMAKE_REQUIRED_LIBRARIES BLAS::BLAS)
    set(CMAKE_REQUIRED_INCLUDES ${REGIMEN_CBLAS_INCLUDE})
    check_cxx_source_compiles("#include <cblas.h>
int main() {
  float x = 1, y = 0;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &y, 1);
  return y == 1 ? 0 : 1;
}" REGIMEN_CBLAS_LINKS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_INCLUDES)
  endif()
  if(BLAS_FOUND AND REGIMEN_CBLAS_INCLUDE AND REGIMEN_CBLAS_LINKS)
    set(REGIMEN_HAS_CBLAS ON)
    set(regimen_blas_name ON)
    list(APPEND regimen_links BLAS::BLAS)
    list(APPEND regimen_includes ${REGIMEN_CBLAS_INCLUDE})
    list(APPEND regimen_defines REGIMEN_HAS_CBLAS=1)
    # Which library it is, and whether it is fast, is asked again each time that a program starts:
    # regimen/engine/cpu/blas.hpp.
    get_filename_component(regimen_blas_header "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
    if(NOT EXISTS "${regimen_blas_header}/regimen/engine/cpu/blas.hpp")
      get_filename_component(regimen_blas_header "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)   # installed: lib/cmake/regimen
    endif()
    if(NOT CMAKE_CROSSCOMPILING)
      try_run(regimen_blas_is_slow regimen_blas_compiles ${CMAKE_BINARY_DIR}/regimen_blas ${CMAKE_CURRENT_LIST_DIR}/blas_name.cpp
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${regimen_blas_header};${REGIMEN_CBLAS_INCLUDE}"
        LINK_LIBRARIES BLAS::BLAS ${CMAKE_DL_LIBS} CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON RUN_OUTPUT_VARIABLE regimen_blas_said)
      if(regimen_blas_compiles AND regimen_blas_said)
        string(STRIP "${regimen_blas_said}" regimen_blas_name)
        if(regimen_blas_is_slow)
          if(NOT regimen_FIND_QUIETLY)
            message(STATUS "regimen: the BLAS here is ${regimen_blas_name}, not known to be fast: programs use it only if another is loaded in its place; install libopenblas-openmp-dev")
          endif()
          set(regimen_blas_name "${regimen_blas_name}, not used")
        endif()
      endif()
    endif()
  else()
    regimen_missing(CBLAS "no CBLAS found: products use the portable packed path; install libopenblas-openmp-dev")
  endif()
endif()

# ---- oneDNN: fp32 products on the processors where it is the fastest -----------------------------------------------
# Not by find_package(dnnl): Debian's configuration file demands OpenCL.
set(REGIMEN_HAS_ONEDNN OFF)
if(NOT REGIMEN_ONEDNN STREQUAL "OFF")
  find_path(REGIMEN_ONEDNN_INCLUDE oneapi/dnnl/dnnl.h)
  find_library(REGIMEN_ONEDNN_LIBRARY dnnl)
  mark_as_advanced(REGIMEN_ONEDNN_INCLUDE REGIMEN_ONEDNN_LIBRARY)
  if(REGIMEN_ONEDNN_INCLUDE AND REGIMEN_ONEDNN_LIBRARY)
    set(REGIMEN_HAS_ONEDNN ON)
    list(APPEND regimen_links ${REGIMEN_ONEDNN_LIBRARY})
    list(APPEND regimen_includes ${REGIMEN_ONEDNN_INCLUDE})
    list(APPEND regimen_defines REGIMEN_HAS_ONEDNN=1)
  else()
    regimen_missing(ONEDNN "no oneDNN found: fp32 products on Intel's processors are slower than they could be; install libdnnl-dev")
  endif()
endif()

# ---- libjpeg-turbo and libpng: files of images (regimen/data/image_folder.hpp) ---------------------------------------
# A program that was built without one says so when it opens an image of that kind.
macro(regimen_images choice target name package)
  set(REGIMEN_HAS_${choice} OFF)
  if(NOT REGIMEN_${choice} STREQUAL "OFF")
    find_package(${choice} QUIET)
    if(${choice}_FOUND AND TARGET ${target})
      set(REGIMEN_HAS_${choice} ON)
      if(NOT TARGET regimen::images)
        add_library(regimen::images INTERFACE IMPORTED GLOBAL)
      endif()
      target_link_libraries(regimen::images INTERFACE ${target})
      target_compile_definitions(regimen::images INTERFACE REGIMEN_HAS_${choice}=1)
    else()
      regimen_missing(${choice} "no ${name} found: ${choice} images cannot be read; install ${package}")
    endif()
  endif()
endmacro()
regimen_images(JPEG JPEG::JPEG libjpeg-turbo libjpeg-dev)
regimen_images(PNG PNG::PNG libpng libpng-dev)

# ---- nlohmann-json: JSON of any kind. Readers of weights do without: it costs a program two seconds of compile time
set(REGIMEN_HAS_JSON OFF)
if(NOT REGIMEN_JSON STREQUAL "OFF")
  find_package(nlohmann_json 3.9 QUIET)
  if(nlohmann_json_FOUND)
    set(REGIMEN_HAS_JSON ON)
    add_library(regimen::json INTERFACE IMPORTED GLOBAL)
    target_link_libraries(regimen::json INTERFACE nlohmann_json::nlohmann_json)
  else()
    regimen_missing(JSON "no nlohmann-json 3.9 or later found: no lines of JSON and no tokenizers; install nlohmann-json3-dev")
  endif()
endif()

# ---- PCRE2: patterns with Unicode's classes, which cut text into words for data/tokenizer.hpp ------------------------
# 10.40 is the first that knows White_Space and the names of scripts. Not by find_package: Debian has no configuration
# file.
set(REGIMEN_HAS_PCRE2 OFF)
if(NOT REGIMEN_PCRE2 STREQUAL "OFF")
  find_path(REGIMEN_PCRE2_INCLUDE pcre2.h)
  find_library(REGIMEN_PCRE2_LIBRARY pcre2-8)
  mark_as_advanced(REGIMEN_PCRE2_INCLUDE REGIMEN_PCRE2_LIBRARY)
  set(regimen_pcre2_version 0)
  if(REGIMEN_PCRE2_INCLUDE AND REGIMEN_PCRE2_LIBRARY)
    file(STRINGS ${REGIMEN_PCRE2_INCLUDE}/pcre2.h regimen_pcre2_lines REGEX "^#define PCRE2_(MAJOR|MINOR) ")
    string(REGEX REPLACE "^.*MAJOR +([0-9]+).*MINOR +([0-9]+).*$" "\\1.\\2" regimen_pcre2_version "${regimen_pcre2_lines}")
  endif()
  if(regimen_pcre2_version VERSION_GREATER_EQUAL 10.40)
    set(REGIMEN_HAS_PCRE2 ON)
    if(REGIMEN_HAS_JSON)
      add_library(regimen::tokenizers INTERFACE IMPORTED GLOBAL)
      target_link_libraries(regimen::tokenizers INTERFACE ${REGIMEN_PCRE2_LIBRARY} regimen::json)
      target_include_directories(regimen::tokenizers INTERFACE ${REGIMEN_PCRE2_INCLUDE})
      target_compile_definitions(regimen::tokenizers INTERFACE REGIMEN_HAS_PCRE2=1)
    endif()
  else()
    regimen_missing(PCRE2 "no PCRE2 10.40 or later found: no tokenizers (data/tokenizer.hpp); install libpcre2-dev")
  endif()
endif()

# ---- MPI: ranks that are processes. A target of its own, as programs of one rank must not need it to start -----------
# Used by its C interface alone: the C++ one is gone since MPI 3.
set(REGIMEN_HAS_MPI OFF)
if(NOT REGIMEN_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(REGIMEN_HAS_MPI ON)
    add_library(regimen::mpi INTERFACE IMPORTED GLOBAL)
    target_link_libraries(regimen::mpi INTERFACE MPI::MPI_CXX)
    target_compile_definitions(regimen::mpi INTERFACE REGIMEN_HAS_MPI=1)
  else()
    regimen_missing(MPI "no MPI found: ranks are threads, or processes over TCP; install libopenmpi-dev")
  endif()
endif()

# ---- CUDA: the runtime, cuBLASLt, and cuDNN for attention and convolutions -------------------------------------------
# A target of its own: programs for a CPU need none of it. The libraries come from the toolkit, or from the packages
# that PyTorch installs (without a plain `.so`).
set(REGIMEN_HAS_CUDA OFF)
set(REGIMEN_HAS_CUDNN OFF)
set(REGIMEN_HAS_NCCL OFF)
if(NOT REGIMEN_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12.8 QUIET)   # the first with sm_100
  macro(regimen_cuda_library variable header library package)
    find_path(REGIMEN_${variable}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} ${REGIMEN_CUDA_PACKAGES}
      PATH_SUFFIXES cu13/include ${package}/include)
    find_library(REGIMEN_${variable}_LIBRARY NAMES ${library} ${ARGN} HINTS ${CUDAToolkit_LIBRARY_DIR} ${REGIMEN_CUDA_PACKAGES}
      PATH_SUFFIXES cu13/lib ${package}/lib)
    mark_as_advanced(REGIMEN_${variable}_INCLUDE REGIMEN_${variable}_LIBRARY)
  endmacro()
  macro(regimen_brings target variable)   # a library that was found; sets REGIMEN_HAS_<variable> here and in programs
    set(REGIMEN_HAS_${variable} ON)
    target_link_libraries(${target} INTERFACE ${REGIMEN_${variable}_LIBRARY})
    target_include_directories(${target} INTERFACE ${REGIMEN_${variable}_INCLUDE})
    target_compile_definitions(${target} INTERFACE REGIMEN_HAS_${variable}=1)
  endmacro()
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static)
    regimen_cuda_library(CUBLASLT cublasLt.h cublasLt cublas libcublasLt.so.13 libcublasLt.so.12)
  endif()
  if(REGIMEN_CUBLASLT_INCLUDE AND REGIMEN_CUBLASLT_LIBRARY)
    set(REGIMEN_HAS_CUDA ON)
    add_library(regimen::cuda INTERFACE IMPORTED GLOBAL)
    target_link_libraries(regimen::cuda INTERFACE ${REGIMEN_CUBLASLT_LIBRARY} CUDA::cudart_static)
    target_include_directories(regimen::cuda INTERFACE ${REGIMEN_CUBLASLT_INCLUDE})
    target_compile_definitions(regimen::cuda INTERFACE REGIMEN_HAS_CUDA=1)
    # The language level, which CMake 3.25 cannot ask of nvcc. A target with CUDA_STANDARD has its own.
    target_compile_options(regimen::cuda INTERFACE
      $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CUDA_STANDARD>>>>:-std=c++20>)
    if(NOT REGIMEN_CUDNN STREQUAL "OFF")
      regimen_cuda_library(CUDNN cudnn.h cudnn cudnn libcudnn.so.9)
      if(REGIMEN_CUDNN_INCLUDE AND REGIMEN_CUDNN_LIBRARY)
        regimen_brings(regimen::cuda CUDNN)
      else()
        regimen_missing(CUDNN "no cuDNN 9 found: attention on a GPU is composed of products and kernels, and convolutions are kernels; set REGIMEN_CUDA_PACKAGES to PyTorch's folder nvidia, which has it")
      endif()
    endif()
    # A target of its own, as programs of one rank must not need it to start.
    if(NOT REGIMEN_NCCL STREQUAL "OFF")
      regimen_cuda_library(NCCL nccl.h nccl nccl libnccl.so.2)
      if(REGIMEN_NCCL_INCLUDE AND REGIMEN_NCCL_LIBRARY)
        add_library(regimen::nccl INTERFACE IMPORTED GLOBAL)
        target_link_libraries(regimen::nccl INTERFACE regimen::cuda)
        regimen_brings(regimen::nccl NCCL)
      else()
        regimen_missing(NCCL "no NCCL found: one rank on a GPU; set REGIMEN_CUDA_PACKAGES to PyTorch's folder nvidia, which has it")
      endif()
    endif()
    # Ampere, Hopper with its own instructions, Blackwell (whose PTX later ones compile), and the devices of this
    # machine.
    if(NOT DEFINED REGIMEN_CUDA_ARCHITECTURES)
      set(REGIMEN_CUDA_ARCHITECTURES 80-real 90a-real 100)
      find_program(REGIMEN_NVIDIA_SMI nvidia-smi)
      mark_as_advanced(REGIMEN_NVIDIA_SMI)
      if(REGIMEN_NVIDIA_SMI)
        execute_process(COMMAND ${REGIMEN_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
          OUTPUT_VARIABLE regimen_devices ERROR_QUIET RESULT_VARIABLE regimen_no_devices)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]" regimen_devices "${regimen_devices}")
        string(REPLACE "." "" regimen_devices "${regimen_devices}")
        if(NOT regimen_no_devices)
          list(TRANSFORM regimen_devices APPEND -real)
          list(APPEND REGIMEN_CUDA_ARCHITECTURES ${regimen_devices})
          list(REMOVE_ITEM REGIMEN_CUDA_ARCHITECTURES 90-real 100-real)   # what is listed above
          list(REMOVE_DUPLICATES REGIMEN_CUDA_ARCHITECTURES)
        endif()
      endif()
      set(REGIMEN_CUDA_ARCHITECTURES ${REGIMEN_CUDA_ARCHITECTURES} CACHE STRING "GPUs for which our own programs are compiled")
    endif()
  elseif(CUDAToolkit_FOUND)
    regimen_missing(CUDA "no cuBLASLt found: no Device<Cuda>; set REGIMEN_CUDA_PACKAGES to PyTorch's folder nvidia, which has it")
  else()
    regimen_missing(CUDA "no CUDA toolkit 12.8 or later found: no Device<Cuda>; its engine is tested on Device<Emulated>")
  endif()
endif()

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ${regimen_keep_global})
add_library(regimen::dependencies INTERFACE IMPORTED GLOBAL)
target_link_libraries(regimen::dependencies INTERFACE ${regimen_links})
target_include_directories(regimen::dependencies INTERFACE ${regimen_includes})
target_compile_definitions(regimen::dependencies INTERFACE ${regimen_defines})
if(NOT regimen_FIND_QUIETLY)
  message(STATUS "regimen: CBLAS ${regimen_blas_name}, oneDNN ${REGIMEN_HAS_ONEDNN}, JPEG ${REGIMEN_HAS_JPEG}, PNG ${REGIMEN_HAS_PNG}, JSON ${REGIMEN_HAS_JSON}, PCRE2 ${REGIMEN_HAS_PCRE2}, MPI ${REGIMEN_HAS_MPI}, CUDA ${REGIMEN_HAS_CUDA}, cuDNN ${REGIMEN_HAS_CUDNN}, NCCL ${REGIMEN_HAS_NCCL}")
endif()
