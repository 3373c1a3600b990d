// tests/support/planted.hpp — an emulated device that a defective engine seems to drive: each defect is planted between the
// engine's calls and the device's.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/emulated/runtime.hpp>
#include <regimen/kernel/input.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace regimen::test {

/// What is planted. `which` chooses among the calls of the kind, as said; every such call is spoilt.
enum class Defect : unsigned char {
  none,
  wait_left_out,             // of stream number `which` for an event
  record_left_out,           // on stream number `which`, but for the first record of each event
  host_synchronises_late,    // the host does not wait for events
  memory_free_at_issue,      // an event is said to be over when it is asked for: its memory is used again at once
  host_pointer,              // kernel number `which` of a step gets memory of the host
  pageable_upload,           // copies to the device read pageable memory
  pageable_download,         // copies to the host write it
  frozen_slot,               // the graph has the number of the slot at its capture
  frozen_values,             // the graph has the step's number and rate at its capture
  leading_dimension,         // of A of product number `which` that is made: one too large
  small_leading_dimension,   // the same: one too small
  transposed,                // the library's A is transposed, which is square
  workspace_misaligned,      // of every product
  workspace_of_the_host,     // the same
  launch_on_another_stream,  // kernel number `which` goes to the stream of copies
  launch_left_out,           // kernel number `which`
  product_left_out,          // product number `which`
  product_made_late,         // in the capture, in place of before it
  wait_in_capture,           // the host waits in the capture
  event_from_outside,        // the capture waits for an event that was recorded before it
};

/// Writes numbers that its maker knew.
struct Frozen final {
  Scalars* to = nullptr;
  std::uint64_t step = 0;
  double rate = 0;
  static constexpr unsigned threads = kernel::warp_lanes;
  static constexpr unsigned blocks() { return 1; }
  template <class Block>
  void operator()(const Block& block) const {
    if (block.thread() > 0) return;
    to->random.step = step;
    to->learning_rate = rate;
  }
};

/// The sound device, but for the calls that `planted` names. `spoilt` counts these.
class Planted : public emulated::Runtime {
  using Base = emulated::Runtime;

 public:
  struct Plant {
    Defect what;
    std::size_t which;
  };
  static inline Plant planted{Defect::none, 0};
  static inline std::atomic<std::size_t> spoilt = 0;

  Planted() { Base::prepare(Frozen{}, grid_of_frozen); }

  std::byte* allocate(std::size_t bytes, const char* name) {
    arena_bytes_ = bytes;
    return Base::allocate(bytes, name);
  }
  Stream make_stream() {
    streams_.push_back(Base::make_stream());
    return streams_.back();
  }
  void wait(Stream stream, Event event) {
    if (is(Defect::wait_left_out, stream.index)) return spoil();
    Base::wait(stream, event);
  }
  void record(Event event, Stream stream) {
    if (recorded_.size() <= event.index) recorded_.resize(event.index + 1);
    if (is(Defect::record_left_out, stream.index) && recorded_[event.index]) return spoil();
    recorded_[event.index] = true;
    Base::record(event, stream);
  }
  void synchronize(Event event) {
    if (is(Defect::host_synchronises_late)) return spoil();
    Base::synchronize(event);
  }
  bool is_done(Event event) {
    const bool done = Base::is_done(event);
    if (!is(Defect::memory_free_at_issue) || done) return done;
    spoil();
    return true;
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    if (is(Defect::pageable_upload)) from = pageable(bytes);
    Base::upload(to, from, bytes, stream);
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    if (is(Defect::pageable_download)) to = pageable(bytes);
    Base::download(to, from, bytes, stream);
  }

  void launch(Graph graph, Stream stream) { Base::launch(graph, stream); }
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    const std::size_t number = is_captured_ ? kernels_++ : ~std::size_t{0};  // of those that graphs hold
    if (is(Defect::launch_left_out, number)) return spoil();
    if (is(Defect::launch_on_another_stream, number)) {
      spoil();
      return Base::launch(kernel, grid, streams_.at(1));
    }
    Kernel changed = kernel;
    if constexpr (requires { changed.at.base; })
      if (is(Defect::host_pointer, number)) changed.at.base = pageable(arena_bytes_);
    constexpr bool takes_input = std::is_same_v<Kernel, kernel::Kernel<op::TakeInput, 0>>;
    if constexpr (takes_input)
      if (is(Defect::frozen_slot) && is_captured_) {
        spoil();
        changed.o.ring.count = 1;
      }
    Base::launch(changed, grid, stream);
    if constexpr (takes_input)
      if (is(Defect::frozen_values) && is_captured_) {
        spoil();
        Base::launch(Frozen{kernel.at(kernel.o.scalars), 0, 0.001}, grid_of_frozen, stream);
      }
  }

  Product make_product(const cuda::ProductDescriptor& descriptor) {
    cuda::ProductDescriptor changed = descriptor;
    const std::size_t number = products_made_++;
    if (is(Defect::leading_dimension, number)) spoil(), ++changed.a.leading;
    if (is(Defect::small_leading_dimension, number)) spoil(), --changed.a.leading;
    if (is(Defect::transposed) && changed.a.rows == changed.a.columns) spoil(), changed.transpose_a ^= true;
    return Base::make_product(changed);
  }
  void multiply(const Product& product, const cuda::ProductTensors& tensors, double beta, std::byte* scratch,
                Stream stream) {
    const std::size_t number = is_captured_ ? products_++ : ~std::size_t{0};
    if (is(Defect::product_left_out, number)) return spoil();
    if (is(Defect::product_made_late, number)) spoil(), (void)Base::make_product(product);
    if (is(Defect::workspace_misaligned)) spoil(), scratch += 16;
    if (is(Defect::workspace_of_the_host)) scratch = pageable(product.workspace);
    Base::multiply(product, tensors, beta, scratch, stream);
  }

  void begin_capture(Stream stream) {
    const Event event = make_event();
    Base::record(event, stream);
    Base::begin_capture(stream);
    is_captured_ = true;
    kernels_ = products_ = 0;
    if (is(Defect::wait_in_capture)) spoil(), Base::synchronize(event);
    if (is(Defect::event_from_outside)) spoil(), Base::wait(stream, event);
  }
  Graph end_capture(Stream stream) {
    is_captured_ = false;
    return Base::end_capture(stream);
  }

 private:
  static constexpr cuda::Grid grid_of_frozen{.blocks = Frozen::blocks(), .threads = Frozen::threads};

  static bool is(Defect what) { return planted.what == what; }
  static bool is(Defect what, std::size_t number) { return is(what) && planted.which == number; }
  /// Ends a run that does not end by itself: without waiting, the host reads unwritten results and takes more steps, for
  /// which the device has no end of memory.
  static void spoil() {
    if (++spoilt > 10'000) throw Error("a planted defect", "a run that ends", "10,000 calls");
  }
  std::byte* pageable(std::size_t bytes) {
    spoil();
    if (bytes > pageable_bytes_) pageable_ = std::make_unique<std::byte[]>(pageable_bytes_ = bytes);
    return pageable_.get();
  }

  std::vector<Stream> streams_;  // in the order of an engine: operations, then copies
  std::vector<bool> recorded_;   // by events
  std::unique_ptr<std::byte[]> pageable_;
  std::size_t pageable_bytes_ = 0, arena_bytes_ = 0, kernels_ = 0, products_ = 0, products_made_ = 0;
  bool is_captured_ = false;
};

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
