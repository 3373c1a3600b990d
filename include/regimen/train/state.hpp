// regimen/train/state.hpp — a Trainer's state in one safetensors file.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/machine.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/train/safetensors.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace regimen::train {

/// What of a file is a weight: `<name>` is the tensor, `optimizer.<state>.<name>` its optimizer state. Everything else
/// that exact resumption needs stands in the metadata under "regimen.".
inline std::string state_name(const char* state, const std::string& name) { return std::string("optimizer.") + state + "." + name; }

inline std::vector<std::size_t> shape_of(const Parameter& parameter) { return {parameter.extents.begin(), parameter.extents.begin() + parameter.rank}; }

/// Doubles travel as their 64 bits, so that they come back exactly.
inline std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

inline std::uint64_t whole_number(const std::string& path, const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw Error(path + ", metadata", "the key " + key, "none", "the file was not written by save");
  const char *const begin = found->second.data(), *const end = begin + found->second.size();
  std::uint64_t value = 0;  // no signs, no spaces, no more than 64 bits
  const auto [stopped, failure] = std::from_chars(begin, end, value);
  if (failure != std::errc{} || stopped != end)
    throw Error(path + ", metadata, " + key, "a whole number below 2^64", std::string("\"").append(found->second).append("\""));
  return value;
}

/// The only one that sees the inside of a Trainer.
template <class Trainer>
struct StateAccess {
  using Master = typename Trainer::Master;
  using Rule = typename Trainer::Rule;

  static void expect_finished_step(const Trainer& trainer, const char* who) {
    if (trainer.waiting_ != Trainer::Waiting::forward) throw Error(who, "a finished step", "a step that has begun", "call apply first");
  }

  /// Step 0, no optimizer state; seed and loss scale stay.
  static void begin_anew(Trainer& trainer) {
    for (const auto& tensor : trainer.tensors_)
      if (tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state) std::fill_n(trainer.state_of(tensor, state), tensor.place.count, Master(0));
    trainer.step_ = trainer.batches_done_ = 0;
    Scalars& s = trainer.scalars();
    s.updates = s.skipped = s.finite_streak = 0;
  }

  static void save(Trainer& trainer, const std::string& path) {
    expect_finished_step(trainer, "Trainer::save");
    std::vector<safetensors::Tensor> tensors;
    for (const auto& tensor : trainer.tensors_) {
      tensors.push_back(entry(tensor.name, tensor, trainer.master_of(tensor)));
      if (tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state)
          tensors.push_back(entry(state_name(Rule::state_names[state], tensor.name), tensor, trainer.state_of(tensor, state)));
    }
    const Scalars& s = trainer.scalars();
    std::map<std::string, std::string> metadata{{"format", "pt"},
                                                {"regimen.version", "1"},
                                                {"regimen.step", std::to_string(trainer.step_)},
                                                {"regimen.batches", std::to_string(trainer.batches_done_)},
                                                {"regimen.seed", std::to_string(trainer.seed_)},
                                                {"regimen.updates", std::to_string(s.updates)},
                                                {"regimen.skipped", std::to_string(s.skipped)},
                                                {"regimen.finite_streak", std::to_string(s.finite_streak)},
                                                {"regimen.loss_scale", bits_of(s.loss_scale)},
                                                {"regimen.batch", std::to_string(Trainer::batch * Trainer::micro_batches)},
                                                {"regimen.path", path_text()}};
    safetensors::write(path, tensors, metadata);
  }

  static void load(Trainer& trainer, const std::string& path) {
    expect_finished_step(trainer, "Trainer::load");
    const safetensors::File file(path);
    const auto& metadata = file.metadata();
    const bool resumes = metadata.contains("regimen.version");
    // Everything is asked before anything changes: a file that does not fit leaves the Trainer as it was.
    for (const auto& tensor : trainer.tensors_) {
      file.template expect<Master>(tensor.name, shape_of(tensor.parameter));
      if (resumes && tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state) 
          file.template expect<Master>(state_name(Rule::state_names[state], tensor.name), shape_of(tensor.parameter));
    }
    for (const safetensors::Tensor& found : file.tensors()) {
      bool known = false;
      for (const auto& tensor : trainer.tensors_) {
        known = known || found.name == tensor.name;
        for (std::size_t state = 0; state < tensor.states; ++state) known = known || found.name == state_name(Rule::state_names[state], tensor.name);
      }
      if (!known) throw Error(path, "tensors of this model only", "the tensor " + std::string(found.name), "load it into the model that it was saved from");
    }
    std::uint64_t step = 0, batches = 0, seed = trainer.seed_, updates = 0, skipped = 0, streak = 0;
    double loss_scale = trainer.scalars().loss_scale;
    if (resumes) {
      step = whole_number(path, metadata, "regimen.step");
      batches = whole_number(path, metadata, "regimen.batches");
      seed = whole_number(path, metadata, "regimen.seed");
      updates = whole_number(path, metadata, "regimen.updates");
      skipped = whole_number(path, metadata, "regimen.skipped");
      streak = whole_number(path, metadata, "regimen.finite_streak");
      loss_scale = std::bit_cast<double>(whole_number(path, metadata, "regimen.loss_scale"));
      if (!(loss_scale >= 1 && loss_scale <= 3.5e38)) throw Error(path + ", metadata, regimen.loss_scale", "a loss scale of at least 1", std::to_string(loss_scale));
      const auto written = metadata.find("regimen.path");
      if (written != metadata.end() && written->second != path_text())
        std::fprintf(stderr,
                     "regimen: %s was written with \"%s\", this run has \"%s\": it goes on, but not bit for bit as the other run would have\n",
                     path.c_str(), written->second.c_str(), path_text().c_str());
    }
    for (const auto& tensor : trainer.tensors_) {
      const std::vector<std::size_t> shape = shape_of(tensor.parameter);
      file.template copy<Master>(tensor.name, shape, {trainer.master_of(tensor), tensor.place.count});
      if (!tensor.place.trains) continue;
      for (std::size_t state = 0; state < tensor.states; ++state) {
        const std::span<Master> to{trainer.state_of(tensor, state), tensor.place.count};
        if (resumes) file.template copy<Master>(state_name(Rule::state_names[state], tensor.name), shape, to);
        else std::fill(to.begin(), to.end(), Master(0));
      }
    }
    Scalars& s = trainer.scalars();
    trainer.step_ = step;
    trainer.batches_done_ = batches;
    trainer.seed_ = seed;
    trainer.engine_.memory.random.seed = seed;
    s.updates = updates;
    s.skipped = skipped;
    s.finite_streak = streak;
    s.loss_scale = loss_scale;
    trainer.parameters_changed();
  }

 private:
  /// What decides the bits of a run beside the program: product path and threads.
  static std::string path_text() { return cpu::path_text<typename Trainer::Recipe::Roles::compute>(); }

  static safetensors::Tensor entry(const std::string& name, const auto& tensor, const Master* values) {
    return {name, safetensors::dtype_of<Master>, shape_of(tensor.parameter), std::as_bytes(std::span(values, tensor.place.count))};
  }
};

template <class Trainer>
void save_state(Trainer& trainer, const std::string& path) { StateAccess<Trainer>::save(trainer, path); }
template <class Trainer>
void load_state(Trainer& trainer, const std::string& path) { StateAccess<Trainer>::load(trainer, path); }

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
