// tests/random/emulated.hpp — a seed's program on the emulated device: in fp64 beside the CPU engine, and in its own
// formats.
#pragma once

#include "random/seed.hpp"
#include "support/lars.hpp"

#include <regimen/engine/emulated/device.hpp>

namespace regimen::random {

/// Policies for a device: for a rule of whole tensors that computes on spans of the host, one that is written by
/// operations.
template <class Policies>
using on_device =
    std::conditional_t<regimen::detail::sees_whole_tensors<typename policy_in<Policies, axis::optimizer>::rule> &&
                           !UpdatesByOperations<typename policy_in<Policies, axis::optimizer>::rule>,
                       mp::mp_push_back<without<Policies, axis::optimizer>, Optimizer<rules::Lars>>, Policies>;

/// The same for one rank: without what speaks of ranks.
template <class Network, class Policies>
struct on_one_device {
  using Elements = on_device<Policies>;
  using Alone = without<Elements, axis::communicator, axis::world, axis::shard>;
  using type = std::conditional_t<composable<Network, Alone>, Alone, without<Alone, axis::accumulate>>;
};

/// Policies with Offload, beside layers that are recomputed; without it where the model has no block that moves.
template <class Schedules>
struct offloading {
  using type = Checkpoint<Offload>;
};
template <class... Layers>
struct offloading<Checkpoint<Selective<Layers...>>> {
  using type = Checkpoint<Offload, Selective<Layers...>>;
};
template <template <class> class Predicate>
struct offloading<Checkpoint<regimen::If<Predicate>>> {
  using type = Checkpoint<Offload, regimen::If<Predicate>>;
};
template <class P, class Policies, class Where>
constexpr auto offloaded() {
  if constexpr (P::Drawn::depth > 2) {
    using All = changed<Policies, typename offloading<policy_in<Policies, axis::checkpoint>>::type>;
    if constexpr (composable<typename P::Net, mp::mp_append<All, Where>>) return All{};
    else return Policies{};
  } else {
    return Policies{};
  }
}

/// Whether layers of a model compute in another type than the program.
template <class Layer>
inline constexpr bool mixes_types = false;
template <template <class...> class Combinator, class... Layers>
inline constexpr bool mixes_types<Combinator<Layers...>> = (mixes_types<Layers> || ...);
template <std::size_t Count, class Block>
inline constexpr bool mixes_types<Repeat<Count, Block>> = mixes_types<Block>;
template <class T, class... Layers>
inline constexpr bool mixes_types<As<T, Layers...>> = true;

/// Whether a product with a bias ends a branch that is added: its epilogue adds the other branches before the bias.
template <class Layer>
inline constexpr bool ends_with_biased_product = rule::ends_with_bias<Layer>;
template <class... Options>
inline constexpr bool ends_with_biased_product<in_order::SelfAttention<Options...>> = true;
template <class First, class... Others>
inline constexpr bool ends_with_biased_product<Sequential<First, Others...>> =
    ends_with_biased_product<mp::mp_back<mp::mp_list<First, Others...>>>;
template <class Layer>
struct adds_before_a_bias : std::false_type {};
template <class... Layers>
struct adds_before_a_bias<Residual<Layers...>> : std::bool_constant<ends_with_biased_product<Sequential<Layers...>>> {};
template <class... Branches>
struct adds_before_a_bias<Fork<Add, Branches...>> : std::bool_constant<(ends_with_biased_product<Branches> || ...)> {};

/// Where products have epilogues, and fp32 is all that is stored: an epilogue does what a kernel does behind it, so
/// weights have the same bits, unless it adds in another order. A norm is a sum over units, of which a fused layer is
/// one, so nothing may depend on it.
template <class Network, class Policies>
inline constexpr bool epilogues_change_no_bit =
    std::is_same_v<typename policy_in<Policies, axis::precision>::master, fp32> &&
    sizeof(typename policy_in<Policies, axis::precision>::compute) == 4 && !mixes_types<Network> &&
    !mp::mp_any_of<typename detail::all_in<typename rule::parts_t<Network>::Layers>::type, adds_before_a_bias>::value &&
    policy_in<Policies, axis::fusion>::fuses && std::is_same_v<policy_in<Policies, axis::clip>, Clip<None>>;

/// Ranks with a device each, beside ranks on the CPU, in fp64 and under the program's Shard.
template <class P, class There>
void check_ranks(Findings& findings) {
  using Sharded = mp::mp_push_back<on_device<typename P::WidePolicies>, policy_in<typename P::Policies, axis::shard>>;
  const Case here = case_of<typename P::Wide, mp::mp_push_back<Sharded, Communicator<Threads>>, nothing>();
  const Case there =
      case_of<typename P::Wide, mp::mp_append<mp::mp_push_back<Sharded, Communicator<Nccl>>, There>, nothing>();
  for (const std::size_t ranks : here.ranks())
    findings.expect(close(Training{.ranks = ranks}(here, findings),
                          Training{.ranks = ranks, .poison = true}(there, findings), step_count),
                    std::to_string(ranks) + " ranks with a device each compute something else than ranks on the CPU");
}

/// What is wrong, in words. In fp64 the device computes what the CPU engine does but for the order of sums; in any
/// format it reads no dead memory, does what is planned, goes on from a saved state with the same bits, and in fp32 has
/// the same weights with and without epilogues.
template <std::uint64_t Seed, Id... Without>
std::string check_emulated() {
  using P = Program<Seed, Without...>;
  using Wide = typename on_one_device<typename P::Wide, typename P::WidePolicies>::type;
  using Own = typename on_one_device<typename P::Net, typename P::Policies>::type;
  constexpr OnDevice drawn = drawn_on_device(Seed);
  constexpr bool fuses = policy_in<Own, axis::fusion>::fuses, separates = drawn.separate && fuses;
  using Form = mp::mp_list<
      Device<Emulated>,
      std::conditional_t<network_shares_keys<typename P::Net>, Attention<Tiled>, mp::mp_at_c<Forms, drawn.form>>,
      std::conditional_t<drawn.library, Convolution<Cudnn>, Convolution<>>>;
  using Apart = mp::mp_push_back<Form, Epilogue<Separate>>;
  using There = std::conditional_t<separates, Apart, Form>;
  Findings findings("seed " + std::to_string(Seed) + " on the emulated device" + (drawn.fibers ? ", by fibers" : "") +
                    "\n  " + name_of_type<typename P::Drawn::type>() + "\n  " + name_of_type<Own>() + "\n  " +
                    name_of_type<There>());
  try {
    const ::test::Directory folder;
    const std::string file = folder / "state.safetensors";
    const std::uint64_t at = 1 + Philox::mix(Seed, 5) % (step_count - 1);
    emulated::Runtime::defaults = {.seed = Seed, .fibers = drawn.fibers};
    const Case here = case_of<typename P::Wide, Wide, nothing>();
    const Case there = case_of<typename P::Wide, mp::mp_append<Wide, There>, nothing>();
    findings.expect(close(Training{}(here, findings), Training{.poison = true}(there, findings), step_count),
                    "the device computes something else than the CPU engine");
    const Case own = case_of<typename P::Net, mp::mp_append<Own, There>, saves | loads>();
    const Outcome clean = Training{}(own, findings);
    findings.expect(clean == Training{.poison = true}(own, findings), "dead memory is read");
    emulated::Runtime::defaults.seed = Seed + 1;
    findings.expect(clean == Training{.poison = true, .file = file, .at = at}(own, findings),
                    "what was resumed after step " + std::to_string(at) + " computes other bits");
    if constexpr (drawn.offloads) {
      using Moved = decltype(offloaded<P, Own, There>());
      if constexpr (!std::is_same_v<Moved, Own>)
        findings.expect(clean == Training{.poison = true}(
                                     case_of<typename P::Net, mp::mp_append<Moved, There>, nothing>(), findings),
                        "blocks that wait in the host's memory change bits");
    }
    if constexpr (drawn.ranks &&
                  !std::is_same_v<typename policy_in<typename P::Policies, axis::communicator>::ranks, Solo>)
      check_ranks<P, There>(findings);
    if constexpr (epilogues_change_no_bit<typename P::Drawn::type, Own>) {
      using Other = std::conditional_t<separates, Form, Apart>;
      Outcome other =
          Training{.poison = true}(case_of<typename P::Net, mp::mp_append<Own, Other>, nothing>(), findings);
      findings.expect(close(clean, other, step_count), "epilogues change losses or norms");
      for (std::uint64_t step = 0; step < step_count; ++step) other.values[4 * step + 1] = clean.values[4 * step + 1];
      findings.expect(clean == other, "epilogues change bits in fp32");
    }
  } catch (const std::exception& error) { findings.expect(false, std::string("an exception: ") + error.what()); }
  emulated::Runtime::defaults = {};
  return findings.text();
}

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
