// regimen/state/trainer_state.hpp — a Trainer's state in one safetensors file.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/state/background_save.hpp>
#include <regimen/state/parts.hpp>
#include <regimen/state/patience.hpp>
#include <regimen/state/safetensors.hpp>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace regimen::train {

/// In a file `<name>` is a weight and `optimizer.<state>.<name>` its optimizer state. Everything else that exact
/// resumption needs is in the metadata, under "regimen.".
inline std::string state_name(const char* state, const std::string& name) {
  return std::string("optimizer.") + state + "." + name;
}

inline std::vector<std::size_t> shape_of(const Parameter& parameter) {
  return {parameter.extents.begin(), parameter.extents.begin() + parameter.rank};
}

/// Doubles are saved as their 64 bits, so that they are restored exactly.
inline std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

/// Opens a Trainer for the library's own functions; programs have no use for it.
struct Inside final {
  template <class Trainer>
  static auto& session(Trainer& trainer) {
    return trainer.session_;
  }
};

/// What is saved of a Session, and what comes back from a file.
template <class Session>
struct StateAccess {
  using Master = typename Session::Master;
  using UpdateRule = typename Session::UpdateRule;
  static constexpr bool moves_loss_scale = Session::Recipe::loss_scaling.growth_interval > 0;

  static void expect_finished_step(const Session& session, const char* who) {
    if (!session.is_between_steps()) throw Error(who, "a finished step", "a step that has begun", "call apply first");
  }

  /// Step 0, no optimizer state; seed and loss scale stay.
  static void begin_anew(Session& session) {
    session.reset_state();
    session.steps_done = 0;
    begin_data_at(session, {});
    Scalars s = session.scalars();
    s.updates = s.skipped = s.finite_streak = 0;
    session.write_scalars(s);
    session.patience = {};
  }

  /// One rank writes one file. Several ranks write a part each, then rank 0 the index; until that is in place, the
  /// older state stays valid.
  static void save(Session& session, const std::string& path) {
    finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    expect_finished_step(session, "Trainer::save");
    session.guarded([&] {  // the other ranks wait for this rank's part
      const StateFiles files = files_of(session, path);
      try {
        files.write_own(
            [&] { comm::barrier(session.control()); });  // all bytes are on the disk: no rank will lack room
        comm::barrier(session.control());                // all parts are there
        files.finish();
      } catch (...) {
        files.clean(true);
        throw;
      }
      comm::barrier(session.control());  // the index is there
    });
  }
  static void save_in_background(Session& session, const std::string& path, std::chrono::seconds limit) {
    finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    expect_finished_step(session, "Trainer::save_in_background");
    session.guarded([&] { session.saving = std::make_unique<BackgroundSave>(files_of(session, path), limit); });
  }
  static void finish_saving(Session& session) {
    if (!session.saving) return;
    try {
      if (session.ranks() == 1) session.saving->wait();
      else
        session.guarded([&] {
          session.saving->wait_for_own();
          comm::barrier(session.control());  // all parts are there
          session.saving->wait();
          comm::barrier(session.control());  // the index is there
        });
    } catch (...) {
      session.saving.reset();
      throw;
    }
    session.saving.reset();
  }

  /// The files that this rank writes, with views of its tensors.
  static StateFiles files_of(Session& session, const std::string& path) {
    StateFiles files;
    files.path = files.own = regimen::detail::behind_links(path);
    files.time = now();
    if (session.ranks() == 1) {
      files.tensors = kept(session);
      files.metadata = metadata_of(session);
    } else if constexpr (!Session::Step::Sharding::alone) {
      describe_parts(session, files);
    }
    files.clean(false);
    return files;
  }

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }

  static void describe_parts(Session& session, StateFiles& files) {
    // A name that no older save has, so that an older index never names a part of this save.
    files.time = comm::gather_small(*session.control(), files.time)[0];
    files.save = std::to_string(session.steps_done) + "-" + std::to_string(files.time);
    files.metadata["regimen.save"] = files.save;
    const auto part = [&](std::size_t rank) { return PartNames::file(files.path, files.save, rank, session.ranks()); };
    files.own = part(session.rank());
    for_each_array(session, [&](const std::string& name, const auto&, View<Master> values, std::size_t first,
                                std::size_t count) {
      // Tensors that several ranks keep are written once, an equal share by each of these ranks.
      using Sharding = typename Session::Step::Sharding;
      const std::size_t copies = session.is_sliced() ? Sharding::groups(session.ranks()) : session.ranks(),
                        copy = session.is_sliced() ? Sharding::copy_of(session.rank()) : session.rank();
      const std::size_t begin = first + count * copy / copies, written = first + count * (copy + 1) / copies - begin;
      if (written == 0) return;
      files.tensors.push_back(tensor_of(session, name, {written}, values + (begin - first), written));
      files.metadata[PartNames::first(name)] = std::to_string(begin);
    });
    files.first = session.rank() == 0;
    if (!files.first) return;
    files.index = metadata_of(session);
    files.index["regimen.save"] = files.save;
    files.index[PartNames::count] = std::to_string(session.ranks());
    for (std::size_t rank = 0; rank < session.ranks(); ++rank) {
      files.parts.push_back(part(rank));
      files.index[PartNames::part(rank)] = std::filesystem::path(part(rank)).filename().string();
    }
  }

  /// Runs on rank 0 a task that all ranks call for, such as writing a file; the other ranks wait for its end.
  static void do_once(Session& session, const auto& action) {
    session.guarded([&] {
      if (session.rank() == 0) action();
      comm::barrier(session.control());
    });
  }

  /// Rank 0 writes the whole state to one file, as a single rank would save it.
  static void save_whole(Session& session, const std::string& path) {
    finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    expect_finished_step(session, "Trainer::save_whole");
    const std::uint64_t begun = now();
    session.guarded([&] { write_whole(session, path); });
    if (session.rank() == 0) SavedState::remove_parts_before(regimen::detail::behind_links(path), begun);
    comm::barrier(session.control());
  }

 private:
  static void write_whole(Session& session, const std::string& path) {
    if (session.ranks() == 1 || !session.is_sliced()) {
      if (session.rank() == 0) safetensors::write(path, kept(session), metadata_of(session));
    } else {
      using Collector = typename Session::Collector;
      std::vector<std::vector<Master>> arrays{
          Collector::collect(session.walk, *session.control(), session.resident, Collector::master_weights)};
      for (std::size_t state = 0; state < UpdateRule::states; ++state)
        arrays.push_back(Collector::collect(session.walk, *session.control(), session.resident, state));
      if (session.rank() == 0) {
        std::vector<safetensors::Tensor> tensors;
        std::vector<std::size_t> at(arrays.size());
        for (const auto& tensor : session.tensors)
          for (std::size_t array = 0; array < arrays.size(); ++array) {
            if (array > 0 && !tensor.place.trains) continue;
            const std::string name =
                array == 0 ? tensor.name : state_name(UpdateRule::state_names[array - 1], tensor.name);
            tensors.push_back({name, safetensors::dtype_of<Master>, shape_of(tensor.parameter),
                               std::as_bytes(std::span(arrays[array].data() + at[array], tensor.place.count))});
            at[array] += tensor.place.count;
          }
        safetensors::write(path, tensors, metadata_of(session));
      }
    }
  }

  /// Calls f(name, tensor, offset, first, count) for the weights and the optimizer state that this rank keeps.
  static void for_each_array(Session& session, auto&& f) {
    for (const auto& tensor : session.tensors) {
      f(tensor.name, tensor, session.master_view(tensor), tensor.first, tensor.count);
      if (!tensor.place.trains) continue;
      for (std::size_t state = 0; state < tensor.states; ++state)
        f(state_name(UpdateRule::state_names[state], tensor.name), tensor, session.state_view(tensor, state),
          tensor.first, tensor.count);
    }
  }
  /// A tensor of the arena, to be written to a file.
  static safetensors::Tensor tensor_of(Session& session, const std::string& name, std::vector<std::size_t> shape,
                                       View<Master> values, std::size_t count) {
    safetensors::Tensor tensor{name, safetensors::dtype_of<Master>, std::move(shape), {}};
    tensor.read = [](const safetensors::Tensor& of, std::size_t offset, std::span<std::byte> to) {
      static_cast<Session*>(of.owner)->walk.engine.download(of.at + offset, to).wait();
    };
    tensor.owner = &session;
    tensor.at = values.offset;
    tensor.size = count * sizeof(Master);
    return tensor;
  }

  /// All tensors of a rank that keeps everything whole.
  static std::vector<safetensors::Tensor> kept(Session& session) {
    std::vector<safetensors::Tensor> tensors;
    for_each_array(
        session, [&](const std::string& name, const auto& tensor, View<Master> values, std::size_t, std::size_t) {
          tensors.push_back(tensor_of(session, name, shape_of(tensor.parameter), values, tensor.place.count));
        });
    return tensors;
  }

  static std::map<std::string, std::string> metadata_of(Session& session) {
    const Scalars s = session.scalars();
    std::map<std::string, std::string> metadata{
        {"format", "pt"},
        {"regimen.version", "1"},
        {"regimen.step", std::to_string(session.steps_done)},
        {"regimen.epoch",
         std::to_string(session.place.epoch)},  // of the data; all ranks together have used this many of its samples
        {"regimen.samples", std::to_string(session.place.samples)},
        {"regimen.run", std::to_string(session.place.run)},
        {"regimen.seed", std::to_string(session.seed)},
        {"regimen.updates", std::to_string(s.updates)},
        {"regimen.skipped", std::to_string(s.skipped)},
        {"regimen.finite_streak", std::to_string(s.finite_streak)},
        {"regimen.loss_scale", bits_of(s.loss_scale)},
        {"regimen.loss_scale_moves", moves_loss_scale ? "1" : "0"},
        {"regimen.path", path_text()}};
    if (session.place.batches != 0) metadata["regimen.batches"] = std::to_string(session.place.batches);
    if (session.patience.is_kept) {  // the state of fit's patience; a loop by hand has none
      metadata["regimen.best"] = bits_of(session.patience.best);
      metadata["regimen.without_gain"] = std::to_string(session.patience.without_gain);
      metadata["regimen.validated_at"] = std::to_string(session.patience.validated_at);
    }
    return metadata;
  }

 public:
  static void load(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load");
    finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    const SavedState file(path);
    const auto& metadata = file.metadata();
    const bool resumes = metadata.contains("regimen.version");
    // Checks everything before it changes anything: a file that does not fit leaves the Trainer unchanged.
    for (const auto& tensor : session.tensors) file.template expect<Master>(tensor.name, shape_of(tensor.parameter));
    for (const auto& tensor : session.tensors)
      if (resumes && tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state) {
          const std::string name = state_name(UpdateRule::state_names[state], tensor.name);
          if (!file.contains(name))
            throw Error(path, "the optimizer state \"" + name + "\"", "the weights of this model without it",
                        weights_alone);
          file.template expect<Master>(name, shape_of(tensor.parameter));
        }
    for (const std::string& found : file.names()) {
      bool known = false;
      for (const auto& tensor : session.tensors) {
        known = known || found == tensor.name;
        for (std::size_t state = 0; state < tensor.states; ++state)
          known = known || found == state_name(UpdateRule::state_names[state], tensor.name);
      }
      if (!known && is_state_of_weights(session, found))
        throw Error(path, "optimizer state that this Trainer keeps", "the weights of this model and \"" + found + "\"",
                    weights_alone);
      if (!known)
        throw Error(path, "tensors of this model only", "the tensor " + found,
                    "load it into the model that it was saved from");
    }
    std::uint64_t step = 0, seed = session.seed, updates = 0, skipped = 0, streak = 0;
    double loss_scale = Session::Recipe::loss_scaling.initial;
    Patience patience{.is_resumed = resumes, .is_kept = session.patience.is_kept};
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
        throw Error(path + ", metadata, regimen.loss_scale", "a loss scale of 1 to 3.4e38", std::to_string(saved_scale),
                    "the file is damaged");
      if (moves_loss_scale &&
          whole_number(path, metadata, "regimen.loss_scale_moves") == 1) {  // otherwise the policy decides
        loss_scale = saved_scale;
        streak = saved_streak;
      }
      if (metadata.contains("regimen.best")) {
        patience.is_kept = true;  // also a Trainer that only loads and saves passes them on
        patience.best = std::bit_cast<double>(whole_number(path, metadata, "regimen.best"));
        patience.without_gain = whole_number(path, metadata, "regimen.without_gain");
        patience.validated_at = whole_number(path, metadata, "regimen.validated_at");
      }
      const auto written = metadata.find("regimen.path");
      if (written != metadata.end() && written->second != path_text() && session.rank() == 0)
        regimen::detail::say("regimen: " + path + " was written with \"" + written->second + "\", this run has \"" +
                             path_text() + "\": training continues, but not with the bits of that run\n");
    }
    session.abandon();
    for (const auto& tensor : session.tensors) {
      if (tensor.count == 0) continue;
      std::vector<Master> values(tensor.count);
      file.template copy<Master>(tensor.name, tensor.first, std::span(values));
      session.write(session.master_view(tensor), std::span<const Master>(values));
      if (!tensor.place.trains || !resumes) continue;
      for (std::size_t state = 0; state < tensor.states; ++state) {
        file.template copy<Master>(state_name(UpdateRule::state_names[state], tensor.name), tensor.first,
                                   std::span(values));
        session.write(session.state_view(tensor, state), std::span<const Master>(values));
      }
    }
    if (!resumes) session.reset_state();
    Scalars s = session.scalars();
    session.steps_done = step;
    begin_data_at(session, place);
    session.seed = seed;
    s.updates = updates;
    s.skipped = skipped;
    s.finite_streak = streak;
    s.loss_scale = loss_scale;
    session.write_scalars(s);
    session.patience = patience;
    session.host_weights.clear();
    session.update_copies();
  }

  /// Loads only the weights, of any element type; ignores optimizer state.
  static void load_weights(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load_weights");
    finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    expect_finished_step(session, "Trainer::load_weights");
    const SavedState file(path);
    for (const auto& tensor : session.tensors) file.expect_numbers(tensor.name, shape_of(tensor.parameter));
    for (const std::string& found : file.names()) {
      bool known = is_state_of_weights(session, found);
      for (const auto& tensor : session.tensors) known = known || found == tensor.name;
      if (!known)
        throw Error(path, "tensors of this model only", "the tensor " + found,
                    "load it into the model that it was saved from");
    }
    for (const auto& tensor : session.tensors)
      if (tensor.count > 0) {
        std::vector<Master> values(tensor.count);
        file.template copy_converted<Master>(tensor.name, tensor.first, std::span(values));
        session.write(session.master_view(tensor), std::span<const Master>(values));
      }
    begin_anew(session);
    session.host_weights.clear();
    session.update_copies();
  }

 private:
  static void begin_data_at(Session& session, const DataPlace& place) {
    session.place = place;
    session.batching = {};
  }
  /// Older files have the number of finished batches of `together` samples, short ones included, in place of samples.
  static DataPlace place_in(const std::string& path, const std::map<std::string, std::string>& metadata) {
    const auto number = [&](const char* key) { return whole_number(path, metadata, key); };
    DataPlace place;
    if (metadata.contains("regimen.epoch") || !metadata.contains("regimen.batches"))
      place = {number("regimen.epoch"), number("regimen.samples"), number("regimen.run"), 0};
    else place.run = metadata.contains("regimen.together") ? number("regimen.together") : Session::batch;
    if (metadata.contains("regimen.batches")) place.batches = number("regimen.batches");
    if (place.batches != 0 && place.run == 0)
      throw Error(path + ", metadata", "batches of at least one sample", "0", "the file is damaged");
    return place;
  }

  static constexpr const char* weights_alone =
      "it was saved under another Optimizer or Freeze; trainer.load_weights(path) takes the weights alone and begins anew";

  /// "optimizer.<state>.<name>" of a weight of this model, whatever the update rule calls its state.
  static bool is_state_of_weights(const Session& session, const std::string& name) {
    const std::size_t dot = name.starts_with("optimizer.") ? name.find('.', 10) : std::string::npos;
    if (dot == std::string::npos) return false;
    for (const auto& tensor : session.tensors)
      if (name.compare(dot + 1, std::string::npos, tensor.name) == 0) return true;
    return false;
  }

  /// What decides the bits of a run, besides the program.
  static std::string path_text() {
    return Session::Engine::template numerics<typename Session::Recipe::Roles::computed>();
  }
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
