// regimen/engine/cuda/ranges.hpp — names for profilers: which layer, in which phase, an operation is of.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/path_text.hpp>

#include <cstddef>
#include <string>

namespace regimen::cuda {

/// The ranges that are open: of the phase, and in it that of the layer. The update has no layers, nor has what comes
/// before the first.
///
///   R   offers open_range(name) and close_range(), or has no ranges
template <class R>
class Ranges final {
 public:
  explicit Ranges(R& runtime) : runtime_(runtime) {}
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;
  ~Ranges() { close(); }

  /// Before an operation.
  void enter(op::Phase phase, LayerPath layer) {
    if constexpr (has_ranges) {
      if (phase == op::Phase::update) layer = {};
      const bool stays = open_ > 0 && phase == phase_;
      if (stays && layer.digits == layer_.digits && layer.iteration == layer_.iteration) return;
      close_to(stays ? 1 : 0);
      phase_ = phase;
      layer_ = layer;
      if (!stays) open(phase == op::Phase::forward ? "forward" : phase == op::Phase::backward ? "backward" : "update");
      if (layer.digits != 0) open(layer.text().c_str());
    }
  }
  /// What follows is no operation.
  void close() { close_to(0); }

  /// Around the start of a collective, inside the range of the operations among which it starts.
  struct [[nodiscard]] Collective final {
    R& runtime;
    ~Collective() {
      if constexpr (has_ranges) runtime.close_range();
    }
  };
  Collective of_collective(comm::CollectiveKind kind, const LayerPath& unit) {
    if constexpr (has_ranges)
      runtime_.open_range(
          (std::string(comm::name_of_collective(kind)) + " of " + (unit.is_outside() ? unit.name : unit.text()))
              .c_str());
    return Collective{runtime_};
  }

 private:
  static constexpr bool has_ranges = requires { &R::open_range; };

  void open(const char* name) {
    runtime_.open_range(name);
    ++open_;
  }
  void close_to(std::size_t left) {
    if constexpr (has_ranges)
      for (; open_ > left; --open_) runtime_.close_range();
  }

  R& runtime_;
  op::Phase phase_ = op::Phase::forward;
  LayerPath layer_{};
  std::size_t open_ = 0;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
