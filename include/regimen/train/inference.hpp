// regimen/train/inference.hpp — a trained model for prediction alone.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/program/parameters.hpp>
#include <regimen/program/recipe.hpp>
#include <regimen/rule/device_runs_here.hpp>
#include <regimen/rule/inference_trains_nothing.hpp>
#include <regimen/state/convert.hpp>
#include <regimen/state/trainer_state.hpp>
#include <regimen/train/refused_data.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/model_rules.hpp>
#include <regimen/verdict/plan_range.hpp>
#include <regimen/verdict/rejected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen {

namespace detail {

/// The rules of a Trainer, but for the policies of Inference, and without those about master weights.
template <class P>
using inference_rules = mp::mp_list<rule::inference_trains_nothing<P>>;

template <class P>
struct inference_single {
  using rules = single_rules<P>;
};
template <class T>
struct inference_single<Precision<T>> {
  using rules = mp::mp_list<>;
};
template <class P>
using inference_single_rules = typename inference_single<P>::rules;

template <class Configuration>
using inference_cross_rules = mp::mp_list<
    rule::largest_batch_needs_target<typename Configuration::batch, typename Configuration::target>,
    rule::target_computes_in<typename Configuration::target, typename Configuration::precision::compute>,
    computed_on<typename Configuration::device, typename Configuration::precision::compute>,
    fused_on<typename Configuration::device, typename Configuration::fusion>,
    rule::cudnn_is_found<calls_cudnn<Configuration>, typename Configuration::device, finds_cudnn<Configuration>()>,
    rule::device_attends_in_form<typename Configuration::attention, typename Configuration::device,
                                 attends_in_form<Configuration>()>,
    rule::device_convolves_in_form<typename Configuration::convolution, typename Configuration::device,
                                   convolves_in_form<Configuration>()>,
    rows_counted_on<typename Configuration::target, typename Configuration::device>>;

template <class Network, class... Policies>
constexpr auto all_broken_inference_rules() {
  using List = mp::mp_list<Policies...>;
  if constexpr (!rule::model_comes_first<Network>::holds) {
    return mp::mp_list<rule::model_comes_first<Network>>{};
  } else if constexpr (!(rule::argument_is_a_policy<Policies>::holds && ...)) {
    return broken_of_each<argument_rules, List>{};
  } else if constexpr (!(all_hold<inference_rules<Policies>> && ...)) {
    return broken_of_each<inference_rules, List>{};
  } else if constexpr (!mp::mp_is_set<mp::mp_list<typename Policies::axis...>>::value) {
    return broken_in<axis_rules<List>>{};
  } else if constexpr (!(all_hold<option_rules<Policies>> && ...)) {
    return broken_of_each<option_rules, List>{};
  } else if constexpr (!(all_hold<inference_single_rules<Policies>> && ...)) {
    return broken_of_each<inference_single_rules, List>{};
  } else if constexpr (!all_hold<inference_cross_rules<Configured<Policies...>>>) {
    return broken_in<inference_cross_rules<Configured<Policies...>>>{};
  } else {
    return broken_in<decltype(train::rules_of_model<Network, Configured<Policies...>, false>())>{};
  }
}
template <class Network, class... Policies>
using broken_inference_rules = decltype(all_broken_inference_rules<Network, Policies...>());

}  // namespace detail

/// Whether Inference<Network, Policies...> compiles; the order of the policies does not matter.
///
///   valid      Inferable<Gpt, Precision<bf16>, Batch<1>>
///   invalid    Inferable<Gpt, Optimizer<AdamW>>
template <class Network, class... Policies>
concept Inferable = boost::mp11::mp_empty<detail::broken_inference_rules<Network, Policies...>>::value;

/// A parameter as it is stored: in the compute type, or in the type of its As<...>.
struct HeldParameter {
  std::string name;
  std::vector<std::size_t> shape;
  ElementType element = ElementType::float32;
  std::span<std::byte> bytes;
  ParameterRole role = ParameterRole::matrix;

  /// Calls f with the values as a span of their type.
  template <class F>
  void visit(F&& f) const {
    train::with_element(
        element, [&]<class T>(T) { f(std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T))); });
  }
  /// The values; throws Error if their type is not T.
  template <class T>
  std::span<T> values() const {
    if (element != element_type_of<T>)
      throw Error("Inference, parameter " + name, "the parameter's own type in values<T>()", name_of<T>,
                  "visit() passes the values in their own type");
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// A model for prediction. Its policies are Precision, Batch, Device, Target, Fusion and Attention, in any order.
///
///   Inference<Gpt, Precision<bf16>, Batch<1>> model("gpt.safetensors");
///   const std::vector<float> logits = model.predict(tokens);
///
/// Each parameter is stored once, in the compute type: Precision<bf16> needs no fp32, since nothing is trained.
///
/// memory    one arena of exactly plan().peak bytes: parameters, one batch of input, the activations of a layer or two,
///           and, for a causal model of tokens, keys and values of one text (the kind `cache`)
/// failure   as for a Trainer: an impossible recipe does not compile; at run time Error
/// threads   one thread at a time may call an Inference
template <class Network, class... Policies>
class Inference {
 public:
  using Configuration = Configured<Policies...>;
  using Recipe = train::InferenceRecipe<Network, Configuration>;
  using Step = typename Recipe::Step;
  using Input = typename Step::X::Element;
  using Output = typename Step::Output::Element;  // at least fp32
  using Engine = typename engine::OfConfiguration<Configuration>::type;

  static constexpr std::size_t batch = Recipe::batch;  // samples per forward pass
  static constexpr std::size_t input_size = Step::X::size, output_size = Step::Output::size,
                               output_rows = Step::Output::rows;  // per sample

  /// Bytes and work of one batch, a constant: no gradients, no optimizer state.
  static constexpr const MemoryPlan& plan() { return Recipe::plan; }
  /// The same, computed at run time, for any batch. Throws Error if it has no sample, or its bytes cannot be counted.
  static MemoryPlan plan(std::size_t batch_size) {
    train::check_plan<Network, Configuration>("Inference::plan", batch_size);
    return Recipe::make_plan(batch_size);
  }

  /// Without weights, until load is called or parameters() are written.   threads   as Options::threads
  [[gnu::noinline]] explicit Inference(int threads = 0)
      : walk_(batch, std::size_t{1}, std::size_t{0},
              engine::Resources<typename Engine::Ranks>{engine::with_room<Engine>(plan()).peak, nullptr, threads}),
        tensors_(train::list_tensors<typename Recipe::Bound>()) {
    static_assert(
        sizeof(typename rule::device_runs_here<typename Configuration::device, engine::runs_here<Engine>>::must_hold));
    walk_.arena.capacity = plan().peak;
    walk_.training = false;
    resident_ = Step::setup_inference(walk_, Recipe::cache_bytes);
    walk_.prepare([&] {
      walk_.arena.give(Step::predict(walk_, resident_));
      if constexpr (decodes) {
        walk_.arena.give(Recipe::template Walk<1>::walk_on(walk_, resident_, 0));
        if constexpr (!Recipe::translates)
          walk_.arena.give(Recipe::template Walk<Recipe::window>::walk_on(walk_, resident_, 0));
      }
    });
  }
  explicit Inference(const std::string& path, int threads = 0) : Inference(threads) { load(path); }

  /// Reads the weights of a state that Trainer::save wrote, on one rank or several, or of a file with
  /// weights alone. The file's element type may differ: each value is rounded once. A file that does not
  /// fit leaves everything unchanged.
  void load(const std::string& path) {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    const train::SavedState file(path);
    for (const train::TensorRecord& tensor : tensors_)
      file.expect_numbers(tensor.name, train::shape_of(tensor.parameter));
    for (const std::string& found : file.names())
      if (!is_known(found))
        throw Error(path, "tensors of this model only", "the tensor " + found,
                    "load it into the model that it was saved from");
    host_weights_ = {};
    for (const train::TensorRecord& tensor : tensors_)
      train::with_element(tensor.place.element, [&]<class T>(T) {
        std::vector<T> values(tensor.place.count);
        file.copy_converted(tensor.name, 0, std::span(values));
        train::upload(walk_, View<T>{offset_of(tensor)}, std::span<const T>(values)).wait();
      });
    weights_are_new();
  }

  /// The model's output for any number of samples.   inputs (samples,input_size)  →  (samples,output_size)
  /// Several outputs of a sample come one behind the other.
  std::vector<Output> predict(std::span<const Input> inputs) {
    expect_weights("Inference::predict");
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    const Guard guard{*this};
    return train::predict_all<Step>(walk_, resident_, inputs, train::vocabulary_of<Network>(), "Inference::predict");
  }
  /// Refuses data in another type than the model's input: convert them explicitly.
  template <class Data>
    requires(!train::ReadAs<Data, Input>)
  std::vector<Output> predict(const Data&) {
    static_assert(sizeof(train::refused_data<Data, Input>));
    return {};
  }

  /// Whether the model decodes incrementally: a causal model of tokens whose other layers
  /// declare couples_positions = false; or Fork<Last, encoder, decoder> with such a decoder, which attends to what the
  /// encoder keeps.
  static constexpr bool decodes = Recipe::decodes;

  /// Reads the beginning of a text, 1 to T tokens, into the cache of keys and values; next()
  /// continues from there. Returns the
  /// logits of the next token, as predict gives them for the last position, within rounding.        (V)
  ///
  /// cost     for a short text one position per token, for a longer one a forward pass over the window
  std::vector<Output> start(std::span<const Input> text)
    requires(Recipe::decodes && !Recipe::translates)
  {
    expect_window(text.size());
    train::check_tokens(text, Recipe::window, train::vocabulary_of<Network>(), "Inference::start", 0);
    position_ = 0;
    if (text.size() * 16 > Recipe::window) return read<Recipe::window>(text);
    for (const Input& token : text.first(text.size() - 1)) read<1>({&token, 1});
    return read<1>(text.last(1));
  }
  /// The same for a model of two texts: reads the source, S tokens, or fewer where the encoder has a KeepLength and some
  /// attention is Within it, and the beginning of the target. Keys and values of the encoder's text are kept with those of
  /// the target.
  ///
  /// cost     the encoder once; one position of the decoder per token of the beginning
  std::vector<Output> start(std::span<const std::int32_t> source, std::span<const std::int32_t> text)
    requires(Recipe::decodes && Recipe::translates)
  {
    expect_window(text.size());
    constexpr std::size_t length = sizeof(Input::first) / sizeof(std::int32_t);
    constexpr std::int32_t padding = train::two_texts<typename train::parts_t<Network>::Layers>::padding;
    train::check_source(source.size(), length, padding, "Inference::start");
    std::vector<std::int32_t> whole(source.begin(), source.end());
    whole.resize(length, padding);
    constexpr auto vocabulary = train::vocabulary_of<Network>();
    train::check_tokens(std::span<const std::int32_t>(whole), length, vocabulary[0], "Inference::start, source", 0);
    train::check_tokens(text, Recipe::window, vocabulary[1], "Inference::start", 0);
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::upload(walk_, View<std::int32_t>{resident_.input}, std::span<const std::int32_t>(whole)).wait();
    position_ = 0;
    for (const std::int32_t& token : text.first(text.size() - 1)) read_target(token);
    return read_target(text.back());
  }
  /// Reads one more token, and returns the logits of the next.        (V)
  ///
  /// cost     one position, and attention to the earlier ones
  /// failure  Error before start, and if the window is full: cached positions cannot shift
  std::vector<Output> next(std::int32_t token)
    requires Recipe::decodes
  {
    if (position_ == 0) throw Error("Inference::next", "a text that start has read", "none, or new weights since");
    if (position_ == Recipe::window)
      throw Error("Inference::next",
                  "fewer than " + std::to_string(position_) + " tokens before, as the model's window has",
                  "a full window", "start again with the last tokens of the text");
    const auto check = [&](std::size_t vocabulary) {
      train::check_tokens(std::span<const std::int32_t>(&token, 1), Recipe::window, vocabulary, "Inference::next", 0);
    };
    if constexpr (Recipe::translates) {
      check(train::vocabulary_of<Network>()[1]);
      return read_target(token);
    } else {
      check(train::vocabulary_of<Network>());
      return read<1>({&token, 1});
    }
  }

  /// Name, shape and present values of every parameter, in the order of the model, with the Trainer's names. Writes to
  /// the values take effect at parameters_changed(). If the engine's memory is not host memory, the values are a copy,
  /// valid until the next call of parameters() or load; otherwise they are the weights themselves.
  std::vector<HeldParameter> parameters() {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    std::vector<HeldParameter> result;
    std::size_t bytes = 0;
    for (const train::TensorRecord& tensor : tensors_) bytes += Arena::align(bytes_of_tensor(tensor));
    if (!Engine::Traits::is_host_memory) host_weights_.resize(bytes);
    std::size_t at = 0;
    for (const train::TensorRecord& tensor : tensors_) {
      std::span<std::byte> values;
      if constexpr (Engine::Traits::is_host_memory) {
        values = {walk_.engine.data(View<std::byte>{offset_of(tensor)}), bytes_of_tensor(tensor)};
      } else {
        values = std::span(host_weights_).subspan(at, bytes_of_tensor(tensor));
        walk_.engine.download(offset_of(tensor), values).wait();
      }
      at += Arena::align(values.size());
      result.push_back(
          {tensor.name, train::shape_of(tensor.parameter), tensor.place.element, values, tensor.parameter.role});
    }
    return result;
  }
  void parameters_changed() {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    std::size_t at = 0;
    if (!host_weights_.empty())
      for (const train::TensorRecord& tensor : tensors_) {
        walk_.engine
            .upload(offset_of(tensor), std::span<const std::byte>(host_weights_.data() + at, bytes_of_tensor(tensor)))
            .wait();
        at += Arena::align(bytes_of_tensor(tensor));
      }
    weights_are_new();
  }

  /// The bytes used, and the number of operations that ran.
  struct Used {
    std::size_t peak = 0, operations = 0;
  };
  Used used() const { return {walk_.arena.peak, walk_.engine.operations()}; }

  /// For tests: from now on fills freed memory with NaN.
  void poison_dead_memory() { walk_.poison_dead(); }

 private:
  struct Guard {
    ~Guard() { self.walk_.abandon(self.resident_.end); }
    Inference& self;
  };
  void weights_are_new() {
    loaded_ = true;
    position_ = 0;  // the cache was computed with other weights
  }
  void expect_weights(const char* who) const {
    if (!loaded_) throw Error(who, "weights", "none", "call load, or give the constructor a path");
  }
  void expect_window(std::size_t tokens) const {
    expect_weights("Inference::start");
    if (tokens == 0 || tokens > Recipe::window)
      throw Error("Inference::start", "1 to " + std::to_string(Recipe::window) + " tokens, the model's window",
                  std::to_string(tokens));
  }
  /// Decodes these tokens: one, or a window padded with zeros. Returns the logits after the last token.
  template <std::size_t Rows>
  std::vector<Output> read(std::span<const Input> tokens) {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    std::vector<Input> input(tokens.begin(), tokens.end());
    input.resize(Rows);
    train::upload(walk_, View<Input>{resident_.input}, std::span<const Input>(input)).wait();
    return walk_on<Rows>(tokens.size());
  }
  /// The same for one token of a target, beside the source, if it is the first.
  std::vector<Output> read_target(std::int32_t token) {
    using Read = typename Recipe::template Walk<1>::X::Element;
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::upload(walk_, View<std::int32_t>{resident_.input + Read::template offset<1>()},
                  std::span<const std::int32_t>(&token, 1))
        .wait();
    return walk_on<1>(1);
  }
  /// Walks over so many rows of input, of which the first `count` are tokens.
  template <std::size_t Rows>
  std::vector<Output> walk_on(std::size_t count) {
    const Guard guard{*this};
    const std::size_t output = Recipe::template Walk<Rows>::walk_on(walk_, resident_, position_);
    std::vector<Output> logits(Step::Output::columns);
    train::download(walk_, View<Output>{output} + (count - 1) * Step::Output::leading, std::span(logits));
    walk_.arena.give(output);
    position_ += count;
    return logits;
  }

  /// Whether the name is a weight's, or that of its optimizer state: "optimizer.<state>.<name>".
  bool is_known(const std::string& name) const {
    for (const train::TensorRecord& tensor : tensors_) {
      if (name == tensor.name) return true;
      if (name.starts_with("optimizer.") && name.ends_with("." + tensor.name) &&
          name.find('.', 10) == name.size() - tensor.name.size() - 1)
        return true;
    }
    return false;
  }

  static std::size_t bytes_of_tensor(const train::TensorRecord& tensor) {
    return tensor.place.count * bytes_of(tensor.place.element);
  }
  std::size_t offset_of(const train::TensorRecord& tensor) const {
    return resident_.parameters + tensor.unit.parameters + tensor.place.values;
  }

  walk::Walk<Engine> walk_;
  std::vector<std::byte> host_weights_;  // the values of the last call of parameters()
  std::vector<train::TensorRecord> tensors_;
  train::Resident resident_{};
  std::size_t position_ = 0;  // cached positions
  bool loaded_ = false;
};

namespace detail {
/// The result types of an Inference's members that do not depend on its policies.
struct InferenceAnswers : InertAnswers {
  using Parameters = std::vector<HeldParameter>;
  using Prediction = std::vector<float>;
};
}  // namespace detail

/// Policies that do not compose: each broken rule gives one error, the rest of the program none.
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
