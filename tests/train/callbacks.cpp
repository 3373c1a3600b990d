// A callback of one rank throws: fit throws that there, and on all other ranks an error that names the rank, the callback
// and the event.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
template <class... Policies>
using Ranks = Trainer<Net, Batch<5>, Communicator<Threads>, Policies...>;

/// An exception that a program has for itself.
struct Own final : std::exception {
  const char* what() const noexcept override { return "my own words"; }
};

/// Hears one kind of event, and throws at the second one.
template <class Event>
struct Throws {
  bool is_culprit;
  int heard = 0;
  template <class Trainer>
  void operator()(Trainer&, const Event&) {
    if (is_culprit && (++heard == 2 || std::is_same_v<Event, Fitted>)) throw Own{};
  }
};

/// What three ranks say, of which the middle one throws.
template <class Event, class... Policies>
void ends_all(const std::string& event) {
  const Fake samples({.samples = 45, .classes = 4});
  std::vector<std::string> said(3);
  bool is_own = false;
  const auto start = std::chrono::steady_clock::now();
  const std::string all = ::test::error_of([&] {
    launch(3, [&](comm::Threads& communicator) {
      Ranks<Policies...> trainer(communicator, {});
      const std::size_t rank = trainer.rank();
      try {
        trainer.fit(
            samples, samples, {.epochs = 3, .validate_every = 2, .progress = false}, [](auto&, const Evaluation&) {},
            Throws<Event>{rank == 1});
      } catch (const Own& error) {
        is_own = rank == 1;
        said[rank] = error.what();
        throw;
      } catch (const std::exception& error) {
        said[rank] = error.what();
        throw;
      }
    });
  });
  INFO(event << ": " << said[0]);
  CHECK(is_own);
  CHECK(said[1] == "my own words");
  const std::string expected = "rank 1 failed: callback 2 of fit, told of " + event + ": my own words";
  CHECK(::test::says(said[0], expected));
  CHECK(::test::says(said[2], expected));
  CHECK(::test::says(all, "rank 1 failed: my own words"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));  // ranks wait 300 s for each other
}

}  // namespace

TEST_CASE("a callback of one rank throws, and all ranks end and name it") {
  ends_all<StepResult>("step 2");
  ends_all<std::span<const StepResult>, Steps<2>>("steps 3 to 4");
  ends_all<EpochEvent>("the end of epoch 0");
  ends_all<Evaluation>("the evaluation after step 4");
  ends_all<Fitted>("the end of the run after step 9");
}

TEST_CASE("a single rank goes on after the exception of a callback") {
  const Fake samples({.samples = 45, .classes = 4});
  Trainer<Net, Batch<15>> trainer, whole;
  CHECK_THROWS_AS(trainer.fit(samples, {.steps = 6, .progress = false}, Throws<StepResult>{true}), Own);
  CHECK(trainer.steps_done() == 2);
  CHECK(trainer.fit(samples, {.steps = 6, .progress = false}).loss ==
        whole.fit(samples, {.steps = 6, .progress = false}).loss);
}
// SPDX-License-Identifier: Apache-2.0
