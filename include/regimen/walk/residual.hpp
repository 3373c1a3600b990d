// regimen/walk/residual.hpp — the walker of y = x + branch(x). The sum is written over the branch's output.
#pragma once

#include <regimen/walk/sequential.hpp>

namespace regimen::walk {

template <class X, class Context, bool flows, class... Layers>
struct Node<Residual<Layers...>, X, Context, flows> {
  using Branch = Inner<X, Context, flows, Layers...>;
  using Output = X;
  static constexpr ParameterLayout layout = Branch::layout;
  static constexpr bool active = Branch::active, reads_input = Branch::reads_input, reads_output = false, recomputes_output = false,
                        reads_weights = Branch::reads_weights, keeps_d_y = true;  // d_y is added to d_x after the branch
  /// Whether the branch's last layer reads its own output: then the output is saved, and the sum is another tensor.
  static constexpr bool keeps_branch = Branch::reads_output;
  template <Place place>
  static constexpr Place branch_place = keeps_branch ? Place::saved : place;

  template <Place place>
  static constexpr std::size_t footprint(const auto& engine) {
    return Branch::template footprint<branch_place<place>>(engine) + (keeps_branch && place == Place::saved ? bytes_of<X>(engine) : 0);
  }
  template <Place place>
  static constexpr bool is_idle() {
    return Branch::template is_idle<branch_place<place>>();
  }

  template <Mode mode, Place place>
  static constexpr std::size_t forward(auto& engine, Tensor x, Weights weights, Path path) {
    constexpr bool apart = keeps_branch && mode == Mode::save;
    std::size_t y = Branch::template forward<mode, (apart ? Place::saved : place)>(engine, Tensor{x.offset, false}, weights, path);
    if constexpr (apart) y = place == Place::nowhere ? absent : copy_of<place>(engine, y, path);
    if constexpr (place != Place::nowhere) add(engine, x.offset, y);
    if (x.owned) engine.arena.give(x.offset);
    return y;
  }
  template <Place place>
  static constexpr void retire_output(auto& engine) {
    if constexpr (!keeps_branch) Branch::template retire_output<place>(engine);
    else if constexpr (place == Place::saved) pop<X>(engine);
  }
  template <Place place>
  static constexpr std::size_t backward(auto& engine, Tensor d_y, std::size_t x, std::size_t floor, Weights weights, Path path) {
    const std::size_t d_x = Branch::template backward<branch_place<place>>(engine, Tensor{d_y.offset, false}, x, floor, weights, path);
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
  template <Place place>
  static constexpr std::size_t copy_of(auto& engine, std::size_t tensor, Path path) {
    using T = typename X::Element;
    const std::size_t copy = allocate < X, place == Place::saved ? Place::saved : Place::transient > (engine, path);
    engine.run(op::Cast<T, T>{{tensor}, {copy}, engine.batch * X::size});
    return copy;
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
