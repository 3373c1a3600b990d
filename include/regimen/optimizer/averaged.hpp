// regimen/optimizer/averaged.hpp — any update rule, and a moving average of its weights.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/core/whole_tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace regimen {

#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_error 20011, 20014
#endif
namespace detail {

/// The first states of a rule, for the rule within. (nvcc takes no register of the CPU by its name in a function for a
/// device.)
template <class V, std::size_t count>
struct FirstStates final {
  V at[count];
};
template <class V, class... More>
FirstStates(V, More...) -> FirstStates<V, 1 + sizeof...(More)>;

template <class V, std::size_t all, std::size_t... i>
REGIMEN_HD constexpr auto first_states(const V (&state)[all], std::index_sequence<i...>) {
  return FirstStates{state[i]...};
}

}  // namespace detail

/// Updates the weights by UpdateRule, then their average w̄:   w̄ ← β w̄ + (1 − β) w,   w̄ = w after the first step. A
/// step that does not count leaves w̄ unchanged.
///
///   Trainer<Gpt, Optimizer<Averaged<AdamW>>> trainer;                   or of a group: Split<Matrices<Averaged<Muon>>, ...>
///   trainer.fit(...);
///   trainer.with_average([&] { trainer.evaluate(held_out); });          inside, the weights are the averages
///   trainer.fit(text, held_out, {.steps = 1000, .validate_average = true});   evaluates them
///   trainer.save_average("average.safetensors");                        for Inference, and for load_weights
///
///   Decay    β, a Ratio in [0, 1): 1/(1 − β) is the memory in steps
///   Options  the options of UpdateRule
///   state    one more array in Master, "average". Like all optimizer state it is in slices, in the plan and in files
///   cost     for an elementwise rule no further pass over the weights; for other rules two operations for each tensor
///   source   Polyak, Juditsky 1992; with exponential weights as torch.optim.swa_utils.get_ema_multi_avg_fn
template <class UpdateRule, class Decay = Ratio<999, 1000>>
struct Averaged final {
  using Options = typename UpdateRule::Options;
  static constexpr bool sees_whole_tensors = requires { requires UpdateRule::sees_whole_tensors; };
  static constexpr std::size_t states = UpdateRule::states + 1, average = UpdateRule::states,
                               numbers = detail::scratch_numbers<UpdateRule> + 2;
  static constexpr std::array<const char*, states> state_names = [] {
    std::array<const char*, states> names{};
    if constexpr (average > 0)
      for (std::size_t i = 0; i < average; ++i) names[i] = UpdateRule::state_names[i];
    names[average] = "average";
    return names;
  }();

  template <class Master>
  static void check(const Options& options) {
    if constexpr (requires { UpdateRule::template check<Master>(options); })
      UpdateRule::template check<Master>(options);
  }
  static void list(const Options& options, const auto& f)
    requires requires { UpdateRule::list(options, f); }
  {
    UpdateRule::list(options, f);
  }
  REGIMEN_HD static double correction_first(const Options& o, std::uint64_t t) {
    return UpdateRule::correction_first(o, t);
  }
  REGIMEN_HD static double correction_second(const Options& o, std::uint64_t t) {
    return UpdateRule::correction_second(o, t);
  }
  static constexpr auto scratch(std::size_t rows, std::size_t columns) {
    if constexpr (requires { UpdateRule::scratch(rows, columns); }) return UpdateRule::scratch(rows, columns);
    else return std::size_t{0};
  }

  /// β in this step.
  REGIMEN_HD static double kept(const Scalars& s) { return s.updates > 1 ? Decay::value : 0; }

  template <class S>
    requires requires { typename UpdateRule::template Coefficients<S>; }
  struct Coefficients {
    typename UpdateRule::template Coefficients<S> rule;
    S keep, take;

    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s)
        : rule(o, s), keep(static_cast<S>(kept(s))), take(static_cast<S>(1 - kept(s))) {}
  };

  /// Updates one element (V = S) or a register of elements.
  template <class V, class S>
  REGIMEN_HD static void update(V& weight, V gradient, V (&state)[states], const Coefficients<S>& c, bool decays) {
    auto own = detail::first_states(state, std::make_index_sequence<(average == 0 ? 1 : average)>{});
    UpdateRule::update(weight, gradient, own.at, c.rule, decays);
    for (std::size_t i = 0; i < average; ++i) state[i] = own.at[i];
    follow(state[average], weight, c);
  }

  /// Whole tensors, by operations.
  struct Shares final {
    REGIMEN_HD void operator()(double* n, const Scalars& s) const { n[0] = kept(s), n[1] = 1 - kept(s); }
  };
  template <class M>
    requires UpdatesByOperations<UpdateRule>
  static constexpr void update_tensor(auto& walk, const TensorViews<M, Averaged>& t, const Options& o) {
    TensorViews<M, UpdateRule> own{.weight = t.weight,
                                   .gradient = t.gradient,
                                   .numbers = t.numbers + 2,
                                   .scalars = t.scalars,
                                   .rows = t.rows,
                                   .columns = t.columns,
                                   .decays = t.decays};
    for (std::size_t i = 0; i < average; ++i) own.state[i] = t.state[i];
    for (std::size_t i = 0; i < own.scratch.size(); ++i) own.scratch[i] = t.scratch[i];
    UpdateRule::update_tensor(walk, own, o);
    walk.run(op::Calculate<Shares>{t.numbers, t.scalars, 2});
    walk.run(op::ScaledSum<M, M>{.x = t.weight,
                                 .y = t.state[average],
                                 .count = t.count(),
                                 .a = {1, t.numbers + 1},
                                 .b = {1, t.numbers},
                                 .scalars = t.scalars});
  }
  /// Whole tensors, on spans of the host.
  template <class M>
  static void update_tensor(const WholeTensor<M, states>& t, const Coefficients<M>& c)
    requires(sees_whole_tensors && !UpdatesByOperations<UpdateRule>)
  {
    WholeTensor<M, average> own{.weight = t.weight,
                                .gradient = t.gradient,
                                .state = {},
                                .scratch = t.scratch,
                                .rows = t.rows,
                                .columns = t.columns,
                                .decays = t.decays};
    for (std::size_t i = 0; i < average; ++i) own.state[i] = t.state[i];
    UpdateRule::update_tensor(own, c.rule);
    for (std::size_t i = 0; i < t.weight.size(); ++i) follow(t.state[average][i], t.weight[i], c);
  }

 private:
  /// w̄ ← β w̄ + (1 − β) w, of one element or a register.
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void follow(V& average_weight, const V& weight, const Coefficients<S>& c) {
    average_weight = average_weight * c.keep + weight * c.take;
  }
};
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
