// regimen/programs/parameters.hpp — a model's parameters by name: places and initial values.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/optimizer/decay.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/programs/initial.hpp>
#include <regimen/programs/step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen {

/// A parameter in a user's program. `values` are the master weights, or a copy of them on the host:
/// Trainer::parameters() says which, and how long they stay valid. Writes take effect at
/// `Trainer::parameters_changed()`.
template <class Master>
struct NamedParameter {
  std::string name{};
  std::vector<std::size_t> shape;
  std::span<Master> values;
  ParameterRole role = ParameterRole::matrix;
  bool trains = true, decays = false;

  /// Calls f with the values. (For code that also handles Inference, whose parameters have several types.)
  template <class F>
  void visit(F&& f) const {
    f(values);
  }
};

namespace programs {

/// A tensor of a bound model: its name and place. Buffers come last. They are whole on every rank, and lie behind the
/// units' parameters: no unit has them, their only array is that of the master weights.
struct TensorRecord {
  std::string name{};
  Parameter parameter{};
  bool ends_branch = false;
  walk::TensorPlace place;  // inside its unit
  walk::UnitOffsets unit;   // where the unit begins in the three regions
  std::size_t master_offset = 0, state_stride = 0, states = 0;
  bool shares_master = true;
  std::size_t first = 0, count = 0;      // the elements whose master weights and state this rank keeps
  std::size_t master = 0, gradient = 0;  // where these begin in the unit's master weights and state, in elements
  bool is_buffer = false;
  std::size_t value_slice = 0;  // where this rank's slice of the unit's parameters begins, in elements of the unit
};

/// Which slices a rank keeps of every unit.
struct OwnSlices {
  std::size_t index = 0;
  bool is_sliced = false, slices_parameters = false;
};
[[gnu::cold]] void append_records(std::vector<TensorRecord>& records, const walk::UnitRecord& unit,
                                  const OwnSlices& own);

/// Names the records of parameters, and appends those of buffers.
struct NameRecords {
  std::vector<TensorRecord>& records;
  std::size_t behind;  // bytes from the first parameter to the first buffer
  ElementType element;
  std::size_t index = 0, parameters = records.size();

  [[gnu::cold]] void operator()(const std::string& prefix, const Parameter& parameter, bool ends_branch);
  [[gnu::cold]] void operator()(const std::string& prefix, const Parameter& buffer);
};

/// All tensors, in the order in which they lie in memory.
template <class Bound>
[[gnu::noinline, gnu::cold]] std::vector<TensorRecord> list_tensors(std::size_t rank = 0, std::size_t ranks = 1) {
  std::vector<TensorRecord> records;
  using Sharding = typename Bound::Ctx::Sharding;
  const OwnSlices own{.index = Sharding::slice_of(rank),
                      .is_sliced = Sharding::slices_state && ranks > 1,
                      .slices_parameters = Sharding::slices_parameters};
  for (const walk::UnitRecord& unit : Bound::units(ranks)) append_records(records, unit, own);
  NameRecords names{records, Bound::size(ranks).parameters, element_type_of<buffer_t<typename Bound::Roles>>};
  Bound::name_tensors(names);
  if (names.index != names.parameters) defect("a parameter has no name");
  return records;
}

/// What initial values depend on, of one tensor after the other, in the order of the model.
///   key   of the random numbers of the tensor that was entered
struct InitialOrder final {
  ParameterContext context{};
  std::uint64_t key = 0;

  InitialOrder(std::span<const TensorRecord> tensors, std::uint64_t seed);
  void enter(const TensorRecord& tensor);

 private:
  std::string layer_{};
  std::uint64_t seed_, index_ = 0;
};
/// The initial values of a whole tensor; of a table, the row of its padding is zero.
template <class Master>
[[gnu::cold]] std::vector<Master> initial_values(const TensorRecord& tensor, const InitialValue& value,
                                                 std::uint64_t key) {
  std::vector<Master> whole(tensor.place.count);
  regimen::detail::fill_initial(whole.data(), whole.size(), value, key);
  if (tensor.parameter.zero_row >= 0) {
    const std::size_t columns = tensor.parameter.extents[1];
    std::fill_n(whole.data() + static_cast<std::size_t>(tensor.parameter.zero_row) * columns, columns, Master{});
  }
  return whole;
}

/// Throws Error for an option of weight decay that reaches none of the tensors.
template <class UpdateRule>
[[gnu::cold]] void check_decay(const std::vector<TensorRecord>& tensors, const typename UpdateRule::Options& options) {
  using Groups = GroupsOf<UpdateRule>;
  [&]<std::size_t... group>(std::index_sequence<group...>) {
    (regimen::detail::expect_decay_reaches<boost::mp11::mp_at_c<typename Groups::Rules, group>>(
         std::any_of(tensors.begin(), tensors.end(),
                     [](const TensorRecord& tensor) {
                       return tensor.place.trains && tensor.place.decays && tensor.place.group == group;
                     }),
         Groups::template name<group>(), Groups::template options<group>(options)),
     ...);
  }(std::make_index_sequence<Groups::count>{});
}

}  // namespace programs
}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/programs/parameters.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
