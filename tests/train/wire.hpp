// tests/train/wire.hpp — what ranks send in a step, collective by collective: seen, planned, and by the formulas of the
// ZeRO paper.
#pragma once

#include <regimen/comm/tracing.hpp>

#include "support/catch.hpp"
#include "train/ranks.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regimen::test {

/// Collectives of a unit in a step, and the bytes that one rank sends in them.
struct UnitWire {
  std::size_t gathers = 0, reductions = 0, gathered = 0, reduced = 0;
  bool operator==(const UnitWire&) const = default;
};
/// By the place of the unit in the model, and its iteration.
using Wire = std::map<std::pair<std::string, std::uint64_t>, UnitWire>;

inline std::string text_of(const Wire& wire) {
  std::string text;
  for (const auto& [unit, is] : wire)
    text += unit.first + "[" + std::to_string(unit.second) + "] gathers " + std::to_string(is.gathers) + " (" +
            std::to_string(is.gathered) + " bytes), reductions " + std::to_string(is.reductions) + " (" +
            std::to_string(is.reduced) + ")\n";
  return text;
}

inline Wire by_unit(const planning::WireLog& log, bool each_iteration) {
  Wire wire;
  for (std::size_t i = 0; i < log.count; ++i) {
    const planning::WireLog::Call& call = log.calls[i];
    UnitWire& unit = wire[{call.path.place(), each_iteration ? call.path.iteration : 0}];
    (call.gathers ? unit.gathers : unit.reductions) += call.copies;
    (call.gathers ? unit.gathered : unit.reduced) += call.copies * call.bytes;
  }
  return wire;
}

/// What the plan says of each unit, after it was found to be what each rank started, one by one and in this order.
template <class Train>
Wire wire_of(std::size_t ranks) {
  static const Fake data({.samples = 640, .classes = 11, .seed = 3});
  std::vector<std::vector<comm::Span>> seen(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    comm::Tracing<comm::Threads> tracing(communicator);
    Train trainer(tracing);
    trainer.fit(data, {.steps = 1, .progress = false});
    tracing.reset();
    trainer.fit(data, {.steps = 2, .progress = false});
    for (const comm::Span& span : tracing.spans())
      if (span.kind != comm::CollectiveKind::AllGatherSmall) seen[communicator.rank()].push_back(span);
  });
  planning::WireLog each, shortened;
  Train::Recipe::walk_step(Train::batch, true, nullptr, ranks, &each);
  Train::Recipe::walk_step(Train::batch, false, nullptr, ranks, &shortened);
  for (const auto& spans : seen) {
    REQUIRE(spans.size() == each.count);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < each.count; ++i)
      differing += spans[i].bytes != each.calls[i].bytes ||
                   spans[i].kind !=
                       (each.calls[i].gathers ? comm::CollectiveKind::AllGather : comm::CollectiveKind::ReduceScatter);
    CHECK(differing == 0);
  }
  const Wire wire = by_unit(each, true);
  Wire together;
  std::size_t bytes = 0;
  for (const auto& [unit, is] : wire) {
    UnitWire& sum = together[{unit.first, 0}];
    sum = {sum.gathers + is.gathers, sum.reductions + is.reductions, sum.gathered + is.gathered,
           sum.reduced + is.reduced};
    bytes += is.gathered + is.reduced;
  }
  CHECK(text_of(by_unit(shortened, false)) == text_of(together));  // iterations that the plan skips are not forgotten
  CHECK(Train::plan(Train::batch, ranks).wire() == bytes);
  return wire;
}

/// A unit as the model has it: its place, how often it is there, its elements.
struct UnitShape {
  const char* place;
  std::size_t iterations, elements;
};
// Parameters of a block of 16 channels and of the layers around it: gain and bias; four products with bias.
inline constexpr std::size_t norm_elements = 2 * 16,
                             block_elements =
                                 2 * norm_elements + (16 * 48 + 48) + (16 * 16 + 16) + (16 * 64 + 64) + (64 * 16 + 16),
                             table_elements = 11 * 16, position_elements = 8 * 16;
inline std::vector<UnitShape> units_of_gpt(std::size_t depth) {
  return {{"0", 1, table_elements},
          {"1", 1, position_elements},
          {"3", depth, block_elements},
          {"4", 1, norm_elements},
          {"5", 1, 16 * 11 + 11}};
}
inline std::vector<UnitShape> units_of_tied(std::size_t depth) {  // the table behind all layers
  return {{"1", 1, position_elements}, {"2", depth, block_elements}, {"3", 1, norm_elements}, {"5", 1, table_elements}};
}

/// Elements that a rank sends when it gathers or reduces a unit once: (N - 1) slices of 1/N, each filled up to whole
/// lines of its narrowest element.
constexpr std::size_t sent_once(std::size_t elements, std::size_t ranks, std::size_t narrowest) {
  const std::size_t line = TensorArena::alignment / narrowest;
  std::size_t slice = 0;
  while (slice * ranks < elements) slice += line;
  return slice * (ranks - 1);
}

/// Of a unit and its iteration: how often its parameters (or sums) are gathered, its gradients reduced, in a step.
using Times = std::function<std::pair<std::size_t, std::size_t>(const std::string& place, std::size_t iteration)>;
inline Wire expected_wire(const std::vector<UnitShape>& units, std::size_t ranks, const Times& times,
                          std::size_t value_bytes = 4) {
  Wire wire;
  for (const UnitShape& unit : units)
    for (std::size_t i = 0; i < unit.iterations; ++i) {
      const auto [gathers, reductions] = times(unit.place, i);
      const std::size_t sent = sent_once(unit.elements, ranks, value_bytes);
      wire[{unit.place, i}] = {gathers, reductions, gathers * sent * value_bytes, reductions * sent * 4};
    }
  return wire;
}
/// Elements of all units, and what fills their slices up.
inline std::size_t padded_elements(const std::vector<UnitShape>& units, std::size_t ranks, std::size_t narrowest = 4) {
  std::size_t sum = 0;
  for (const UnitShape& unit : units)
    sum += unit.iterations * sent_once(unit.elements, ranks, narrowest) / (ranks - 1) * ranks;
  return sum;
}
inline std::size_t elements(const std::vector<UnitShape>& units) {
  std::size_t sum = 0;
  for (const UnitShape& unit : units) sum += unit.iterations * unit.elements;
  return sum;
}
inline std::size_t bytes(const Wire& wire) {
  std::size_t sum = 0;
  for (const auto& [unit, is] : wire) sum += is.gathered + is.reduced;
  return sum;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
