// regimen/saves/load_state.hpp — a Trainer's state, or only its weights, from a saved file.
#pragma once

#include <regimen/saves/parts.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/saves/trainer_state.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen::saves {

/// Restores a Session from a file that StateAccess wrote.
template <class Session>
struct StateLoading {
  using Master = typename Session::Master;
  using Saved = StateAccess<Session>;

  /// Step 0, no optimizer state; seed and loss scale stay.
  [[gnu::cold]] static void begin_anew(Session& session) {
    session.reset_state();
    session.position = {};
    Scalars s = session.scalars();
    s.updates = s.skipped = s.finite_streak = 0;
    session.write_scalars(s);
  }

  /// The whole state; of a file without regimen.version the weights alone, for a run that begins at step 0.
  /// failure   Error for another model, element type or update rule, and as SavedState; then nothing has changed
  [[gnu::noinline]] static void load(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load");
    Saved::finish_saving(session);
    const SavedState file(path);
    const auto& metadata = file.metadata();
    const bool resumes = metadata.contains("regimen.version");
    // Checks everything before it changes anything: a file that does not fit leaves the Trainer unchanged.
    for (const auto& tensor : session.tensors) file.template expect<Master>(tensor.name, shape_of(tensor.parameter));
    std::vector<std::string> states;
    for (const auto& tensor : session.tensors)
      for (std::size_t state = 0; state < tensor.states; ++state) {
        states.push_back(Saved::name_of_state(tensor, state));
        if (resumes && tensor.place.trains)
          file.expect_state(states.back(), safetensors::dtype_of<Master>, shape_of(tensor.parameter));
      }
    file.expect_only(names_in(session), &states);
    SavedNumbers numbers{.seed = session.seed,
                         .scalars = session.scalars(),
                         .moves_loss_scale = Saved::moves_loss_scale,
                         .patience = Patience{.is_resumed = resumes, .is_kept = session.position.patience.is_kept}};
    numbers.scalars.updates = numbers.scalars.skipped = numbers.scalars.finite_streak = 0;
    numbers.scalars.loss_scale = Session::Recipe::loss_scaling.initial;
    if (resumes) {
      numbers.read(path, metadata, Session::batch);
      if (session.rank() == 0) say_path(path, metadata, Saved::path_text());
      const auto decays = metadata.find("regimen.decays");
      if (decays != metadata.end() && session.rank() == 0) compare_decay(session, path, decays->second);
    }
    session.abandon();
    for (const auto& tensor : session.tensors) {
      if (tensor.count == 0) continue;
      std::vector<Master> values(tensor.count);
      file.template copy<Master>(tensor.name, tensor.first, std::span(values));
      session.write(session.master_view(tensor), std::span<const Master>(values));
      if (!tensor.place.trains || !resumes) continue;
      for (std::size_t state = 0; state < tensor.states; ++state) {
        file.template copy<Master>(Saved::name_of_state(tensor, state), tensor.first, std::span(values));
        session.write(session.state_view(tensor, state), std::span<const Master>(values));
      }
    }
    if (!resumes) session.reset_state();
    session.position =
        decltype(session.position){.steps_done = numbers.step, .place = numbers.place, .patience = numbers.patience};
    session.seed = numbers.seed;
    session.write_scalars(numbers.scalars);
    session.host.weights.clear();
    session.update_copies();
  }

  /// Prints the first parameter whose weight decay differs from the file's.
  [[gnu::cold]] static void compare_decay(const Session& session, const std::string& path, const std::string& written) {
    const std::string here = Saved::decay_text(session);
    std::size_t i = 0;
    for (const auto& tensor : session.tensors) {
      if (tensor.is_buffer) continue;
      if (i < written.size() && written[i] != here[i]) return say_decay(path, tensor.name, here[i] == '1');
      ++i;
    }
  }

  /// Loads only the weights, of any element type; ignores optimizer state.
  [[gnu::noinline]] static void load_weights(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load_weights");
    Saved::finish_saving(session);
    Saved::expect_finished_step(session, "Trainer::load_weights");
    const SavedState file(path);
    for (const auto& tensor : session.tensors) file.expect_numbers(tensor.name, shape_of(tensor.parameter));
    file.expect_only(names_in(session), nullptr);
    for (const auto& tensor : session.tensors)
      if (tensor.count > 0) {
        std::vector<Master> values(tensor.count);
        file.template copy_converted<Master>(tensor.name, tensor.first, std::span(values));
        session.write(session.master_view(tensor), std::span<const Master>(values));
      }
    begin_anew(session);
    session.host.weights.clear();
    session.update_copies();
  }

 private:
  [[gnu::cold]] static std::vector<std::string> names_in(const Session& session) {
    std::vector<std::string> names;
    for (const auto& tensor : session.tensors) names.push_back(tensor.name);
    return names;
  }
};

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
