// regimen/trainers/inference.hpp — a trained model for prediction.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/one_thread.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/inference.hpp>
#include <regimen/rule/model_rules.hpp>
#include <regimen/rule/plan_range.hpp>
#include <regimen/rule/rejected.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/inference_session.hpp>
#include <regimen/trainers/refused_data.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

/// A model for prediction. Its policies are Precision, Batch, Device, Target, Fusion, Attention and Convolution, in any
/// order.
///
///   Inference<Gpt, Precision<bf16>, Batch<1>> model("gpt.safetensors");
///   const std::vector<float> logits = model.predict(tokens);
///
/// Each parameter is stored once, in the compute type: Precision<bf16> needs no fp32 master weights.
///
/// memory    one arena of exactly planned().peak bytes: parameters, one batch of input, the activations of a layer or
///           two, and, for a causal model of tokens, keys and values of one text (the kind `cache`)
/// failure   an impossible recipe does not compile; other failures are thrown as Error
/// threads   one thread at a time may call an Inference; a second one gets an Error. For several threads make one
///           Inference for each, by share()
template <class Network, class... Policies>
class Inference {
  using Inside = trainers::InferenceSession<programs::InferenceRecipe<Network, ConfigurationOf<Policies...>>,
                                            typename engines::OfConfiguration<ConfigurationOf<Policies...>>::type>;

 public:
  using Configuration = ConfigurationOf<Policies...>;
  using Recipe = programs::InferenceRecipe<Network, Configuration>;
  using Step = typename Recipe::Step;
  using Input = typename Step::X::Element;
  using Output = typename Step::Output::Element;  // at least fp32
  using Engine = typename engines::OfConfiguration<Configuration>::type;

  static constexpr std::size_t batch = Recipe::batch;  // samples per forward pass
  static constexpr std::size_t input_size = Step::X::size, output_size = Step::Output::size,
                               output_rows = Step::Output::rows;  // per sample

  /// Bytes and work of one batch, a constant: no gradients, no optimizer state.
  static constexpr const MemoryPlan& plan() { return Recipe::plan; }
  /// The plan for any batch, computed at run time. Throws Error for a batch of 0, or if the number of bytes overflows.
  static MemoryPlan plan(std::size_t batch_size) {
    rule::check_plan<Network, Configuration>("Inference::plan", batch_size);
    return Recipe::make_plan(batch_size);
  }
  /// The plan of an Inference from share(): plan() without parameters.
  static constexpr const MemoryPlan& shared_plan() { return Recipe::shared_plan; }
  /// The plan of this Inference: shared_plan() if it is from share(), else plan().
  const MemoryPlan& planned() const& { return *inside("Inference::planned").plan; }
  MemoryPlan planned() const&& { return planned(); }

  /// Without weights, until load is called or parameters() are written.   threads   as Options::threads
  explicit Inference(int threads = 0) : inside_(std::make_unique<Inside>(threads)) {
    static_assert(
        sizeof(typename rule::device_runs_here<typename Configuration::device, engines::runs_here<Engine>>::must_hold));
  }
  explicit Inference(const std::string& path, int threads = 0) : Inference(threads) { load(path); }

  /// Another Inference for another thread: it shares the weights of this one, and has an arena of its own. Its
  /// predictions have the same bits. If one of the sharing Inferences loads weights, all have the new weights. The
  /// weights live until the last of these Inferences ends.
  ///
  ///   threads   of each call, as Options::threads; by default the number of this Inference. If your program has a
  ///             thread for each processor, give each Inference 1
  ///
  /// memory    exactly shared_plan().peak bytes. The memory of the first Inference stays until the last one ends
  /// threads   any thread may call share, also while another predicts; share waits while another loads
  template <class Where = typename Configuration::device>
  Inference share() const {
    return share<Where>(inside("Inference::share").threads);
  }
  template <class Where = typename Configuration::device>
  Inference share(int threads) const {
    static_assert(sizeof(typename rule::device_shares_weights<Where, engines::BorrowsMemory<Engine>>::must_hold));
    if constexpr (engines::BorrowsMemory<Engine>)
      return Inference(std::make_unique<Inside>(inside("Inference::share"), threads));
    else return Inference(threads);
  }

  /// A call of the moved-from Inference throws Error.
  Inference(Inference&&) noexcept = default;
  Inference& operator=(Inference&&) noexcept = default;
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  /// The error for a copy. (The copy of a const Inference is deleted, for type traits.)
  template <class Other>
    requires std::is_same_v<Other, Inference&>
  Inference(Other&& other) : Inference(other.share()) {
    static_assert(sizeof(typename rule::inference_is_not_copied<std::remove_reference_t<Other>>::must_hold));
  }

  /// Reads weights from a state that Trainer::save wrote, with one rank or several, or from a file that has only
  /// weights. The file's element type may differ: each value is rounded once. A file that does not fit changes nothing.
  /// Refuses while another thread is in a call of an Inference with these weights.
  void load(const std::string& path) {
    const Writing in(*this, "Inference::load");
    in.of.load(path);
  }

  /// The model's output for any number of samples.   inputs (samples,input_size)  →  (samples,output_size)
  /// With several outputs: all outputs of a sample, then all outputs of the next sample.
  std::vector<Output> predict(std::span<const Input> inputs) {
    const Entry in(*this, "Inference::predict");
    in.of.expect_weights("Inference::predict");
    const typename Inside::Abandon at_the_end{in.of};
    return programs::predict_all<Step>(in.of.walk, in.of.resident, inputs, rule::vocabulary_of<Network>(),
                                       "Inference::predict");
  }
  /// Refuses data in another type than the model's input: convert them explicitly.
  template <class Data>
    requires(!trainers::ReadAs<Data, Input>)
  std::vector<Output> predict(const Data&) const {
    static_assert(sizeof(trainers::refused_data<Data, Input>));
    return {};
  }

  /// Whether the model decodes incrementally: a causal model of tokens whose other layers declare couples_positions =
  /// false; or a Fork<Last, encoder, decoder> whose decoder is such a model and attends to the encoder's named value.
  static constexpr bool decodes = Recipe::decodes;

  /// Reads the beginning of a text, 1 to T tokens, into the cache of keys and values; next() continues from there.
  /// Returns the logits (V) of the next token: within rounding the logits that predict gives for the last position.
  ///
  /// cost     for a short text one position per token, for a longer text a forward pass over the window
  template <class Of = Recipe>
    requires(Of::decodes && !Of::translates)
  std::vector<Output> start(std::span<const Input> text) {
    const Entry in(*this, "Inference::start");
    in.of.expect_window(text.size());
    programs::check_tokens(text, Recipe::window, rule::vocabulary_of<Network>(), "Inference::start", 0);
    in.of.begin_text();
    if (text.size() * 16 > Recipe::window) return in.of.template read<Recipe::window>(text);
    for (const Input& token : text.first(text.size() - 1)) in.of.template read<1>({&token, 1});
    return in.of.template read<1>(text.last(1));
  }
  /// For a model of two texts: reads the source, and the beginning of the target. The source has S tokens, or fewer if
  /// the encoder has a KeepLength and some attention is Within it. The cache also has keys and values of the encoder's
  /// text.
  ///
  /// cost     the encoder once; one position of the decoder per token of the beginning
  template <class Of = Recipe>
    requires(Of::decodes && Of::translates)
  std::vector<Output> start(std::span<const std::int32_t> source, std::span<const std::int32_t> text) {
    const Entry in(*this, "Inference::start");
    in.of.expect_window(text.size());
    constexpr std::size_t length = sizeof(Of::Step::X::Element::first) / sizeof(std::int32_t);
    constexpr std::int32_t padding = rule::two_texts<typename rule::parts_t<typename Of::Network>::Layers>::padding;
    programs::check_source(source.size(), length, padding, "Inference::start");
    std::vector<std::int32_t> whole(source.begin(), source.end());
    whole.resize(length, padding);
    constexpr auto vocabulary = rule::vocabulary_of<typename Of::Network>();
    programs::check_tokens(std::span<const std::int32_t>(whole), length, vocabulary[0], "Inference::start, source", 0);
    programs::check_tokens(text, Recipe::window, vocabulary[1], "Inference::start", 0);
    programs::upload(in.of.walk, View<std::int32_t>{in.of.resident.input}, std::span<const std::int32_t>(whole)).wait();
    in.of.begin_text();
    for (const std::int32_t& token : text.first(text.size() - 1)) in.of.template read_target<Of>(token);
    return in.of.template read_target<Of>(text.back());
  }
  /// Reads one more token, and returns the logits of the token after it.        (V)
  ///
  /// cost     one position, and attention to the earlier ones
  /// failure  Error before start, and if the window is full: cached positions cannot shift
  template <class Of = Recipe>
    requires Of::decodes
  std::vector<Output> next(std::int32_t token) {
    const Entry in(*this, "Inference::next");
    if (!in.of.has_text()) throw Error("Inference::next", "a text that start has read", "none, or new weights since");
    if (in.of.position == Recipe::window)
      throw Error("Inference::next",
                  "fewer than " + std::to_string(in.of.position) + " tokens before, as the model's window has",
                  "a full window", "start again with the last tokens of the text");
    constexpr std::size_t vocabulary = [] {
      if constexpr (Of::translates) return rule::vocabulary_of<typename Of::Network>()[1];
      else return rule::vocabulary_of<Network>();
    }();
    programs::check_tokens(std::span<const std::int32_t>(&token, 1), Recipe::window, vocabulary, "Inference::next", 0);
    if constexpr (Of::translates) return in.of.template read_target<Of>(token);
    else return in.of.template read<1>({&token, 1});
  }

  /// Name, shape and present values of every parameter, in the order of the model, with the Trainer's names. Writes to
  /// the values take effect at parameters_changed(). The values are the weights themselves: do not write while another
  /// thread predicts with them. If the engine's memory is not host memory, they are a copy, valid until the next call
  /// of parameters() or load.
  std::vector<HeldParameter> parameters() & {
    const Entry in(*this, "Inference::parameters");
    return in.of.parameters();
  }
  template <class Self = Inference>
  std::vector<HeldParameter> parameters() && {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return {};
  }
  /// Refuses while another thread is in a call of an Inference with these weights.
  void parameters_changed() {
    const Writing in(*this, "Inference::parameters_changed");
    in.of.take();
  }

  // A const Inference gets a sentence.
  template <class Self = Inference>
  std::vector<Output> predict(std::span<const Input>) const {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
    return {};
  }
  template <class Self = Inference>
  std::vector<Output> start(std::span<const Input>) const
    requires(Recipe::decodes && !Recipe::translates)
  {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
    return {};
  }
  template <class Self = Inference>
  std::vector<Output> start(std::span<const std::int32_t>, std::span<const std::int32_t>) const
    requires(Recipe::decodes && Recipe::translates)
  {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
    return {};
  }
  template <class Self = Inference>
  std::vector<Output> next(std::int32_t) const
    requires Recipe::decodes
  {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
    return {};
  }
  template <class Self = Inference>
  void load(const std::string&) const {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
  }
  template <class Self = Inference>
  std::vector<HeldParameter> parameters() const& {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
    return {};
  }
  template <class Self = Inference>
  void parameters_changed() const {
    static_assert(sizeof(typename rule::inference_is_not_const<const Self>::must_hold));
  }

  /// The bytes used, and the number of operations that ran.
  struct Used {
    std::size_t peak = 0, operations = 0;
  };
  Used used() const {
    const Inside& of = inside("Inference::used");
    return {of.walk.arena.peak, of.walk.engine.operations()};
  }

  /// For tests: from now on fills freed memory with NaN.
  void poison_dead_memory() { inside("Inference::poison_dead_memory").walk.poison_dead(); }

 private:
  friend struct saves::Inside;

  explicit Inference(std::unique_ptr<Inside> made) : inside_(std::move(made)) {}

  Inside& inside(const char* who) const {
    if (!inside_) throw Error(who, "an Inference", "one that was moved away", "call the one that it was moved to");
    return *inside_;
  }

  /// Held by each member that computes, or reads or writes weights.
  struct Entry {
    Inside& of;
    OneThread::Scope thread;
    decltype(std::declval<const Engine&>().scope()) scope;

    Entry(const Inference& self, const char* who)
        : of(self.inside(who)),
          thread(of.one, [&](OneThread::Admission admission) { of.weights->refuse(who, admission); }),
          scope(std::as_const(of.walk.engine).scope()) {}
  };
  /// Held by each member that changes weights: no other thread is in an Inference with these weights.
  struct Writing final : Entry {
    trainers::SharedWeights::Writing alone;

    Writing(const Inference& self, const char* who) : Entry(self, who), alone(*this->of.weights, who) {}
  };
  std::unique_ptr<Inside> inside_;
};

namespace detail {
/// The result types of an Inference's members that do not depend on its policies.
struct InferenceAnswers : InertAnswers {
  using Parameters = std::vector<HeldParameter>;
  using Prediction = std::vector<float>;
};
}  // namespace detail

/// Policies that do not compose: each broken rule gives one error; the rest of the program gives none.
template <class Network, class... Policies>
  requires(!Inferable<Network, Policies...>)
class Inference<Network, Policies...>
    : public detail::rejected<detail::silent, detail::silent::must_hold, detail::InferenceAnswers> {
  using Base = typename Inference::rejected;
  using Broken = detail::broken_inference_rules<Network, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) &&
                sizeof(detail::speech<Broken, 2>));
  [[no_unique_address]] detail::unlinked<Broken> unlinked_{};

 public:
  using Base::Base;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
