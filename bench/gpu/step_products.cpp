// bench/gpu/step_products.cpp — the library's products in a step of GPT-2, each once with its number, as the CUDA engine
// asks for them; one line each (product_line.hpp), for bench/gpu/products. Needs no GPU: the engine runs whole on a
// runtime that computes nothing. With --small those of a small GPT alone.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cuda/engine.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/models/gpt2.hpp>
#include <regimen/policy/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "product_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>

namespace bench {
namespace {
using namespace regimen;

std::vector<ProductLine> found;
std::string step_name;
bool is_step = false;

/// Addresses without memory behind them, as nothing is computed.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* at) const { ::munmap(at, bytes); }
};
using Pages = std::unique_ptr<std::byte, Unmap>;
Pages pages(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw Error("step_products", std::to_string(bytes) + " bytes of addresses", "none");
  return Pages(static_cast<std::byte*>(at), Unmap{bytes});
}

/// A cuda::Runtime that only notes which products are computed.
class Runtime {
 public:
  using Stream = int;
  using Event = int;
  using Graph = int;
  using Product = cuda::ProductDescriptor;
  using Attention = cuda::FusedAttention;
  using Convolution = cuda::ConvolutionDescriptor;
  static constexpr bool has_cudnn = true;
  static constexpr std::size_t workspace = cuda::library_workspace;
  static constexpr double cut_flops = cuda::library_cut_flops;

  std::byte* allocate(std::size_t bytes, const char*) {
    pages_.push_back(pages(bytes));
    return pages_.back().get();
  }
  std::byte* allocate_pinned(std::size_t bytes, const char* name) { return allocate(bytes, name); }
  Stream make_stream() { return 0; }
  Event make_event() { return 0; }
  Event make_lasting_event() { return 0; }
  void upload(std::byte*, const std::byte*, std::size_t, Stream) {}
  void download(std::byte*, const std::byte*, std::size_t, Stream) {}
  void fill(std::byte*, int, std::size_t, Stream) {}
  void copy(std::byte*, const std::byte*, std::size_t, Stream) {}
  std::size_t device() const { return 0; }
  template <class Kernel>
  void prepare(const Kernel&, cuda::Grid) {}
  template <class Kernel>
  void launch(const Kernel&, cuda::Grid, Stream) {}
  void launch(Graph, Stream) {}
  void record(Event, Stream) {}
  void wait(Stream, Event) {}
  void synchronize(Event) {}
  bool is_done(Event) { return true; }
  void begin_capture(Stream) {}
  Graph end_capture(Stream) { return 0; }
  void destroy(Graph) {}
  Product make_product(const cuda::ProductDescriptor& descriptor) { return descriptor; }
  void multiply(const Product& product, const cuda::ProductTensors&, double beta, std::byte*, Stream) {
    if (!is_step) return;
    const ProductLine line{.step = step_name, .adds = beta != 0, .descriptor = product};
    for (ProductLine& known : found)
      if (known.step == line.step && known.adds == line.adds && known.descriptor == product) {
        ++known.times;
        return;
      }
    found.push_back(line);
  }
  Attention make_attention(const cuda::FusedAttention& attention) { return attention; }
  void attend(const Attention&, const cuda::FusedTensors&, std::byte*, Stream) {}
  Convolution make_convolution(const cuda::ConvolutionDescriptor& convolution) { return convolution; }
  void convolve(const Convolution&, const cuda::ConvolutionTensors&, std::byte*, Stream) {}
  void forget(std::byte*, std::size_t, Stream) {}
  void remember(std::byte*, std::size_t, Stream) {}
  static std::string numerics() { return "none"; }
  std::string describe() const { return "a list of products"; }
  struct Scope {};
  Scope scope() const { return {}; }

 private:
  std::vector<Pages> pages_;
};
static_assert(cuda::Runtime<Runtime>);

}  // namespace
}  // namespace bench

/// The device without a GPU, on that runtime.
template <>
struct regimen::engines::Of<regimen::Emulated> {
  template <class Choices>
  struct with {
    using type = regimen::cuda::Engine<bench::Runtime, Choices>;
    using Traits = typename type::Traits;
  };
  using type = with<DefaultChoices>::type;
  using Traits = type::Traits;
};

namespace bench {
namespace {

/// Those of the second step: the first also prepares.
///   name   one word: attention, epilogues and vocabulary, where they are not Cudnn, the library's and 50257 words
template <class Network, class... Policies>
void list(const char* name) {
  using Train = Trainer<Network, Optimizer<AdamW>, Init<Gpt2>, Precision<bf16, fp32>, Device<Emulated>, Policies...>;
  Train trainer;
  const Fake data({.samples = 4 * Train::plan().batch, .classes = Train::output_size / Train::input_size});
  trainer.fit(data, {.steps = 1, .progress = false});
  step_name = name;
  is_step = true;
  trainer.fit(data, {.steps = 2, .progress = false});
  is_step = false;
}

/// Square products, which show what the library reaches.
void square(ElementType type, std::size_t side, bool reads_tf32 = false) {
  cuda::Layout layout{.type = type, .rows = side, .columns = side, .leading = static_cast<std::int64_t>(side)};
  found.push_back({.step = "alone",
                   .descriptor = {.a = layout,
                                  .b = layout,
                                  .d = layout,
                                  .transpose_a = true,
                                  .wide = type == ElementType::float64,
                                  .reads_tf32 = reads_tf32,
                                  .workspace = cuda::library_workspace}});
}

struct Gpt2Aligned : Gpt2Model<50264, 1024, 768, 12, 12> {};  // whole packs of 16 bytes
struct Gpt2Rounded : Gpt2Model<50304, 1024, 768, 12, 12> {};  // whole tiles of 64
struct Small : Gpt2Model<57, 16, 24, 2, 2> {};

void all(bool small) {
  if (small) list<Small, Batch<2>, Attention<Composed>>("small");
  else {
    list<Gpt2Small, Batch<16>, Attention<Cudnn>>("gpt2_124m");
    list<Gpt2Small, Batch<16>, Attention<Composed>>("gpt2_124m_composed");
    list<Gpt2Small, Batch<16>, Attention<Cudnn>, Epilogue<Separate>>("gpt2_124m_separate");
    list<Gpt2Aligned, Batch<16>, Attention<Cudnn>>("gpt2_124m_50264");
    list<Gpt2Rounded, Batch<16>, Attention<Cudnn>>("gpt2_124m_50304");
    square(ElementType::bfloat16, 8192);
    square(ElementType::float16, 8192);
    square(ElementType::float32, 8192, true);
    square(ElementType::float32, 4096);
    square(ElementType::float64, 4096);
  }
  for (const ProductLine& line : found) std::puts(text_of(line).c_str());
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  bench::all(argc == 2 && std::string_view(argv[1]) == "--small");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
// SPDX-License-Identifier: Apache-2.0
