// regimen/programs/parameters.ipp — the list of a model's tensors, filled.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/pieces.hpp>

namespace regimen::programs {

REGIMEN_INLINE void append_records(std::vector<TensorRecord>& records, const walk::UnitRecord& unit,
                                   const OwnSlices& own) {
  const std::size_t from = own.index * unit.slice;
  for (std::size_t i = 0; i < unit.count; ++i)
    for (const walk::TensorPlace& place : unit.tensors) {
      TensorRecord record{.place = place,
                          .unit = unit.first + unit.size * i,
                          .master_offset = unit.master_offset,
                          .state_stride = unit.kept_state,
                          .states = place.states,
                          .shares_master = unit.shares_master,
                          .count = place.count,
                          .master = place.master,
                          .gradient = place.gradient};
      if (own.is_sliced) {
        const auto [begin, kept] = part_in_slice(place.master, place.count, from, unit.slice);
        record.first = begin;
        record.count = kept;
        record.gradient = kept > 0 ? place.master + begin - from : 0;
        // Master weights that kernels read lie among all values, unless these are kept in slices, too.
        record.master = unit.shares_master && !own.slices_parameters ? place.master + begin : record.gradient;
        record.value_slice = own.slices_parameters ? from : 0;
      }
      records.push_back(record);
    }
}
REGIMEN_INLINE void NameRecords::operator()(const std::string& prefix, const Parameter& parameter, bool ends_branch) {
  if (index >= parameters || records[index].place.count != parameter.size())
    defect("names and places of parameters disagree");
  records[index].name = prefix + parameter.name;
  records[index].parameter = parameter;
  records[index].ends_branch = ends_branch;
  ++index;
}
REGIMEN_INLINE void NameRecords::operator()(const std::string& prefix, const Parameter& buffer) {
  records.push_back({.name = prefix + buffer.name,
                     .parameter = buffer,
                     .place = {.count = buffer.size(), .element = element, .trains = false},
                     .unit = {.parameters = behind},
                     .count = buffer.size(),
                     .is_buffer = true});
  behind += TensorArena::align(buffer.size() * bytes_of(element));
}

REGIMEN_INLINE InitialOrder::InitialOrder(std::span<const TensorRecord> tensors, std::uint64_t seed) : seed_(seed) {
  for (const TensorRecord& tensor : tensors)
    context.residuals += tensor.ends_branch && tensor.parameter.role == ParameterRole::matrix;
}
REGIMEN_INLINE void InitialOrder::enter(const TensorRecord& tensor) {
  context.ends_branch = tensor.ends_branch;
  if (std::string own = tensor.name.substr(0, tensor.name.rfind('.')); own != layer_)
    layer_ = std::move(own), context.fan_in = 0;
  if (tensor.parameter.role == ParameterRole::matrix)
    context.fan_in = tensor.parameter.size() / tensor.parameter.extents[0];
  key = Philox::mix(Philox::mix(seed_, 0x1417), index_++);
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
