// regimen/programs/forward.hpp — the part that training and inference share: persistent regions and forward.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/programs/check_ids.hpp>
#include <regimen/walk/model.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen::programs {

/// The offsets of the persistent regions.
struct Resident {
  std::size_t parameters = View<char>::absent, states = View<char>::absent, gradients = View<char>::absent;
  std::size_t input = View<char>::absent, target = View<char>::absent;
  std::size_t cache = View<char>::absent;    // keys and values of incremental decoding
  std::size_t buffers = View<char>::absent;  // state that is not trained, right behind the parameters
  std::size_t moved = View<char>::absent, sum_of_moved = View<char>::absent;  // buffers of simulated ranks
  View<Scalars> scalars{};
  View<RankSums> sums{};    // of each rank; a single rank has them in its scalars
  op::InputRing ring{};     // where micro-batches wait for their turn
  View<Scalars> results{};  // of each step of a launch of several
  std::size_t end = 0;      // where the saved stack begins
};

/// The part of a step without loss and update rule; inference consists of it.
///   Bound   walk::BoundModel
template <class Bound_>
struct Forward {
  using Bound = Bound_;
  using Body = typename Bound::Body;
  using Roles = typename Bound::Roles;
  using X = typename Bound::X;
  using Output = typename Bound::Output;

  /// Allocates the persistent regions of inference: parameters, one input, and the layers' caches.
  ///   borrows   parameters and buffers are those of another Inference, at the beginning of its memory
  static constexpr Resident setup_inference(auto& walk, std::size_t cache_bytes = 0, bool borrows = false) {
    Resident r{};
    if (borrows) {
      r.parameters = lent_memory;
      r.buffers = lent_memory + Bound::size(1).parameters;
    } else {
      r.parameters = push_units(walk, MemoryKind::parameter, &walk::UnitOffsets::parameters);
      r.buffers = push_buffers(walk);
    }
    r.input = push_input(walk);
    if (cache_bytes > 0) r.cache = walk.arena.push(cache_bytes, MemoryKind::cache, path_of_cache);
    r.end = walk.arena.top;
    return r;
  }

  /// The output for the batch in the input, on the transient side; the caller frees it.
  static constexpr std::size_t predict(auto& walk, const Resident& r) {
    const regimen::WeightPlaces weights{r.parameters, r.gradients, false, r.buffers};
    if constexpr (Bound::tied_count > 0) Bound::enter_tied(walk, weights, false);
    if constexpr (Bound::named_count > 0) Bound::enter_named(walk, false);
    walk.phase(op::Phase::forward);
    const std::size_t output = Body::forward(walk, walk::Tensor{r.input, false}, weights, Bound::path,
                                             {walk::Mode::discard, walk::Place::transient});
    walk.arena.pop_to(r.end);
    return output;
  }

  /// Forward of incremental decoding: the output for positions from `first` on, of one sample.
  static constexpr std::size_t walk_on(auto& walk, const Resident& r, std::size_t first) {
    walk.batch = 1;
    walk.cache = r.cache;
    walk.position = first;
    return predict(walk, r);
  }

 protected:
  static constexpr LayerPath path_of_scalars = LayerPath::outside(0, "step_scalars"),
                             path_of_input = LayerPath::outside(1, "input"),
                             path_of_target = LayerPath::outside(2, "target"),
                             path_of_sums = LayerPath::outside(3, "rank_sums"),
                             path_of_bucket = LayerPath::outside(4, "bucket"),
                             path_of_cache = LayerPath::outside(5, "cache"),
                             path_of_ring = LayerPath::outside(6, "input_ring"),
                             path_of_results = LayerPath::outside(7, "results"),
                             path_of_buffers = LayerPath::outside(8, "buffers");

  static constexpr std::size_t push_input(auto& walk) {
    return walk.arena.push(walk::bytes_of<X>(walk), MemoryKind::input, path_of_input);
  }
  static constexpr std::size_t push_buffers(auto& walk) {
    if constexpr (Bound::layout.buffer_bytes == 0) return View<char>::absent;
    else return walk.arena.push(Bound::layout.buffer_bytes, MemoryKind::buffer, path_of_buffers);
  }
  /// Allocates each child's part under the child's name.
  static constexpr std::size_t push_units(auto& walk, MemoryKind kind, std::size_t walk::UnitOffsets::* region) {
    const std::size_t begin = walk.arena.top;
    for (const walk::UnitRecord& unit : Bound::units(walk.ranks))
      if (const std::size_t bytes = unit.size.*region * unit.count; bytes > 0) walk.arena.push(bytes, kind, unit.path);
    return begin;
  }
};

// ---- transfers and batches, for Trainer and Inference

/// Copies values from the host to `at`; they must stay valid until the returned fence.
template <class T>
auto upload(auto& walk, View<T> at, std::span<const T> from) {
  return walk.engine.upload(at.offset, std::as_bytes(from));
}
/// Values of the arena, after all operations run before.
template <class T>
void download(auto& walk, View<T> at, std::span<T> to) {
  walk.engine.download(at.offset, std::as_writable_bytes(to)).wait();
}

/// Rows of the model's output at `from`, without what lies between them. Several outputs, which lie there one behind
/// the other, come sample by sample.
template <class Output>
void download_rows(auto& walk, std::size_t from, std::span<typename Output::Element> to) {
  using T = typename Output::Element;
  if constexpr (regimen::detail::is_joined<typename Output::Shape>) {
    std::vector<T> stored(to.size());
    download(walk, View<T>{from}, std::span(stored));
    const std::size_t samples = to.size() / Output::size;
    auto next = stored.begin();
    std::size_t before = 0;
    for (const std::size_t size : Output::Shape::sizes) {
      for (std::size_t s = 0; s < samples; ++s, next += static_cast<std::ptrdiff_t>(size))
        std::copy_n(next, size, to.begin() + static_cast<std::ptrdiff_t>(s * Output::size + before));
      before += size;
    }
  } else if constexpr (Output::leading == Output::columns) {
    download(walk, View<T>{from}, to);
  } else {
    std::vector<T> stored(to.size() / Output::columns * Output::leading);
    download(walk, View<T>{from}, std::span(stored));
    for (std::size_t row = 0; row * Output::columns < to.size(); ++row)
      std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(row * Output::leading), Output::columns,
                  to.begin() + static_cast<std::ptrdiff_t>(row * Output::columns));
  }
}

/// The outputs of any number of samples, a batch at a time.   inputs (samples,X)  →  (samples,Output)
///   vocabulary   upper bound of tokens, of a bundle those of its values; 0: they are no tokens
template <class Forward>
std::vector<typename Forward::Output::Element> predict_all(auto& walk, const Resident& r,
                                                           std::span<const typename Forward::X::Element> inputs,
                                                           const auto& vocabulary, const char* who) {
  using Output = typename Forward::Output::Element;
  constexpr std::size_t input_size = Forward::X::size, output_size = Forward::Output::size;
  if (inputs.size() % input_size != 0)
    throw Error(who, "a multiple of " + std::to_string(input_size) + " numbers, the size of a sample",
                std::to_string(inputs.size()));
  check_tokens(inputs, input_size, vocabulary, who, 0);
  const std::size_t samples = inputs.size() / input_size;
  std::vector<Output> outputs(samples * output_size);
  for (std::size_t done = 0; done < samples; done += walk.capacity) {
    const std::size_t now = samples - done < walk.capacity ? samples - done : walk.capacity;
    walk.batch = now;
    upload(walk, View<typename Forward::X::Element>{r.input}, inputs.subspan(done * input_size, now * input_size));
    const std::size_t output = Forward::predict(walk, r);
    download_rows<typename Forward::Output>(walk, output,
                                            std::span(outputs).subspan(done * output_size, now * output_size));
    walk.arena.give(output);
  }
  return outputs;
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
