// What fit asks and says before its first step, and which samples its steps have.
#include <regimen/data/fake.hpp>
#include <regimen/data/text.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/captured.hpp"
#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <vector>

using namespace regimen;
using support::weights_of;

namespace {

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
struct Deep : Model<Input<Vector<8>>, Linear<8>, Relu, Linear<4>> {};

/// Samples of each step of two epochs, and what was said.
template <std::size_t batch, std::size_t micro_batches = 1>
std::vector<std::size_t> steps(std::size_t samples, const FitOptions& run, std::string& said) {
  std::vector<std::size_t> found;
  said = support::captured_error([&] {
    Trainer<Net, Batch<batch>, Accumulate<micro_batches>> trainer({.threads = 1});
    trainer.fit(Fake({.samples = samples, .classes = 4}), run,
                [&](auto&, const StepResult& step) { found.push_back(step.samples); });
  });
  return found;
}
using Samples = std::vector<std::size_t>;

}  // namespace

TEST_CASE("an epoch that is shorter than a batch says so") {
  std::string said;
  CHECK(steps<512>(230, {.epochs = 2, .progress = false}, said) == Samples{230, 230});
  CHECK(
      said ==
      "regimen: an epoch has 230 samples, fewer than the 512 of a step (1 x Batch<512> x 1 rank): every batch is those 230; "
      "Remainder::Wrap fills batches across epochs\n");
  CHECK(steps<4>(1, {.epochs = 1, .progress = false}, said) == Samples{1});
  CHECK(::test::says(
      said,
      "regimen: an epoch has 1 sample, fewer than the 4 of a step (1 x Batch<4> x 1 rank): every batch is that one;"));
  CHECK(steps<64, 8>(230, {.epochs = 2, .progress = false}, said) == Samples{460});
  CHECK(
      said ==
      "regimen: an epoch has 230 samples, fewer than the 512 of a step (8 x Batch<64> x 1 rank): a step sees samples of more than one epoch\n");
  CHECK(steps<512>(230, {.epochs = 2, .remainder = Remainder::Wrap, .progress = false}, said) == Samples{460});
  CHECK(said.empty());
  CHECK(steps<512>(230, {.epochs = 2, .order = Order::Random, .progress = false}, said) == Samples{512, 512});
  CHECK(said.empty());
  CHECK(steps<230>(230, {.epochs = 2, .progress = false}, said) == Samples{230, 230});
  CHECK(said.empty());
  const std::string refused =
      ::test::error_of([&] { steps<512>(230, {.epochs = 2, .remainder = Remainder::Drop, .progress = false}, said); });
  CHECK(::test::says(refused, "expected at least one batch of 512 samples, found 230 samples"));
}

TEST_CASE("a source that cannot serve is found before the first step") {
  struct Holes {
    std::size_t samples, hole;
    std::int32_t label = 0;
    std::size_t size(const SampleShape&) const { return samples; }
    void read(std::size_t index, Sample<float, std::int32_t> sample) const {
      if (index == hole) throw Error("the file", "a sample", "its end");
      for (float& value : sample.input) value = 1;
      sample.target[0] = label;
    }
  };
  const auto refused = [](const Holes& source, const Holes& validation) {
    Trainer<Net, Batch<4>> trainer({.threads = 1});
    std::uint64_t steps = 0;
    const std::string error = ::test::error_of([&] {
      trainer.fit(source, validation, {.steps = 3, .progress = false},
                  [&](auto&, const StepResult& step) { steps = step.step; });
    });
    CHECK(steps == (error.empty() ? 3 : 0));
    return error;
  };
  const Holes whole{9, 100};
  CHECK(refused(whole, whole).empty());
  CHECK(refused(whole, {1, 100}).empty());
  CHECK(::test::says(refused(whole, {0, 100}), "expected at least one sample, found none"));
  CHECK(::test::says(refused(whole, {9, 0}), "expected a sample, found its end"));
  CHECK(::test::says(refused(whole, {9, 8}), "expected a sample, found its end"));
  CHECK(::test::says(refused(whole, {1, 0}), "expected a sample, found its end"));
  CHECK(::test::says(refused(whole, {9, 100, 4}), "a target of at least 0 and below 4"));
  CHECK(::test::says(refused({0, 8}, whole), "expected at least one sample, found none"));
  // Sixty held-out tokens are fewer than a window of 64 and the one behind it.
  struct Gpt : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 4>, Linear<256>> {};
  std::string text;
  for (int i = 0; i < 600; ++i) text += char('a' + i * i % 26);
  const auto parts = Text::from_string(text).split(0.9);
  Trainer<Gpt, Batch<4>> trainer({.threads = 1});
  CHECK(::test::says(
      ::test::error_of([&] { trainer.fit(parts.train, parts.validation.blocks(), {.steps = 2, .progress = false}); }),
      "60"));
  CHECK(trainer.steps_done() == 0);
}

TEST_CASE("an option of validation without validation data is refused before the first step") {
  Trainer<Net, Batch<4>> trainer({.threads = 1});
  const auto refused = [&](const FitOptions& run) {
    return ::test::error_of([&] { trainer.fit(Fake({.samples = 8, .classes = 4}), run); });
  };
  CHECK(::test::says(refused({.steps = 3, .validate_every = 2, .progress = false}),
                     "Trainer::fit: expected validation data for validate_every, found none"));
  CHECK(::test::says(refused({.steps = 3, .patience = 2, .progress = false}),
                     "Trainer::fit: expected validation data for patience, found none"));
  CHECK(trainer.steps_done() == 0);
}

TEST_CASE("a callback of fit may end it, and what begins elsewhere comes after") {
  using Train = Trainer<Net, Batch<4>>;
  const Fake data({.samples = 16, .classes = 4});
  const ::test::Directory folder;
  const std::string path = folder / "state";
  Train whole({.threads = 1}), trainer({.threads = 1});
  const FitOptions run{.steps = 6, .progress = false};
  whole.fit(data, run);
  std::vector<std::string> refused;
  const auto callback = [&](Train& self, const StepResult& step) {
    if (step.step == 1) self.save(path);
    if (step.step != 3) return true;
    refused.push_back(::test::error_of([&] { self.load(path); }));
    refused.push_back(::test::error_of([&] { self.load_weights(path); }));
    refused.push_back(::test::error_of([&] { self.fit(data, run); }));
    return false;
  };
  trainer.fit(data, run, callback);
  REQUIRE(refused.size() == 3);
  for (const std::string& error : refused)
    CHECK(::test::says(
        error, ": expected a call outside of fit, found one in a callback of fit; let the callback return false"));
  CHECK(trainer.steps_done() == 3);
  trainer.load(path);  // as the sentence says
  CHECK(trainer.steps_done() == 1);
  trainer.fit(data, run);
  CHECK(weights_of(trainer) == weights_of(whole));
  // Also after an exception of a callback.
  CHECK_THROWS_AS(trainer.fit(data, {.steps = 9, .progress = false}, [](Train&, const StepResult&) { throw 1; }), int);
  CHECK_NOTHROW(trainer.load(path));
}

TEST_CASE("progress that nobody reads any more ends no training") {
  const ::test::Directory folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);  // as `2>&1 | head` does
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    Trainer<Net, Batch<4>> trainer({.threads = 1});
    const Fake data({.samples = 8, .classes = 4});
    trainer.fit(data, data, {.steps = 20, .validate_every = 5});
    trainer.save(folder / "state");
    ::_exit(0);
  }
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::test::reap(child, &status));
  CHECK(status == 0);
  CHECK(std::filesystem::exists(folder / "state"));
}

TEST_CASE("progress shows a loss of any size") {
  const auto said = [](double loss, double accuracy) {
    return support::captured_error([&] { trainers::Progress(true, 3).validation(2, loss, accuracy); });
  };
  CHECK(said(2.54021, 0.25) == "step 2  validation loss 2.5402  accuracy 0.2500\n");
  CHECK(said(2.5, no_value) == "step 2  validation loss 2.5000\n");
  CHECK(said(1e300, 0) == "step 2  validation loss 1.0000e+300  accuracy 0.0000\n");
  CHECK(said(-1.7976931348623157e308, 1) == "step 2  validation loss -1.7977e+308  accuracy 1.0000\n");
  const std::string step = support::captured_error([] { trainers::Progress(true, 3).step(1, 1e300, 7, 1); });
  CHECK(::test::says(step, "step 1/3  loss 1.0000e+300  7e+03 targets/s"));
  const std::string waits = support::captured_error([] {
    trainers::Progress progress(true, 3);
    progress.input(0.41);
    progress.step(1, 0.5, 7, 1);
  });
  INFO(waits);
  const std::size_t left = waits.find(" s left  "), at = left + 9, memory = waits.find("B  41 % waiting\n");
  REQUIRE(left != std::string::npos);
  REQUIRE(memory != std::string::npos);
  const double shown = std::stod(waits.substr(at)) * (waits[memory - 1] == 'M' ? 1e6 : 1e9);
  CHECK(std::abs(shown / double(trainers::resident_bytes()) - 1) < 0.2);
}

TEST_CASE("on a terminal the line of progress has its width") {
  for (const int wide : {64, 80, 200}) {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) REGIMEN_SKIP("there are no terminals here");
    const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    winsize size{};
    size.ws_row = 24, size.ws_col = static_cast<unsigned short>(wide);
    REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(terminal, STDERR_FILENO);
    trainers::Progress(true, 300).step(150, 0.5, 7, 1);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept), ::close(terminal);
    std::string drawn;  // in one piece or several
    char text[512];
    for (ssize_t count = 0; (count = ::read(master, text, sizeof text)) > 0;)
      drawn.append(text, static_cast<std::size_t>(count));
    ::close(master);
    INFO(drawn);
    const std::size_t clears = drawn.find("\033[K");
    REQUIRE(clears != std::string::npos);
    const std::size_t begin = clears + 3, end = drawn.find_first_of("\r\n", begin);
    REQUIRE(end != std::string::npos);
    const auto columns = std::count_if(drawn.begin() + std::ptrdiff_t(begin), drawn.begin() + std::ptrdiff_t(end),
                                       [](char letter) { return (letter & 0xC0) != 0x80; });  // not the rest of a █
    CHECK(columns < wide);
    CHECK(drawn.find("█") != std::string::npos);
    CHECK(columns > (wide < 90 ? wide - 3 : 80));
  }
}

TEST_CASE("the remainder of an epoch is a short batch, or dropped with every step full, or filled") {
  std::string said;
  CHECK(steps<10>(23, {.epochs = 3, .progress = false}, said) == Samples{10, 10, 3, 10, 10, 3, 10, 10, 3});
  CHECK(steps<10>(23, {.epochs = 3, .remainder = Remainder::Drop, .progress = false}, said) == Samples(6, 10));
  CHECK(steps<10>(23, {.epochs = 3, .remainder = Remainder::Wrap, .progress = false}, said) ==
        Samples{10, 10, 10, 10, 10, 10, 9});
  CHECK(steps<5, 2>(23, {.epochs = 3, .progress = false}, said) == Samples{10, 10, 8, 10, 8, 10, 10, 3});
  CHECK(steps<5, 2>(23, {.epochs = 3, .remainder = Remainder::Drop, .progress = false}, said) == Samples(6, 10));
  CHECK(steps<5, 3>(23, {.epochs = 2, .remainder = Remainder::Drop, .progress = false}, said) ==
        Samples(2, 15));  // 8 batches: 2 are no step
}

namespace {
/// Sample 17 has an infinite input; samples 24 to 31, a whole step, have no valid target.
struct Spoilt {
  std::size_t size(const SampleShape&) const { return 40; }
  void read(std::size_t index, Sample<float, std::int32_t> sample) const {
    for (std::size_t i = 0; i < sample.input.size(); ++i) sample.input[i] = float((index * 7 + i) % 5) - 2;
    if (index == 17) sample.input[0] = std::numeric_limits<float>::infinity();
    sample.target[0] = index / 8 == 3 ? ignore_index : std::int32_t(index % 4);
  }
};
std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
}  // namespace

TEST_CASE("fit counts the steps that a gradient that is not finite has skipped, and says so once") {
  const FitOptions twice{.epochs = 2, .order = Order::Sequential};
  const auto fit = [&]<class Train>(std::type_identity<Train>, const FitOptions& run, Fitted& fitted,
                                    std::string& said) {
    Train trainer({.optimizer = {.learning_rate = 1e-3}, .threads = 1});
    std::uint64_t heard = 0;
    said = support::captured_error([&] {
      fitted = trainer.fit(Spoilt{}, run, [&](auto&, const StepResult& step) {
        heard += step.skipped();
        if (!Train::scales_loss) CHECK(step.skipped() == (step.step % 5 == 3));
        CHECK(step.applied == (!step.skipped() && step.step % 5 != 4));
      });
    });
    CHECK(fitted.skipped == heard);
  };
  Fitted fitted;
  std::string said;
  using Plain = Trainer<Net, Batch<8>>;
  fit(std::type_identity<Plain>{}, twice, fitted, said);
  CHECK(fitted.skipped == 2);
  CHECK(occurrences(said, "changed no weight") == 1);
  CHECK(occurrences(said,
                    "regimen: step 3 changed no weight, as a gradient was not finite; Debug<Anomaly> finds the layer, "
                    "Fitted::skipped counts such steps\n") == 1);
  FitOptions quiet = twice;
  quiet.progress = false;
  fit(std::type_identity<Plain>{}, quiet, fitted, said);
  CHECK(fitted.skipped == 2);
  CHECK(said.empty());
  using Scaled = Trainer<Deep, Batch<8>, Precision<fp16, fp32>, LossScale<DynamicScale<(std::size_t{1} << 36)>>>;
  fit(std::type_identity<Scaled>{}, twice, fitted, said);
  CHECK(fitted.skipped > 2);
  CHECK(occurrences(said, "changed no weight") == 1);
  CHECK(
      said.ends_with("regimen: " + std::to_string(fitted.skipped) +
                     " of 10 steps changed no weight, as a gradient was not finite; some belong to LossScale<Dynamic>, "
                     "which tries larger scales\n"));
}
// SPDX-License-Identifier: Apache-2.0
