// regimen/state/trainer_state.hpp — a Trainer's state in one safetensors file.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/state/background_save.hpp>
#include <regimen/state/parts.hpp>
#include <regimen/state/safetensors.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace regimen::train {

/// A step number that never occurs.
inline constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

/// In a file `<name>` is a weight and `optimizer.<state>.<name>` its optimizer state. Everything else that exact
/// resumption needs is in the metadata, under "regimen.".
inline std::string state_name(const char* state, const std::string& name) { return std::string("optimizer.") + state + "." + name; }

inline std::vector<std::size_t> shape_of(const Parameter& parameter) {
  return {parameter.extents.begin(), parameter.extents.begin() + parameter.rank};
}

/// Doubles are saved as their 64 bits, so that they are restored exactly.
inline std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

/// The only class of state/ that accesses private members of a Trainer.
template <class Trainer>
struct StateAccess {
  using Master = typename Trainer::Master;
  using UpdateRule = typename Trainer::UpdateRule;
  static constexpr bool moves_loss_scale = Trainer::Recipe::loss_scaling.growth_interval > 0;

  static void expect_finished_step(const Trainer& trainer, const char* who) {
    if (trainer.waiting_ != Trainer::Waiting::forward) throw Error(who, "a finished step", "a step that has begun", "call apply first");
  }

  /// Step 0, no optimizer state; seed and loss scale stay.
  static void begin_anew(Trainer& trainer) {
    trainer.reset_state();
    trainer.step_ = 0;
    begin_data_at(trainer, {});
    Scalars s = trainer.scalars();
    s.updates = s.skipped = s.finite_streak = 0;
    trainer.write_scalars(s);
    trainer.best_ = std::numeric_limits<double>::infinity();
    trainer.without_gain_ = 0;
    trainer.validated_at_ = never;
    trainer.resumed_ = trainer.is_patient_ = false;
  }

  /// One rank writes one file. Several ranks write a part each, then rank 0 the index; until that is in place, the
  /// older state stays valid.
  static void save(Trainer& trainer, const std::string& path) {
    expect_finished_step(trainer, "Trainer::save");
    trainer.guarded([&] {  // the other ranks wait for this rank's part
      const StateFiles files = files_of(trainer, path);
      try {
        files.write_own([&] { comm::barrier(trainer.control()); });
        comm::barrier(trainer.control());  // all parts are there
        files.finish();
      } catch (...) {
        files.clean(true);
        throw;
      }
      comm::barrier(trainer.control());  // the index is there
    });
  }
  static void save_in_background(Trainer& trainer, const std::string& path, std::chrono::seconds limit) {
    expect_finished_step(trainer, "Trainer::save_in_background");
    trainer.guarded([&] { trainer.saving_ = std::make_unique<BackgroundSave>(files_of(trainer, path), limit); });
  }
  static void finish_saving(Trainer& trainer) {
    try {
      if (trainer.ranks() == 1) trainer.saving_->wait();
      else
        trainer.guarded([&] {
          trainer.saving_->wait_for_own();
          comm::barrier(trainer.control());  // all parts are there
          trainer.saving_->wait();
          comm::barrier(trainer.control());  // the index is there
        });
    } catch (...) {
      trainer.saving_.reset();
      throw;
    }
    trainer.saving_.reset();
  }

  /// The files that this rank writes, with views of its tensors.
  static StateFiles files_of(Trainer& trainer, const std::string& path) {
    StateFiles files;
    files.path = files.own = regimen::detail::behind_links(path);
    files.time = now();
    if (trainer.ranks() == 1) {
      files.tensors = kept(trainer);
      files.metadata = metadata_of(trainer);
    } else if constexpr (!Trainer::Step::Sharding::alone) {
      describe_parts(trainer, files);
    }
    files.clean(false);
    return files;
  }

  static std::uint64_t now() { return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()); }

  static void describe_parts(Trainer& trainer, StateFiles& files) {
    // A name that no older save has, so that an older index never names a part of this save.
    files.time = comm::gather_small(*trainer.control(), files.time)[0];
    files.save = std::to_string(trainer.step_) + "-" + std::to_string(files.time);
    files.metadata["regimen.save"] = files.save;
    const auto part = [&](std::size_t rank) { return PartNames::file(files.path, files.save, rank, trainer.ranks()); };
    files.own = part(trainer.rank());
    for_each_array(trainer, [&](const std::string& name, const auto&, View<Master> values, std::size_t first, std::size_t count) {
      // Tensors that several ranks keep are written once, an equal share by each of these ranks.
      using Sharding = typename Trainer::Step::Sharding;
      const std::size_t copies = trainer.is_sliced() ? Sharding::groups(trainer.ranks()) : trainer.ranks(),
                        copy = trainer.is_sliced() ? Sharding::copy_of(trainer.rank()) : trainer.rank();
      const std::size_t begin = first + count * copy / copies, written = first + count * (copy + 1) / copies - begin;
      if (written == 0) return;
      files.tensors.push_back(tensor_of(trainer, name, {written}, values + (begin - first), written));
      files.metadata[PartNames::first(name)] = std::to_string(begin);
    });
    files.first = trainer.rank() == 0;
    if (!files.first) return;
    files.index = metadata_of(trainer);
    files.index["regimen.save"] = files.save;
    files.index[PartNames::count] = std::to_string(trainer.ranks());
    for (std::size_t rank = 0; rank < trainer.ranks(); ++rank) {
      files.parts.push_back(part(rank));
      files.index[PartNames::part(rank)] = std::filesystem::path(part(rank)).filename().string();
    }
  }

  /// Runs on rank 0 a task that all ranks call for, such as writing a file; the other ranks wait for its end.
  static void do_once(Trainer& trainer, const auto& action) {
    trainer.guarded([&] {
      if (trainer.rank() == 0) action();
      comm::barrier(trainer.control());
    });
  }

  /// Rank 0 writes the whole state to one file, as a single rank would save it.
  static void save_whole(Trainer& trainer, const std::string& path) {
    expect_finished_step(trainer, "Trainer::save_whole");
    const std::uint64_t begun = now();
    trainer.guarded([&] { write_whole(trainer, path); });
    if (trainer.rank() == 0) SavedState::remove_parts_before(regimen::detail::behind_links(path), begun);
    comm::barrier(trainer.control());
  }

 private:
  static void write_whole(Trainer& trainer, const std::string& path) {
    if (trainer.ranks() == 1 || !trainer.is_sliced()) {
      if (trainer.rank() == 0) safetensors::write(path, kept(trainer), metadata_of(trainer));
    } else {
      using Collector = typename Trainer::Collector;
      std::vector<std::vector<Master>> arrays{Collector::collect(trainer.walk_, *trainer.control(), trainer.resident_, Collector::master_weights)};
      for (std::size_t state = 0; state < UpdateRule::states; ++state)
        arrays.push_back(Collector::collect(trainer.walk_, *trainer.control(), trainer.resident_, state));
      if (trainer.rank() == 0) {
        std::vector<safetensors::Tensor> tensors;
        std::vector<std::size_t> at(arrays.size());
        for (const auto& tensor : trainer.tensors_)
          for (std::size_t array = 0; array < arrays.size(); ++array) {
            if (array > 0 && !tensor.place.trains) continue;
            const std::string name = array == 0 ? tensor.name : state_name(UpdateRule::state_names[array - 1], tensor.name);
            tensors.push_back({name, safetensors::dtype_of<Master>, shape_of(tensor.parameter),
                               std::as_bytes(std::span(arrays[array].data() + at[array], tensor.place.count))});
            at[array] += tensor.place.count;
          }
        safetensors::write(path, tensors, metadata_of(trainer));
      }
    }
  }

  /// Calls f(name, tensor, offset, first, count) for the weights and the optimizer state that this rank keeps.
  static void for_each_array(Trainer& trainer, auto&& f) {
    for (const auto& tensor : trainer.tensors_) {
      f(tensor.name, tensor, trainer.master_view(tensor), tensor.first, tensor.count);
      if (!tensor.place.trains) continue;
      for (std::size_t state = 0; state < tensor.states; ++state)
        f(state_name(UpdateRule::state_names[state], tensor.name), tensor, trainer.state_view(tensor, state), tensor.first, tensor.count);
    }
  }
  /// A tensor of the arena, to be written to a file.
  static safetensors::Tensor tensor_of(Trainer& trainer, const std::string& name, std::vector<std::size_t> shape, View<Master> values,
                                       std::size_t count) {
    safetensors::Tensor tensor{name, safetensors::dtype_of<Master>, std::move(shape), {}};
    tensor.read = [](const safetensors::Tensor& of, std::size_t offset, std::span<std::byte> to) {
      static_cast<Trainer*>(of.owner)->walk_.engine.download(of.at + offset, to).wait();
    };
    tensor.owner = &trainer;
    tensor.at = values.offset;
    tensor.size = count * sizeof(Master);
    return tensor;
  }

  /// All tensors of a rank that keeps everything whole.
  static std::vector<safetensors::Tensor> kept(Trainer& trainer) {
    std::vector<safetensors::Tensor> tensors;
    for_each_array(trainer, [&](const std::string& name, const auto& tensor, View<Master> values, std::size_t, std::size_t) {
      tensors.push_back(tensor_of(trainer, name, shape_of(tensor.parameter), values, tensor.place.count));
    });
    return tensors;
  }

  static std::map<std::string, std::string> metadata_of(Trainer& trainer) {
    const Scalars s = trainer.scalars();
    std::map<std::string, std::string> metadata{
        {"format", "pt"},
        {"regimen.version", "1"},
        {"regimen.step", std::to_string(trainer.step_)},
        {"regimen.epoch", std::to_string(trainer.place_.epoch)},  // of the data; all ranks together have used this many of its samples
        {"regimen.samples", std::to_string(trainer.place_.samples)},
        {"regimen.run", std::to_string(trainer.place_.run)},
        {"regimen.seed", std::to_string(trainer.seed_)},
        {"regimen.updates", std::to_string(s.updates)},
        {"regimen.skipped", std::to_string(s.skipped)},
        {"regimen.finite_streak", std::to_string(s.finite_streak)},
        {"regimen.loss_scale", bits_of(s.loss_scale)},
        {"regimen.loss_scale_moves", moves_loss_scale ? "1" : "0"},
        {"regimen.path", path_text()}};
    if (trainer.place_.batches != 0) metadata["regimen.batches"] = std::to_string(trainer.place_.batches);
    if (trainer.is_patient_) {  // the state of fit's patience; a loop by hand has none
      metadata["regimen.best"] = bits_of(trainer.best_);
      metadata["regimen.without_gain"] = std::to_string(trainer.without_gain_);
      metadata["regimen.validated_at"] = std::to_string(trainer.validated_at_);
    }
    return metadata;
  }

 public:
  static void load(Trainer& trainer, const std::string& path) {
    const SavedState file(path);
    const auto& metadata = file.metadata();
    const bool resumes = metadata.contains("regimen.version");
    // Checks everything before it changes anything: a file that does not fit leaves the Trainer unchanged.
    for (const auto& tensor : trainer.tensors_) file.template expect<Master>(tensor.name, shape_of(tensor.parameter));
    for (const auto& tensor : trainer.tensors_)
      if (resumes && tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state) {
          const std::string name = state_name(UpdateRule::state_names[state], tensor.name);
          if (!file.contains(name)) throw Error(path, "the optimizer state \"" + name + "\"", "the weights of this model without it", weights_alone);
          file.template expect<Master>(name, shape_of(tensor.parameter));
        }
    for (const std::string& found : file.names()) {
      bool known = false;
      for (const auto& tensor : trainer.tensors_) {
        known = known || found == tensor.name;
        for (std::size_t state = 0; state < tensor.states; ++state) known = known || found == state_name(UpdateRule::state_names[state], tensor.name);
      }
      if (!known && is_state_of_weights(trainer, found))
        throw Error(path, "optimizer state that this Trainer keeps", "the weights of this model and \"" + found + "\"", weights_alone);
      if (!known) throw Error(path, "tensors of this model only", "the tensor " + found, "load it into the model that it was saved from");
    }
    std::uint64_t step = 0, seed = trainer.seed_, updates = 0, skipped = 0, streak = 0;
    double loss_scale = Trainer::Recipe::loss_scaling.initial, best = std::numeric_limits<double>::infinity();
    std::uint64_t without_gain = 0, validated_at = never;
    DataPlace place;
    if (resumes) {
      step = whole_number(path, metadata, "regimen.step");
      place = place_in(path, metadata);
      seed = whole_number(path, metadata, "regimen.seed");
      updates = whole_number(path, metadata, "regimen.updates");
      skipped = whole_number(path, metadata, "regimen.skipped");
      const std::uint64_t saved_streak = whole_number(path, metadata, "regimen.finite_streak");
      const double saved_scale = std::bit_cast<double>(whole_number(path, metadata, "regimen.loss_scale"));
      if (!(saved_scale >= 1 && saved_scale <= 3.5e38))
        throw Error(path + ", metadata, regimen.loss_scale", "a loss scale of at least 1", std::to_string(saved_scale));
      if (moves_loss_scale && whole_number(path, metadata, "regimen.loss_scale_moves") == 1) {  // otherwise the policy decides
        loss_scale = saved_scale;
        streak = saved_streak;
      }
      if (metadata.contains("regimen.best")) {
        best = std::bit_cast<double>(whole_number(path, metadata, "regimen.best"));
        without_gain = whole_number(path, metadata, "regimen.without_gain");
        validated_at = whole_number(path, metadata, "regimen.validated_at");
      }
      const auto written = metadata.find("regimen.path");
      if (written != metadata.end() && written->second != path_text() && trainer.rank() == 0)
        regimen::detail::say("regimen: " + path + " was written with \"" + written->second + "\", this run has \"" + path_text() +
                             "\": it goes on, but not bit for bit as the other run would have\n");
    }
    trainer.abandon();
    for (const auto& tensor : trainer.tensors_) {
      if (tensor.count == 0) continue;
      std::vector<Master> values(tensor.count);
      file.template copy<Master>(tensor.name, tensor.first, std::span(values));
      trainer.write(trainer.master_view(tensor), std::span<const Master>(values));
      if (!tensor.place.trains || !resumes) continue;
      for (std::size_t state = 0; state < tensor.states; ++state) {
        file.template copy<Master>(state_name(UpdateRule::state_names[state], tensor.name), tensor.first, std::span(values));
        trainer.write(trainer.state_view(tensor, state), std::span<const Master>(values));
      }
    }
    if (!resumes) trainer.reset_state();
    Scalars s = trainer.scalars();
    trainer.step_ = step;
    begin_data_at(trainer, place);
    trainer.seed_ = seed;
    s.updates = updates;
    s.skipped = skipped;
    s.finite_streak = streak;
    s.loss_scale = loss_scale;
    trainer.write_scalars(s);
    trainer.best_ = best;
    trainer.without_gain_ = without_gain;
    trainer.validated_at_ = validated_at;
    trainer.resumed_ = resumes;
    trainer.host_weights_.clear();
    trainer.copies_follow_masters();
  }

  /// Loads only the weights, of any element type; ignores optimizer state.
  static void load_weights(Trainer& trainer, const std::string& path) {
    expect_finished_step(trainer, "Trainer::load_weights");
    const SavedState file(path);
    for (const auto& tensor : trainer.tensors_) file.expect_numbers(tensor.name, shape_of(tensor.parameter));
    for (const std::string& found : file.names()) {
      bool known = is_state_of_weights(trainer, found);
      for (const auto& tensor : trainer.tensors_) known = known || found == tensor.name;
      if (!known) throw Error(path, "tensors of this model only", "the tensor " + found, "load it into the model that it was saved from");
    }
    for (const auto& tensor : trainer.tensors_)
      if (tensor.count > 0) {
        std::vector<Master> values(tensor.count);
        file.template copy_converted<Master>(tensor.name, tensor.first, std::span(values));
        trainer.write(trainer.master_view(tensor), std::span<const Master>(values));
      }
    begin_anew(trainer);
    trainer.host_weights_.clear();
    trainer.copies_follow_masters();
  }

 private:
  static void begin_data_at(Trainer& trainer, const DataPlace& place) {
    trainer.place_ = place;
    trainer.batching_ = {};
  }
  /// Older files have the number of finished batches of `together` samples, short ones included, in place of samples.
  static DataPlace place_in(const std::string& path, const std::map<std::string, std::string>& metadata) {
    const auto number = [&](const char* key) { return whole_number(path, metadata, key); };
    DataPlace place;
    if (metadata.contains("regimen.epoch") || !metadata.contains("regimen.batches"))
      place = {number("regimen.epoch"), number("regimen.samples"), number("regimen.run"), 0};
    else place.run = metadata.contains("regimen.together") ? number("regimen.together") : Trainer::batch;
    if (metadata.contains("regimen.batches")) place.batches = number("regimen.batches");
    if (place.batches != 0 && place.run == 0) throw Error(path + ", metadata", "batches of at least one sample", "0", "the file is damaged");
    return place;
  }

  static constexpr const char* weights_alone =
      "it was saved under another Optimizer or Freeze; trainer.load_weights(path) takes the weights alone and begins anew";

  /// "optimizer.<state>.<name>" of a weight of this model, whatever the update rule calls its state.
  static bool is_state_of_weights(const Trainer& trainer, const std::string& name) {
    const std::size_t dot = name.starts_with("optimizer.") ? name.find('.', 10) : std::string::npos;
    if (dot == std::string::npos) return false;
    for (const auto& tensor : trainer.tensors_)
      if (name.compare(dot + 1, std::string::npos, tensor.name) == 0) return true;
    return false;
  }

  /// What decides the bits of a run, besides the program.
  static std::string path_text() { return Trainer::Engine::template numerics<typename Trainer::Recipe::Roles::compute>(); }
};

template <class Trainer>
void save_state(Trainer& trainer, const std::string& path) {
  StateAccess<Trainer>::save(trainer, path);
}
template <class Trainer>
void save_state_in_background(Trainer& trainer, const std::string& path, std::chrono::seconds limit) {
  StateAccess<Trainer>::save_in_background(trainer, path, limit);
}
template <class Trainer>
void finish_saving_state(Trainer& trainer) {
  StateAccess<Trainer>::finish_saving(trainer);
}
template <class Trainer>
void save_whole_state(Trainer& trainer, const std::string& path) {
  StateAccess<Trainer>::save_whole(trainer, path);
}
template <class Trainer>
void load_state(Trainer& trainer, const std::string& path) {
  StateAccess<Trainer>::load(trainer, path);
}
template <class Trainer>
void load_weights(Trainer& trainer, const std::string& path) {
  StateAccess<Trainer>::load_weights(trainer, path);
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
