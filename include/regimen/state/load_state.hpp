// regimen/state/load_state.hpp — a Trainer's state, or its weights alone, from a saved file.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/state/parts.hpp>
#include <regimen/state/patience.hpp>
#include <regimen/state/trainer_state.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace regimen::train {

/// What comes back from a file that StateAccess wrote.
template <class Session>
struct StateLoading {
  using Master = typename Session::Master;
  using Saved = StateAccess<Session>;

  /// Step 0, no optimizer state; seed and loss scale stay.
  [[gnu::cold]] static void begin_anew(Session& session) {
    session.reset_state();
    session.steps_done = 0;
    begin_data_at(session, {});
    Scalars s = session.scalars();
    s.updates = s.skipped = s.finite_streak = 0;
    session.write_scalars(s);
    session.patience = {};
  }

  [[gnu::noinline]] static void load(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load");
    Saved::finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    const SavedState file(path);
    const auto& metadata = file.metadata();
    const bool resumes = metadata.contains("regimen.version");
    // Checks everything before it changes anything: a file that does not fit leaves the Trainer unchanged.
    for (const auto& tensor : session.tensors) file.template expect<Master>(tensor.name, shape_of(tensor.parameter));
    for (const auto& tensor : session.tensors)
      if (resumes && tensor.place.trains)
        for (std::size_t state = 0; state < tensor.states; ++state) {
          const std::string name = Saved::name_of_state(tensor, state);
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
          known = known || found == Saved::name_of_state(tensor, state);
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
        throw Error(path + ", metadata, regimen.loss_scale", "a loss scale of 1 to 3.4e38",
                    regimen::detail::digits_of(saved_scale), "the file is damaged");
      if (Saved::moves_loss_scale &&
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
      if (written != metadata.end() && written->second != Saved::path_text() && session.rank() == 0)
        regimen::detail::say("regimen: " + path + " was written with \"" + regimen::detail::printable(written->second) +
                             "\", this run has \"" + Saved::path_text() +
                             "\": training continues, but not with the bits of that run\n");
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

  /// Says so if other parameters decay now than when the file was written, and which is the first.
  [[gnu::cold]] static void compare_decay(const Session& session, const std::string& path, const std::string& written) {
    const std::string here = Saved::decay_text(session);
    std::size_t i = 0;
    for (const auto& tensor : session.tensors) {
      if (tensor.is_buffer) continue;
      if (i < written.size() && written[i] != here[i]) {
        const bool decays = here[i] == '1';
        regimen::detail::say("regimen: " + path + " was written by a run in which weight decay " +
                             (decays ? "did not reach " : "reached ") + tensor.name + ", and in this run it " +
                             (decays ? "does" : "does not") + ": training continues as Optimizer<...> says now\n");
        return;
      }
      ++i;
    }
  }

  /// Loads only the weights, of any element type; ignores optimizer state.
  [[gnu::noinline]] static void load_weights(Session& session, const std::string& path) {
    session.expect_no_fit("Trainer::load_weights");
    Saved::finish_saving(session);
    [[maybe_unused]] const auto scope = session.walk.engine.scope();
    Saved::expect_finished_step(session, "Trainer::load_weights");
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
  [[gnu::cold]] static void begin_data_at(Session& session, const DataPlace& place) {
    session.place = place;
    session.batching = {};
  }
  /// Older files have the number of finished batches of `together` samples, short ones included, in place of samples.
  [[gnu::cold]] static DataPlace place_in(const std::string& path, const std::map<std::string, std::string>& metadata) {
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
  [[gnu::cold]] static bool is_state_of_weights(const Session& session, const std::string& name) {
    const std::size_t dot = name.starts_with("optimizer.") ? name.find('.', 10) : std::string::npos;
    if (dot == std::string::npos) return false;
    for (const auto& tensor : session.tensors)
      if (name.compare(dot + 1, std::string::npos, tensor.name) == 0) return true;
    return false;
  }
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
