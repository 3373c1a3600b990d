// bench/link_model.hpp — how long a step of many GPUs takes, from its plan and what is stated of links and machines.
//
// A collective of n bytes from each of R ranks on M machines, by a ring (R − 1 hops, of which M − 1 between machines)
// or a tree (log2 of them each), as NCCL's own model has it:
//
//   t = base + hops inside · α(NVLink) + hops between · α(network) + n / β      β: the slower of the links on the way,
//   one direction
//
// A phase takes between max(compute, communication), everything beside everything, and their sum, nothing. All of it is
// an estimate, by default from stated figures; of the rates of links and arithmetic one can give measured ones.
#pragma once

#include <regimen/regimen.hpp>

#include <array>
#include <cstddef>

namespace bench {
using namespace regimen;

/// bandwidth   bytes per second that a GPU sends, in one direction, while it receives as many      hop   seconds
struct LinkSpeed {
  const char* name;
  double bandwidth, hop;
};

/// source   NVIDIA, as others quote the data sheets of H100 and H200: NVLink 900 GB/s, both directions together. Hop:
///          src/graph/tuning.cc of NCCL, ring, simple protocol, as quoted
inline constexpr LinkSpeed nvlink4{"NVLink 4", 450e9, 3.4e-6};
/// source   likewise, of DGX H100 and H200: eight ConnectX-7 of 400 Gb/s for eight GPUs. Hop: as quoted; an older NCCL,
///          which was read, has 9.6e-6
inline constexpr LinkSpeed infiniband_ndr{"InfiniBand NDR", 50e9, 14e-6};
inline constexpr std::size_t gpus_of_machine = 8;
struct Links {
  LinkSpeed inside = nvlink4, between = infiniband_ndr;  // a machine; machines
};
/// What every collective takes, however few bytes and ranks. source: NCCL, as above.
inline constexpr double base_seconds = 8.4e-6;

constexpr std::size_t log2_up(std::size_t count) {
  std::size_t levels = 0;
  while ((std::size_t{1} << levels) < count) ++levels;
  return levels;
}

enum class Way { ring, tree };

/// One collective of `members` ranks, each `stride` GPUs from the next, that sends so many bytes from each.
constexpr double seconds_of(double bytes, std::size_t members, std::size_t stride, Way way, const Links& links = {}) {
  if (members <= 1) return 0;
  const std::size_t inside = stride >= gpus_of_machine            ? 1
                             : gpus_of_machine / stride < members ? gpus_of_machine / stride
                                                                  : members;
  const std::size_t machines = (members + inside - 1) / inside;
  const std::size_t hops_between = way == Way::ring ? machines - 1 : log2_up(machines);
  const std::size_t hops_inside = way == Way::ring ? members - 1 - hops_between : log2_up(inside);
  return base_seconds + double(hops_inside) * links.inside.hop + double(hops_between) * links.between.hop +
         bytes / (machines > 1 ? links.between.bandwidth : links.inside.bandwidth);
}

static_assert(seconds_of(1e9, 1, 1, Way::ring) == 0);
static_assert(seconds_of(0, 8, 1, Way::ring) == base_seconds + 7 * nvlink4.hop);
static_assert(seconds_of(0, 16, 1, Way::ring) == base_seconds + 14 * nvlink4.hop + infiniband_ndr.hop);
static_assert(seconds_of(0, 1024, 1, Way::tree) == base_seconds + 3 * nvlink4.hop + 7 * infiniband_ndr.hop);
static_assert(seconds_of(0, 8, 8, Way::ring) ==
              base_seconds + 7 * infiniband_ndr.hop);  // one GPU of each of eight machines
static_assert(seconds_of(45e9, 8, 1, Way::ring) > 0.1 && seconds_of(45e9, 8, 1, Way::ring) < 0.1001);

/// A plan that also asks the links how long each collective takes, of one rank; every iteration of a Repeat by itself.
struct LinkedPlan : planning::Engine<cpu::Traits> {
  Way way;
  Links links;
  std::array<std::size_t, 3> collectives{};
  std::array<double, 3> seconds{};

  constexpr LinkedPlan(std::size_t world, Way shape, const Links& speeds)
      : planning::Engine<cpu::Traits>(world, true), way(shape), links(speeds) {}
  constexpr std::size_t all_gather(const engines::Transfer& transfer) {
    add(transfer);
    return planning::Engine<cpu::Traits>::all_gather(transfer);
  }
  constexpr std::size_t reduce_scatter(const engines::Transfer& transfer) {
    add(transfer);
    return planning::Engine<cpu::Traits>::reduce_scatter(transfer);
  }

 private:
  constexpr void add(const engines::Transfer& transfer) {
    const comm::Teams teams = transfer.teams;
    const std::size_t members = teams.members(ranks), at = static_cast<std::size_t>(phase);
    ++collectives[at];
    seconds[at] +=
        seconds_of(double(transfer.bytes * (members - 1)), members, teams.size == 0 ? 1 : teams.stride, way, links);
  }
};

/// What is predicted of one step.   compute, sends: without each other      at_best, at_worst: everything, or nothing,
///                                  beside each other
struct Predicted {
  std::size_t ranks = 1, collectives = 0;
  double bytes = 0, compute = 0, sends = 0, at_best = 0, at_worst = 0;
};

/// A step of `ranks` machines of type Machine that reach `share` of its stated peak in their arithmetic; each has a
/// batch of Train's.
template <class Train, class Machine>
Predicted predict(std::size_t ranks, double share, Way way, const Links& links) {
  using Compute = typename Train::Recipe::Roles::compute;
  walk::Walk<LinkedPlan> walk(Train::batch, ranks, 0, ranks, way, links);
  const programs::Resident resident = Train::Step::setup(walk);
  Train::Step::step(walk, resident, Train::Recipe::loss_scaling, Train::Recipe::clip, {},
                    [](std::size_t) { return true; });
  const LinkedPlan& counted = walk.engine;
  Predicted found{ranks};
  for (std::size_t phase = 0; phase < 3; ++phase) {
    const Cost& cost = counted.cost[phase];
    const double arithmetic = cost.flops / (Machine::template flops<Compute> * share),
                 memory = cost.bytes / Machine::bandwidth;
    const double compute = arithmetic > memory ? arithmetic : memory;
    const double sends = counted.seconds[phase];
    const bool overlaps =
        phase != static_cast<std::size_t>(op::Phase::update);  // what is gathered after the update waits for it
    found.collectives += counted.collectives[phase];
    found.bytes += double(cost.wire);
    found.compute += compute;
    found.sends += sends;
    found.at_best += overlaps ? (compute > sends ? compute : sends) : compute + sends;
    found.at_worst += compute + sends;
  }
  return found;
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
