// regimen/walk/residual.hpp — the walker of y = x + branch(x). The sum is written over the branch's output.
#pragma once

#include <regimen/walk/sequential.hpp>

namespace regimen::walk {

template <class X, class Context, bool flows, class... Layers>
struct Node<Residual<Layers...>, X, Context, flows> {
  using Branch = Inner<X, Context, flows, Layers...>;
  using Output = X;
  static_assert(!Branch::reads_output, "regimen: the last layer of a Residual reads its own output in backward; put another layer behind it");
  static constexpr ParameterLayout layout = Branch::layout;
  static constexpr bool active = Branch::active, reads_input = Branch::reads_input, reads_output = false, recomputes_output = false,
                        reads_weights = Branch::reads_weights;

  template <Place place>
  static constexpr std::size_t footprint(const auto& engine) {
    return Branch::template footprint<place>(engine);
  }
  template <Place place>
  static constexpr bool is_idle() {
    return Branch::template is_idle<place>();
  }

  template <Mode mode, Place place>
  static constexpr std::size_t forward(auto& engine, Tensor x, Weights weights, Path path) {
    const std::size_t y = Branch::template forward<mode, place>(engine, Tensor{x.offset, false}, weights, path);
    if constexpr (place != Place::nowhere) add(engine, x.offset, y);
    if (x.owned) engine.arena.give(x.offset);
    return y;
  }
  template <Place place>
  static constexpr void retire_output(auto& engine) {
    Branch::template retire_output<place>(engine);
  }
  template <Place place>
  static constexpr std::size_t backward(auto& engine, Tensor d_y, std::size_t x, std::size_t floor, Weights weights, Path path) {
    const std::size_t d_x = Branch::template backward<place>(engine, Tensor{d_y.offset, false}, x, floor, weights, path);
    if constexpr (flows) add(engine, d_y.offset, d_x);
    if (d_y.owned) engine.arena.give(d_y.offset);
    return d_x;
  }

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) { Branch::place_tensors(out, at); }
  static void name_tensors(const std::string& prefix, bool, auto& visit) { Branch::name_tensors(prefix, true, visit); }

 private:
  static constexpr void add(auto& engine, std::size_t from, std::size_t to) {
    engine.run(op::Add<typename X::Element>{{from}, {to}, engine.batch * X::size});
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
