// regimen/train/parameters.hpp — a model's parameters by name: where they lie, how they begin.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/train/initial.hpp>
#include <regimen/train/step.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// A parameter as a program sees it. `values` are the master weights, in the arena: they live as long as the Trainer, and
/// after writing to them `Trainer::parameters_changed()` tells the copies that kernels read.
template <class Master>
struct NamedParameter {
  std::string name;
  std::vector<std::size_t> shape;
  std::span<Master> values;
  ParameterRole role = ParameterRole::matrix;
  bool trains = true, decays = false;

  /// Calls f with the values. (Inference has parameters of several types; what reads both is written with this.)
  template <class F>
  void visit(F&& f) const { f(values); }
};

namespace train {

/// A tensor of a bound model: what it is called, and where it lies.
struct TensorRecord {
  std::string name;
  Parameter parameter;
  bool ends_branch = false;
  walk::TensorPlace place;    // inside its unit
  walk::UnitOffsets unit;     // where the unit begins in the three regions
  std::size_t master_offset = 0, trained = 0, states = 0;
  bool shares_master = true;
};

/// All tensors, in the order in which they lie in memory.
template <class Bound>
std::vector<TensorRecord> list_tensors() {
  std::vector<TensorRecord> records;
  Bound::for_each_unit([&]<class Unit>(walk::UnitOffsets first, std::size_t count, Path) {
    for (std::size_t i = 0; i < count; ++i)
      for (const walk::TensorPlace& place : Unit::tensors)
        records.push_back({{}, {}, false, place, first + Unit::size * i, Unit::master_offset, Unit::layout.trained, Unit::states, Unit::shares_master});
  });
  std::size_t index = 0;
  Bound::name_tensors([&](const std::string& name, const Parameter& parameter, bool ends_branch) {
    if (index >= records.size() || records[index].place.count != parameter.size()) defect("names and places of parameters disagree");
    records[index].name = name;
    records[index].parameter = parameter;
    records[index].ends_branch = ends_branch;
    ++index;
  });
  if (index != records.size()) defect("a parameter has no name");
  return records;
}

/// Calls f with a value of the type that `element` stands for.
template <class F>
void with_element(ElementType element, F&& f) {
  switch (element) {
    case ElementType::float64: return f(fp64{});
    case ElementType::float32: return f(fp32{});
    case ElementType::bfloat16: return f(bf16{});
    case ElementType::float16: return f(fp16{});
  }
}

}  // namespace train
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
