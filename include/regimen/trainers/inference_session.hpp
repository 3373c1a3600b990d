// regimen/trainers/inference_session.hpp — the inside of an Inference: the engine and its arena, the weights, the
// cache of a text.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/one_thread.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/shared_weights.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// A parameter in its stored type: the compute type, or the type of its As<...>.
struct HeldParameter {
  std::string name;
  std::vector<std::size_t> shape;
  ElementType element = ElementType::float32;
  std::span<std::byte> bytes;
  ParameterRole role = ParameterRole::matrix;

  /// Calls f with the values as a span of their type.
  template <class F>
  void visit(F&& f) const {
    with_element(element,
                 [&]<class T>(T) { f(std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T))); });
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

namespace trainers {

/// All members of an Inference, at a fixed address: the Inference itself may be moved.   Recipe   an InferenceRecipe
template <class Recipe, class Engine>
struct InferenceSession final {
  using Step = typename Recipe::Step;
  using Input = typename Step::X::Element;
  using Output = typename Step::Output::Element;

  int threads;  // as given
  const MemoryPlan* plan;
  walk::Walk<Engine> walk;
  std::vector<std::byte> host_weights{};  // the values of the last call of parameters()
  std::vector<programs::TensorRecord> tensors = programs::list_tensors<typename Recipe::Bound>();
  programs::Resident resident{};
  std::size_t position = 0;   // cached positions
  std::uint64_t version = 0;  // of the weights that the cache was computed with
  std::shared_ptr<SharedWeights> weights;
  OneThread one{};

  [[gnu::noinline]] explicit InferenceSession(int asked)
      : threads(asked),
        plan(&Recipe::plan),
        walk(Recipe::batch, std::size_t{1}, std::size_t{0}, resources(Recipe::plan, asked)),
        weights(std::make_shared<SharedWeights>()) {
    begin(false);
  }
  /// A session that shares the parameters of `lender`.
  template <std::same_as<InferenceSession> Lender>
  [[gnu::noinline]] InferenceSession(const Lender& lender, int asked)
      : threads(asked),
        plan(&Recipe::shared_plan),
        walk(Recipe::batch, std::size_t{1}, std::size_t{0}, resources(Recipe::shared_plan, asked), lender.walk.engine),
        weights(lender.weights) {
    begin(true);
  }
  InferenceSession(const InferenceSession&) = delete;
  InferenceSession& operator=(const InferenceSession&) = delete;
  ~InferenceSession() { weights->leave(one); }

  // ---- weights

  void expect_weights(const char* who) const {
    if (!weights->loaded) throw Error(who, "weights", "none", "call load, or give the constructor a path");
  }
  /// See Inference::load.
  void load(const std::string& path) {
    const saves::SavedState file(path);
    std::vector<std::string> names;
    for (const programs::TensorRecord& tensor : tensors) {
      file.expect_numbers(tensor.name, saves::shape_of(tensor.parameter));
      names.push_back(tensor.name);
    }
    file.expect_only(names, nullptr);
    host_weights = {};
    for (const programs::TensorRecord& tensor : tensors)
      with_element(tensor.place.element, [&]<class T>(T) {
        std::vector<T> values(tensor.place.count);
        file.copy_converted(tensor.name, 0, std::span(values));
        programs::upload(walk, View<T>{offset_of(tensor)}, std::span<const T>(values)).wait();
      });
    weights_are_new();
  }
  /// See Inference::parameters.
  std::vector<HeldParameter> parameters() {
    std::vector<HeldParameter> result;
    std::size_t bytes = 0, at = 0;
    for (const programs::TensorRecord& tensor : tensors) bytes += TensorArena::align(bytes_of_tensor(tensor));
    if (!Engine::Traits::is_host_memory) host_weights.resize(bytes);
    for (const programs::TensorRecord& tensor : tensors) {
      std::span<std::byte> values;
      if constexpr (Engine::Traits::is_host_memory) {
        values = {walk.engine.data(View<std::byte>{offset_of(tensor)}), bytes_of_tensor(tensor)};
      } else {
        values = std::span(host_weights).subspan(at, bytes_of_tensor(tensor));
        walk.engine.download(offset_of(tensor), values).wait();
      }
      at += TensorArena::align(values.size());
      result.push_back({.name = tensor.name,
                        .shape = saves::shape_of(tensor.parameter),
                        .element = tensor.place.element,
                        .bytes = values,
                        .role = tensor.parameter.role});
    }
    return result;
  }
  /// Applies a program's writes to the values of parameters().
  void take() {
    std::size_t at = 0;
    if (!host_weights.empty())
      for (const programs::TensorRecord& tensor : tensors) {
        const std::size_t bytes = bytes_of_tensor(tensor);
        walk.engine.upload(offset_of(tensor), std::span<const std::byte>(host_weights.data() + at, bytes)).wait();
        at += TensorArena::align(bytes);
      }
    weights_are_new();
  }

  // ---- a text, and its cache of keys and values

  void expect_window(std::size_t tokens) const {
    expect_weights("Inference::start");
    if (tokens == 0 || tokens > Recipe::window)
      throw Error("Inference::start", "1 to " + std::to_string(Recipe::window) + " tokens, the model's window",
                  std::to_string(tokens));
  }
  void begin_text() {
    position = 0;
    version = weights->version;
  }
  /// Whether the cache has a text; false after a change of the weights, since the cache was computed with the old
  /// weights.
  bool has_text() const { return position > 0 && version == weights->version; }

  /// Decodes these tokens: one, or a window padded with zeros. Returns the logits after the last token.
  template <std::size_t rows>
  std::vector<Output> read(std::span<const Input> tokens) {
    std::vector<Input> input(tokens.begin(), tokens.end());
    input.resize(rows);
    programs::upload(walk, View<Input>{resident.input}, std::span<const Input>(input)).wait();
    return walk_on<rows>(tokens.size());
  }
  /// Decodes one token of a target; with the first token also the source.
  template <class Of>
  std::vector<Output> read_target(std::int32_t token) {
    using Read = typename Of::template Walk<1>::X::Element;
    programs::upload(walk, View<std::int32_t>{resident.input + Read::template offset<1>()},
                     std::span<const std::int32_t>(&token, 1))
        .wait();
    return walk_on<1>(1);
  }

  /// At the end of a scope frees all memory of the arena except its persistent regions.
  struct Abandon final {
    ~Abandon() { of.walk.abandon(of.resident.end); }
    InferenceSession& of;
  };

 private:
  static engines::Resources<typename Engine::Ranks> resources(const MemoryPlan& of, int asked) {
    return {engines::with_room<Engine>(of).peak, nullptr, asked};
  }
  void begin(bool borrows) {
    walk.arena.capacity = plan->peak;
    walk.training = false;
    resident = Step::setup_inference(walk, Recipe::cache_bytes, borrows);
    walk.prepare([&] {
      walk.arena.give(Step::predict(walk, resident));
      if constexpr (Recipe::decodes) {
        walk.arena.give(Recipe::template Walk<1>::walk_on(walk, resident, 0));
        if constexpr (!Recipe::translates)
          walk.arena.give(Recipe::template Walk<Recipe::window>::walk_on(walk, resident, 0));
      }
    });
    weights->join(one);
  }

  std::size_t offset_of(const programs::TensorRecord& tensor) const {
    return resident.parameters + tensor.unit.parameters + tensor.place.values;
  }
  static std::size_t bytes_of_tensor(const programs::TensorRecord& tensor) {
    return tensor.place.count * bytes_of(tensor.place.element);
  }
  void weights_are_new() {
    weights->loaded = true;
    ++weights->version;
  }

  /// Walks over this number of rows of input; the first `count` rows are tokens.
  template <std::size_t rows>
  std::vector<Output> walk_on(std::size_t count) {
    const Abandon at_the_end{*this};
    const std::size_t output = Recipe::template Walk<rows>::walk_on(walk, resident, position);
    std::vector<Output> logits(Step::Output::columns);
    programs::download(walk, View<Output>{output} + (count - 1) * Step::Output::leading, std::span(logits));
    walk.arena.give(output);
    position += count;
    return logits;
  }
};

}  // namespace trainers

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
