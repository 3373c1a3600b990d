// tests/random/emulated.hpp — a seed's program on the emulated device: in fp64 beside the CPU engine, and in its own formats.
#pragma once

#include "random/seed.hpp"
#include "support/catch.hpp"
#include "support/lars.hpp"

#include <regimen/engine/emulated/device.hpp>

namespace regimen::random {

/// Policies for one rank on a device: without what speaks of ranks; for a rule of whole tensors that computes on spans of
/// the host, one that is written by operations.
template <class Network, class Policies>
struct on_one_device {
  using Rule = typename policy_in<Policies, axis::optimizer>::rule;
  using Elements =
      std::conditional_t<regimen::detail::sees_whole_tensors<Rule>,
                         mp::mp_push_back<without<Policies, axis::optimizer>, Optimizer<rules::Lars>>, Policies>;
  using Alone = without<Elements, axis::communicator, axis::world, axis::shard>;
  using type = std::conditional_t<composable<Network, Alone>, Alone, without<Alone, axis::accumulate>>;
};

/// Composed, but for one head at a time.
struct HeadByHead final {
  using option_of = axis::attention;
  static constexpr std::size_t score_bytes = 1;
};
using Forms = mp::mp_list<Attention<>, Attention<Tiled>, Attention<HeadByHead>>;

/// What is wrong, in words. In fp64 the device computes what the CPU engine does but for the order of sums; in any format
/// it reads no dead memory, does what is planned, and goes on from a saved state with the same bits.
template <std::uint64_t Seed>
std::string check_emulated() {
  using P = Program<Seed>;
  using Wide = typename on_one_device<typename P::Wide, typename P::WidePolicies>::type;
  using Own = typename on_one_device<typename P::Net, typename P::Policies>::type;
  using There = mp::mp_list<Device<Emulated>, mp::mp_at_c<Forms, mix(Seed, 9) % mp::mp_size<Forms>::value>>;
  Findings findings("seed " + std::to_string(Seed) + " on the emulated device\n  " +
                    name_of_type<typename P::Drawn::type>() + "\n  " + name_of_type<Own>());
  try {
    const ::test::Directory folder;
    const std::string file = folder / "state.safetensors";
    const std::uint64_t at = 1 + mix(Seed, 5) % (step_count - 1);
    emulated::Runtime::defaults = {.seed = Seed};
    const Case here = case_of<typename P::Wide, Wide, nothing>();
    const Case there = case_of<typename P::Wide, mp::mp_append<Wide, There>, nothing>();
    findings.expect(close(Training{}(here, findings), Training{.poison = true}(there, findings), step_count),
                    "the device computes something else than the CPU engine");
    const Case own = case_of<typename P::Net, mp::mp_append<Own, There>, saves | loads>();
    const Outcome clean = Training{}(own, findings);
    findings.expect(clean == Training{.poison = true}(own, findings), "dead memory is read");
    emulated::Runtime::defaults = {.seed = Seed + 1};
    findings.expect(clean == Training{.poison = true, .file = file, .at = at}(own, findings),
                    "what was resumed after step " + std::to_string(at) + " computes other bits");
  } catch (const std::exception& error) { findings.expect(false, std::string("an exception: ") + error.what()); }
  emulated::Runtime::defaults = {};
  return findings.text();
}

template <std::uint64_t Seed>
void hold_on_the_device() {
  const std::string wrong = check_emulated<Seed>();
  INFO(wrong);
  CHECK(wrong.empty());
}

}  // namespace regimen::random

#define REGIMEN_RANDOM_EMULATED(first)                                                                        \
  TEST_CASE("a random program on the device, seed " #first) { regimen::random::hold_on_the_device<first>(); } \
  TEST_CASE("a random program on the device, seed " #first " + 1") {                                          \
    regimen::random::hold_on_the_device<first + 1>();                                                         \
  }                                                                                                           \
  TEST_CASE("a random program on the device, seed " #first " + 2") {                                          \
    regimen::random::hold_on_the_device<first + 2>();                                                         \
  }                                                                                                           \
  TEST_CASE("a random program on the device, seed " #first " + 3") { regimen::random::hold_on_the_device<first + 3>(); }
// SPDX-License-Identifier: Apache-2.0
