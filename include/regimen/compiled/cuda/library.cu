// regimen/compiled/cuda/library.cu — of regimen::cuda_compiled: CUDA, cuBLASLt and cuDNN for files that include no header of theirs.
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/compiled.hpp>
#include <regimen/engine/cuda/library.cuh>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace regimen::cuda {

struct LibraryProduct {
  Library::Product made;
};
struct LibraryAttention {
  Library::Attention made;
};
struct LibraryConvolution {
  Library::Convolution made;
};

CompiledLibrary::CompiledLibrary(const char* version, bool cudnn)
    : library_(nullptr, [](Library* library) { delete library; }) {
  const auto text = [](const std::string& of, bool has) { return of + (has ? ", with cuDNN" : ", without cuDNN"); };
  if (std::string(version) != library_version || cudnn != cuda::has_cudnn)
    throw Error("regimen::cuda_compiled", "a library for " + text(version, cudnn) + ", as the program",
                text(library_version, cuda::has_cudnn), "compile both with the same headers and dependencies");
  library_.reset(new Library());
}
CompiledLibrary::~CompiledLibrary() = default;

std::size_t CompiledLibrary::unused_memory() { return Library::unused_memory(); }
std::byte* CompiledLibrary::allocate(std::size_t bytes, const char* name) { return library_->allocate(bytes, name); }
std::byte* CompiledLibrary::allocate_pinned(std::size_t bytes, const char* name) {
  return library_->allocate_pinned(bytes, name);
}

CompiledLibrary::Stream CompiledLibrary::make_stream() { return library_->make_stream(); }
CompiledLibrary::Event CompiledLibrary::make_event() { return library_->make_event(); }
CompiledLibrary::Event CompiledLibrary::make_lasting_event() { return library_->make_lasting_event(); }
void CompiledLibrary::record(Event event, Stream stream) { library_->record(event, stream); }
void CompiledLibrary::wait(Stream stream, Event event) { library_->wait(stream, event); }
void CompiledLibrary::synchronize(Event event) { library_->synchronize(event); }
bool CompiledLibrary::is_done(Event event) { return library_->is_done(event); }

void CompiledLibrary::upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  library_->upload(to, from, bytes, stream);
}
void CompiledLibrary::download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  library_->download(to, from, bytes, stream);
}
void CompiledLibrary::fill(std::byte* at, int byte, std::size_t bytes, Stream stream) {
  library_->fill(at, byte, bytes, stream);
}
void CompiledLibrary::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  library_->copy(to, from, bytes, stream);
}
void CompiledLibrary::prepare_entry(const void* entry, Grid grid, const char* name) {
  library_->prepare_entry(entry, grid, name);
}
void CompiledLibrary::launch_entry(const void* entry, void* kernel, Grid grid, Stream stream, const char* name) {
  library_->launch_entry(entry, kernel, grid, stream, name);
}

CompiledLibrary::Product CompiledLibrary::make_product(const ProductDescriptor& descriptor) {
  return std::make_shared<LibraryProduct>(LibraryProduct{library_->make_product(descriptor)});
}
void CompiledLibrary::multiply(const Product& product, const ProductTensors& tensors, double beta, std::byte* scratch,
                               Stream stream) {
  library_->multiply(product->made, tensors, beta, scratch, stream);
}
#if defined(REGIMEN_HAS_CUDNN)
CompiledLibrary::Attention CompiledLibrary::make_attention(const FusedAttention& attention) {
  return std::make_shared<LibraryAttention>(LibraryAttention{library_->make_attention(attention)});
}
void CompiledLibrary::attend(const Attention& made, const FusedTensors& tensors, std::byte* scratch, Stream stream) {
  library_->attend(made->made, tensors, scratch, stream);
}
CompiledLibrary::Convolution CompiledLibrary::make_convolution(const ConvolutionDescriptor& convolution) {
  return std::make_shared<LibraryConvolution>(LibraryConvolution{library_->make_convolution(convolution)});
}
void CompiledLibrary::convolve(const Convolution& made, const ConvolutionTensors& tensors, std::byte* scratch,
                               Stream stream) {
  library_->convolve(made->made, tensors, scratch, stream);
}
#endif

void CompiledLibrary::begin_capture(Stream stream) { library_->begin_capture(stream); }
CompiledLibrary::Graph CompiledLibrary::end_capture(Stream stream) { return library_->end_capture(stream); }
void CompiledLibrary::launch(Graph graph, Stream stream) { library_->launch(graph, stream); }
void CompiledLibrary::destroy(Graph graph) { library_->destroy(graph); }

void CompiledLibrary::open_range(const char* name) { library_->open_range(name); }
void CompiledLibrary::close_range() { library_->close_range(); }
void CompiledLibrary::forget(std::byte* at, std::size_t bytes, Stream stream) { library_->forget(at, bytes, stream); }

std::string CompiledLibrary::numerics() { return Library::numerics(); }
std::size_t CompiledLibrary::device() const { return library_->device(); }
std::string CompiledLibrary::describe() const { return library_->describe(); }
std::size_t CompiledLibrary::library_bytes() const { return library_->library_bytes(); }

CompiledLibrary::Scope::Scope(int device) : before_(Library::enter(device)) {}
CompiledLibrary::Scope::~Scope() { Library::leave(before_); }
CompiledLibrary::Scope CompiledLibrary::scope() const { return Scope(static_cast<int>(library_->device())); }

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
