// One component, by its own header, in a program that links no other: ALONE_JSON, ALONE_IMAGES, ...
#if defined(ALONE_JSON)
#include <regimen/data/json_lines.hpp>
#elif defined(ALONE_IMAGES)
#include <regimen/data/image_folder.hpp>
#elif defined(ALONE_TOKENIZERS)
#include <regimen/data/tokenizer.hpp>
#elif defined(ALONE_MPI)
#include <regimen/comm/mpi.hpp>
#elif defined(ALONE_NCCL)
#include <regimen/engine/cuda/nccl.cuh>
#endif

#include <regimen/core/error.hpp>

#include <cstdio>
#include <cstring>

#if !defined(ALONE_JSON) && !defined(ALONE_TOKENIZERS) && defined(NLOHMANN_JSON_VERSION_MAJOR)
#error "nlohmann-json: a header or a macro of another component is here"
#endif
#if !defined(ALONE_TOKENIZERS) && (defined(REGIMEN_HAS_PCRE2) || defined(PCRE2_MAJOR))
#error "PCRE2: a header or a macro of another component is here"
#endif
#if !defined(ALONE_IMAGES) && (defined(REGIMEN_HAS_JPEG) || defined(REGIMEN_HAS_PNG) || defined(JPEG_LIB_VERSION))
#error "libraries of images: a header or a macro of another component is here"
#endif
#if !defined(ALONE_MPI) && (defined(REGIMEN_HAS_MPI) || defined(MPI_VERSION))
#error "MPI: a header or a macro of another component is here"
#endif
#if !defined(ALONE_NCCL) && (defined(REGIMEN_HAS_CUDA) || defined(REGIMEN_HAS_NCCL) || defined(CUDART_VERSION))
#error "CUDA: a header or a macro of another component is here"
#endif

/// Links whatever the component calls. On a machine without GPUs, and without mpirun, it ends before these are needed.
void use([[maybe_unused]] int argc) {
  [[maybe_unused]] const char* const file = "no such file";
#if defined(ALONE_JSON)
  const regimen::data::JsonLines<int> lines(file, {"stars"});
#elif defined(ALONE_IMAGES)
  const regimen::data::ImageFolder images(file);
#elif defined(ALONE_TOKENIZERS)
  const regimen::data::Tokenizer tokenizer(file);
#elif defined(ALONE_MPI)
  if (argc > 1) const regimen::comm::Mpi ranks;
  throw regimen::Error(file, "MPI", "no mpirun");
#elif defined(ALONE_NCCL)
  if (argc > 1) regimen::cuda::nccl::make_id();
  throw regimen::Error(file, "NCCL", "no GPU");
#endif
}

int main(int argc, char**) {
  try {
    use(argc);
  } catch (const regimen::Error& error) {
    if (std::strstr(error.what(), "no such file") != nullptr) return 0;
    std::puts(error.what());
  }
  return 1;
}
