// A trainer fits on stages: the same weights whoever reads them, resumed in the middle of an epoch; it says when it waits.
#include <regimen/data/pipeline.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/captured.hpp"
#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace regimen;
using support::weights_of;

namespace {

/// A picture of bytes, two measurements, and two classes of it with their weights.
struct Net final : Model<Input<Bundle<Image<2, 2, 3>, Vector<2>>>,
                         Fork<Concat, Sequential<Part<0>, Flatten, Linear<4>>, Part<1>>, Linear<3>> {};
using Train = Trainer<Net, Loss<SoftCrossEntropy>, Batch<8>>;
using In = Train::Input;

struct Record {
  std::array<std::uint8_t, 12> pixels{};
  float width = 0, height = 0;
  std::size_t kind = 0;
};
/// Sleeps where it stands, if it is named: the one slow stage of a pipeline.
struct Slow {
  std::string stage{};
  void at(const char* here) const {
    if (stage == here) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
};
struct Records {
  std::size_t count;
  Slow slow{};
  std::size_t size() const { return count; }
  Record at(const data::Key& key) const {
    slow.at("records.bin");
    Record record{.width = float(key.index % 7), .height = float(key.index % 5), .kind = key.index % 3};
    for (std::size_t i = 0; i < 12; ++i) record.pixels[i] = static_cast<std::uint8_t>(Philox::mix(key.index, i));
    return record;
  }
  std::string name() const { return "records.bin"; }
};

/// Pixels of noise by epoch, dense labels.
auto pipeline(std::size_t count, const Slow& slow = {}) {
  return Records{count, slow} | data::filter([](const Record& x) { return x.pixels[0] < 200; }) |
         data::map(
             [slow](Record x) {
               slow.at("decode");
               return x;
             },
             "decode") |
         data::map(
             [slow](Record x, const data::Key& key) {
               slow.at("noise");
               for (std::size_t i = 0; i < 12; ++i) x.pixels[i] ^= static_cast<std::uint8_t>(key.bits(i) % 8);
               return x;
             },
             "noise") |
         data::samples([](const Record& x, Sample<In, float> sample) {
           In& input = sample.input[0];
           data::put(input.template get<0>(), x.pixels);
           for (float& value : input.template get<0>()) value /= 255;
           input.template get<1>() = {x.width / 7, x.height / 5};
           for (std::size_t c = 0; c < 3; ++c) sample.target[c] = c == x.kind ? 0.8f : 0.1f;
         });
}

}  // namespace

TEST_CASE("training on a pipeline gives the same weights for any workers, and resumed in the middle of an epoch") {
  const auto source = pipeline(60), held_out = pipeline(20);
  const auto options = Train::Options{.threads = 1};
  const FitOptions run{.steps = 20, .remainder = Remainder::Wrap, .workers = 0, .progress = false};
  Train plain(options);
  const Fitted fitted = plain.fit(source, held_out, run);
  CHECK(fitted.validation_loss > 0);
  CHECK(fitted.workers == 0);
  for (const std::size_t workers : {std::size_t{3}, data::automatic}) {
    FitOptions many = run;
    many.workers = workers, many.ahead = 3;
    Train other(options);
    const Fitted with = other.fit(source, many);
    CHECK(weights_of(other) == weights_of(plain));
    CHECK(with.workers >= 1);
    CHECK(with.ahead >= 3);
    CHECK((with.input_share >= 0 && with.input_share <= 1));
  }
  const ::test::Directory folder;
  for (const std::uint64_t moment : {1u, 7u, 13u}) {
    FitOptions until = run;
    until.steps = moment, until.workers = 2;
    Train first(options), second(options);
    first.fit(source, until);
    first.save(folder / "state");
    second.load(folder / "state");
    second.fit(source, run);
    CHECK(weights_of(second) == weights_of(plain));
  }
}

TEST_CASE("a run that waits for data says so once, with the stage that is slow") {
  std::vector<StepResult> steps;
  Fitted fitted;
  for (const std::string slow : {"records.bin", "noise", "decode"}) {
    const auto source = pipeline(400, {slow});
    steps.clear();
    const std::string said = support::captured_error([&] {
      Train trainer({.threads = 1});
      fitted = trainer.fit(source, {.steps = 160}, [&](auto&, const StepResult& step) { steps.push_back(step); });
    });
    INFO(said);
    CHECK(fitted.input_share > 0.5);  // eight sleeps of 2 ms a step, which one worker sleeps one after the other
    CHECK(::test::says(said, "% waiting\n"));
    CHECK(::test::says(
        said, "% of its time for data (records.bin | filter | decode | noise); the slowest stage is " + slow + ", "));
    CHECK(said.find("regimen: training waits") == said.rfind("regimen: training waits"));
  }
  double waited = 0, all = 0;
  for (const StepResult& step : steps) {
    CHECK(step.waited <= step.milliseconds + 1);
    waited += step.waited, all += step.milliseconds;
  }
  CHECK(std::abs(waited / all - fitted.input_share) < 1e-6);

  const auto source = pipeline(400);
  const std::string quiet = support::captured_error([&] {
    trainers::InputMeter meter(true, {}), silent(false, {}), early(true, {}), fed(true, {});
    for (int i = 0; i < 2; ++i) meter.step(1500, 200), meter.say_if_bound(source);
    silent.step(9000, 9000), silent.say_if_bound(source);
    early.step(1999, 1999), early.say_if_bound(source);
    fed.step(9000, 890), fed.say_if_bound(source);
  });
  CHECK(::test::says(quiet, "regimen: training waits 13 % of its time for data"));
  CHECK(quiet.find("regimen") == quiet.rfind("regimen"));
  CHECK(
      trainers::InputMeter::words(0.5, "numbers", {}, {}) ==
      "regimen: training waits 50 % of its time for data, from numbers; give fit {.workers = data::automatic}, or less "
      "work to do there\n");
  const std::string bound = support::captured_error([&] {
    trainers::InputMeter meter(true, {}, true);
    meter.step(3000, 2000), meter.say_if_bound(source);
  });
  CHECK(::test::says(bound, "workers are added while processors are left: give it less work to do there\n"));
  CHECK(!::test::says(bound, "data::automatic"));
}
