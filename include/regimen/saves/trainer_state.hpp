// regimen/saves/trainer_state.hpp — saves a Trainer's state in one safetensors file.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/atomic_file.hpp>  // behind_links
#include <regimen/core/operation.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/saves/background_save.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/saves/safetensors.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::saves {

/// In a file `<name>` is a weight and `optimizer.<state>.<name>` its optimizer state. Everything else that exact
/// resumption needs is in the metadata, under "regimen.".
[[gnu::cold]] std::string state_name(const char* state, const std::string& name);
[[gnu::cold]] std::vector<std::size_t> shape_of(const Parameter& parameter);

/// Throws Error unless a state can be saved now.
[[gnu::cold]] void expect_finished(const char* who, bool is_in_average, bool is_between_steps);

/// The metadata of a state, without the names of its parts (PartNames). Values are text: whole numbers are decimal;
/// (bits): the 64 bits of a double as such a number, so that it is restored exactly.
///
///   regimen.version           1. Without this key the file is read as weights alone, perhaps of another program
///   regimen.step, .seed       of the run
///   regimen.epoch, .samples, .run   the place in the data (DataPlace), the same for any batch and number of ranks
///   regimen.batches, .together      in older files: finished batches, and the samples of one, of all ranks
///   regimen.updates, .skipped, .finite_streak   of Scalars
///   regimen.loss_scale (bits), .loss_scale_moves   1: under LossScale<Dynamic>
///   regimen.path, .decays     the engine's arithmetic; a digit for each parameter, 1 if weight decay reaches it. If a
///                             run that resumes has others, a line says so, and it goes on
///   regimen.best (bits), .without_gain, .validated_at   of Patience, if fit had patience
///   regimen.evaluated (bits)  the loss of the evaluation for which the state was saved (Checkpoints)
struct SavedNumbers final {
  std::uint64_t step = 0, seed = 0;
  Scalars scalars{};              // updates, skipped, finite_streak and loss_scale
  bool moves_loss_scale = false;  // the policy moves it; else it keeps its own
  DataPlace place{};
  Patience patience{};

  ///   path_text, decay_text   of StateAccess      evaluated   NaN: the state is not of an evaluation
  [[gnu::cold]] safetensors::Metadata metadata(const std::string& path_text, const std::string& decay_text,
                                               double evaluated) const;
  /// From the file `path`.   batch   the samples of one in older files without regimen.together
  /// failure   Error for a key that is absent or no whole number, a loss scale below 1 or beyond fp32, or batches
  ///           of 0 samples
  [[gnu::cold]] void read(const std::string& path, const safetensors::Metadata& metadata, std::uint64_t batch);
};

/// Prints a line if the run that wrote the file had another path_text (say_path), or another weight decay of a
/// parameter (say_decay).
[[gnu::cold]] void say_path(const std::string& path, const safetensors::Metadata& metadata,
                            const std::string& path_text);
[[gnu::cold]] void say_decay(const std::string& path, const std::string& name, bool decays);

/// Opens a Trainer for the library's own functions; programs have no use for it.
struct Inside final {
  template <class Trainer>
  static auto& session(Trainer& trainer) {
    return trainer.session_;
  }
  /// Held while the weights of a Trainer or an Inference are written.
  template <class Owner>
  static auto writing(Owner& owner, const char* who) {
    if constexpr (requires { typename Owner::Session; }) return owner.session_.enter(who);
    else return typename Owner::Writing(owner, who);
  }
  /// Hold it during several calls of an object: no other thread calls between them. null for a program's own object.
  template <class Owner>
  static auto holding(Owner& owner, const char* who) {
    if constexpr (requires { typename Owner::Session; }) return owner.session_.enter(who);
    else if constexpr (requires { typename Owner::Entry; }) return typename Owner::Entry(owner, who);
    else return nullptr;
  }
};

/// Saves a Session; load_state.hpp restores it.
template <class Session>
struct StateAccess {
  using Master = typename Session::Master;
  using UpdateRule = typename Session::UpdateRule;
  static constexpr bool moves_loss_scale = Session::Recipe::loss_scaling.growth_interval > 0;

  /// The engine's numerics, which decide a run's bits.
  [[gnu::cold]] static std::string path_text() {
    return Session::Engine::template numerics<typename Session::Recipe::Roles::computed>();
  }

  [[gnu::cold]] static std::string name_of_state(const auto& tensor, std::size_t state) {
    return state_name(Session::name_of_state(tensor.place.group, state), tensor.name);
  }

  /// Which tensors decay, in the order of the model: 1 for each that does.
  [[gnu::cold]] static std::string decay_text(const Session& session) {
    std::string text;
    for (const auto& tensor : session.tensors)
      if (!tensor.is_buffer) text += tensor.place.trains && tensor.place.decays ? '1' : '0';
    return text;
  }

  static void expect_finished_step(const Session& session, const char* who) {
    expect_finished(who, session.is_in_average(), session.is_between_steps());
  }

  /// One rank writes one file. Several ranks write a part each, then rank 0 the index; until that is in place, the
  /// older state stays valid.
  [[gnu::noinline]] static void save(Session& session, const std::string& path) {
    finish_saving(session);
    expect_finished_step(session, "Trainer::save");
    session.guarded([&] {  // the other ranks wait for this rank's part
      const StateFiles files = files_of(session, path);
      try {
        files.write_own(session.control());
        comm::barrier(session.control());  // all parts are there
        files.finish();
      } catch (...) {
        files.clean(true);
        throw;
      }
      comm::barrier(session.control());  // the index is there
    });
  }
  [[gnu::noinline]] static void save_in_background(Session& session, const std::string& path,
                                                   std::chrono::seconds limit) {
    finish_saving(session);
    expect_finished_step(session, "Trainer::save_in_background");
    session.guarded([&] { session.saving.running = std::make_unique<BackgroundSave>(files_of(session, path), limit); });
  }
  static void finish_saving(Session& session) {
    if (!session.saving.running) return;
    try {
      if (session.ranks() == 1) session.saving.running->wait();
      else
        session.guarded([&] {
          session.saving.running->wait_for_own();
          comm::barrier(session.control());  // all parts are there
          session.saving.running->wait();
          comm::barrier(session.control());  // the index is there
        });
    } catch (...) {
      session.saving.running.reset();
      throw;
    }
    session.saving.running.reset();
  }

  /// The files that this rank writes, with views of its tensors.
  [[gnu::cold]] static StateFiles files_of(Session& session, const std::string& path) {
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

  [[gnu::cold]] static void describe_parts(Session& session, StateFiles& files) {
    // No older save has this name, so no older index names a part of this save.
    files.time = comm::gather_small(*session.control(), files.time)[0];
    files.save = std::to_string(session.position.steps_done) + "-" + std::to_string(files.time);
    files.metadata["regimen.save"] = files.save;
    const auto part = [&](std::size_t rank) { return PartNames::file(files.path, files.save, rank, session.ranks()); };
    files.own = part(session.rank());
    for_each_array(session, [&](const std::string& name, const auto& tensor, View<Master> values, std::size_t first,
                                std::size_t count) {
      // Tensors that several ranks keep are written once, an equal share by each of these ranks.
      using Sharding = typename Session::Step::Sharding;
      const bool sliced = session.is_sliced() && !tensor.is_buffer;
      const std::size_t copies = sliced ? Sharding::groups(session.ranks()) : session.ranks(),
                        copy = sliced ? Sharding::copy_of(session.rank()) : session.rank();
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
      files.index[PartNames::part(rank)] = regimen::detail::name_of_file(part(rank));
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
  [[gnu::noinline]] static void save_whole(Session& session, const std::string& path) {
    finish_saving(session);
    expect_finished_step(session, "Trainer::save_whole");
    const std::uint64_t begun = now();
    session.guarded([&] { write_whole(session, path); });
    if (session.rank() == 0) SavedState::remove_parts_before(regimen::detail::behind_links(path), begun);
    comm::barrier(session.control());
  }

 private:
  [[gnu::cold]] static void write_whole(Session& session, const std::string& path) {
    if (session.ranks() == 1 || !session.is_sliced()) {
      if (session.rank() == 0) safetensors::write(path, kept(session), metadata_of(session));
    } else {
      std::vector<std::vector<Master>> arrays{session.collect_slices(Session::master_weights)};
      for (std::size_t state = 0; state < UpdateRule::states; ++state) arrays.push_back(session.collect_slices(state));
      if (session.rank() == 0) {
        std::vector<safetensors::Tensor> tensors;
        std::vector<std::size_t> at(arrays.size());
        for (const auto& tensor : session.tensors)
          for (std::size_t array = 0; array < arrays.size(); ++array) {
            if (array > 0 && !tensor.place.trains) continue;
            const std::span<const Master> values(arrays[array].data() + at[array], tensor.place.count);
            at[array] += tensor.place.count;
            if (array <= tensor.states)
              tensors.push_back({array == 0 ? tensor.name : name_of_state(tensor, array - 1),
                                 safetensors::dtype_of<Master>, shape_of(tensor.parameter), std::as_bytes(values)});
          }
        safetensors::write(path, tensors, metadata_of(session));
      }
    }
  }

  /// Calls f(name, tensor, offset, first, count) for the weights and the optimizer state that this rank keeps.
  [[gnu::cold]] static void for_each_array(Session& session, auto&& f) {
    for (const auto& tensor : session.tensors) {
      f(tensor.name, tensor, session.master_view(tensor), tensor.first, tensor.count);
      if (!tensor.place.trains) continue;
      for (std::size_t state = 0; state < tensor.states; ++state)
        f(name_of_state(tensor, state), tensor, session.state_view(tensor, state), tensor.first, tensor.count);
    }
  }
  /// A tensor of the arena, to be written to a file.
  [[gnu::cold]] static safetensors::Tensor tensor_of(Session& session, const std::string& name,
                                                     std::vector<std::size_t> shape, View<Master> values,
                                                     std::size_t count) {
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
  [[gnu::cold]] static std::vector<safetensors::Tensor> kept(Session& session) {
    std::vector<safetensors::Tensor> tensors;
    for_each_array(
        session, [&](const std::string& name, const auto& tensor, View<Master> values, std::size_t, std::size_t) {
          tensors.push_back(tensor_of(session, name, shape_of(tensor.parameter), values, tensor.place.count));
        });
    return tensors;
  }

  [[gnu::cold]] static safetensors::Metadata metadata_of(Session& session) {
    const SavedNumbers numbers{.step = session.position.steps_done,
                               .seed = session.seed,
                               .scalars = session.scalars(),
                               .moves_loss_scale = moves_loss_scale,
                               .place = session.position.place,
                               .patience = session.position.patience};
    return numbers.metadata(path_text(), decay_text(session), session.saving.evaluated);
  }
};

}  // namespace regimen::saves

#if !REGIMEN_COMPILED
#include <regimen/saves/trainer_state.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
