// regimen/walk/residual.hpp — the walker of y = x + branch(x). The branch's last operation adds x, and the last of its
// backward d_y, where they can; else the sum is written over the branch's output.
//
// It does what the walker of Fork<Add, Identity, Sequential<Layers...>> does (tests/walk/fork.cpp), in fewer
// statements: compilers limit those of a plan, and models have hundreds of these.
#pragma once

#include <regimen/walk/sequential.hpp>

namespace regimen::walk {

template <class X, class Context, bool flows, class... Layers>
struct Node<Residual<Layers...>, X, Context, flows> : Inner<X, Context, flows, Layers...> {
  using Branch = Inner<X, Context, flows, Layers...>;
  using Walkers = mp::mp_list<Branch>;
  using Output = X;
  static constexpr bool reads_output = false, sums_y = false, sums_d_x = false,
                        keeps_d_y = true;  // d_y is added to d_x after the branch
  /// Whether the branch's last layer reads its own output: then the output is saved, and the sum is another tensor.
  static constexpr bool keeps_branch = Branch::reads_output;
  static constexpr Place branch_place(Place place) { return keeps_branch ? Place::saved : place; }
  static constexpr bool joins_forward = joins_y<Context::Epilogues::sums, Branch>,
                        joins_backward = joins_d_x<(Context::Epilogues::sums && flows), Branch>;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return Branch::footprint(walk, branch_place(place)) +
           (keeps_branch && place == Place::saved ? bytes_of<X>(walk) : 0);
  }
  static constexpr bool is_idle(Place place) { return Branch::is_idle(branch_place(place)); }

  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    const bool apart = keeps_branch && way.mode == Mode::save;
    std::size_t y = Branch::forward(walk, Tensor{x.offset, false}, weights, path,
                                    {way.mode, apart ? Place::saved : way.place, joins_forward ? x.offset : absent});
    if constexpr (keeps_branch)
      if (apart) y = way.place == Place::nowhere ? absent : copy_of<X>(walk, y, way.place, path);
    if (!joins_forward && way.place != Place::nowhere) add<X>(walk, x.offset, y);
    if (x.owned) walk.arena.give(x.offset);
    return y;
  }
  static constexpr void retire_output(auto& walk, Place place) {
    if constexpr (!keeps_branch) Branch::retire_output(walk, place);
    else if (place == Place::saved) pop<X>(walk);
  }
  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    const std::size_t d_x = Branch::backward(walk, Tensor{d_y.offset, false, joins_backward ? d_y.offset : absent}, x,
                                             floor, weights, path, branch_place(place));
    if constexpr (flows && !joins_backward) add<X>(walk, d_y.offset, d_x);
    if (d_y.owned) walk.arena.give(d_y.offset);
    return d_x;
  }

  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool, auto& visit) {
    Branch::name_tensors(prefix, true, visit);
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
