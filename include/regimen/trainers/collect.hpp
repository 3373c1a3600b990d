// regimen/trainers/collect.hpp — gathers tensors that ranks keep in slices, into host memory.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/step.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace regimen::trainers {

/// Master weights or optimizer state of all units, in the order of the model, without the gaps between tensors; every
/// rank gets all of them.
///   state   0, 1, ...: an array of the optimizer state; `master_weights`: the weights. Units
///           that do not train have no state
///   tensors   whose buffers follow the weights: every rank has them whole
/// cost      a collective for each unit; a host copy of the whole
template <class Step>
class Collector final {
  using Bound = typename Step::Bound;
  using Master = typename Step::Master;
  using Sharding = typename Step::Sharding;

 public:
  static constexpr std::size_t master_weights = ~std::size_t{0};

  [[gnu::cold]] static std::vector<Master> collect(auto& walk, comm::Control& ranks, const programs::Resident& r,
                                                   std::size_t state,
                                                   std::span<const programs::TensorRecord> tensors = {}) {
    std::vector<Master> all, own, unit_of_all_ranks;
    Bound::for_each_unit(walk.ranks, [&]<class Unit>(walk::UnitOffsets first, std::size_t count, LayerPath) {
      const std::size_t elements = state == master_weights ? Unit::layout.count : Unit::layout.trained;
      if (elements == 0) return;
      const std::size_t slice = Unit::slice(walk.ranks);
      unit_of_all_ranks.resize(slice * Sharding::slices(walk.ranks));
      for (std::size_t i = 0; i < count; ++i) {
        const walk::UnitOffsets at = first + Unit::size(walk.ranks) * i;
        const bool among_values = Unit::shares_master && !Sharding::slices_parameters;
        const View<Master> kept = state == master_weights
                                      ? View<Master>{r.parameters + at.parameters + Unit::master_offset(walk.ranks)} +
                                            (among_values ? Sharding::slice_of(walk.rank) * slice : 0)
                                      : View<Master>{r.states + at.states} + state * Unit::kept_state(walk.ranks);
        own.resize(slice);
        programs::download(walk, kept, std::span(own));
        ranks.all_gather(reinterpret_cast<const std::byte*>(own.data()),
                         reinterpret_cast<std::byte*>(unit_of_all_ranks.data()), slice * sizeof(Master),
                         Sharding::shard_group);
        for (const walk::TensorPlace& tensor : Unit::tensors) {
          if (state != master_weights && !tensor.trains) continue;
          const auto begin = unit_of_all_ranks.begin() +
                             static_cast<std::ptrdiff_t>(state == master_weights ? tensor.master : tensor.gradient);
          all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(tensor.count));
        }
      }
    });
    for (const programs::TensorRecord& tensor : tensors)
      if (tensor.is_buffer) {
        own.resize(tensor.place.count);
        programs::download(walk, View<Master>{r.parameters + tensor.unit.parameters}, std::span(own));
        all.insert(all.end(), own.begin(), own.end());
      }
    return all;
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
