// A trainer fits on samples that workers compute: the weights of the local pipeline, on ranks, resumed, and when workers go.
#include <regimen/comm/launch.hpp>
#include <regimen/data/pipeline.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/service/remote.hpp>
#include <regimen/service/serve.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace regimen;
using support::weights_of;

namespace {

/// A picture of bytes and two measurements.
struct Net final : Model<Input<Bundle<Image<2, 2, 3>, Vector<2>>>,
                         Fork<Concat, Sequential<Part<0>, Flatten, Linear<4>>, Part<1>>, Linear<3>> {};
using Train = Trainer<Net, Batch<8>>;
using Ranked = Trainer<Net, Batch<4>, Communicator<Threads>, Shard<ZeRO2>>;
using In = Train::Input;
using Label = Train::Label;

struct Numbers {
  std::size_t count;
  std::size_t size() const { return count; }
  std::size_t at(const data::Key& key) const { return key.index; }
  std::string name() const { return "numbers"; }
};
auto pipeline(std::size_t count) {
  return Numbers{count} | data::samples([](std::size_t number, Sample<In, Label> sample, const data::Key& key) {
           for (std::size_t i = 0; float& value : sample.input[0].get<0>())
             value = static_cast<float>(key.bits(i++) % 256) / 255;
           sample.input[0].get<1>() = {static_cast<float>(number % 7), static_cast<float>(number % 5)};
           sample.target[0] = static_cast<Label>(number % 3);
         });
}

data::ServeOptions served() {
  data::ServeOptions options;
  options.secret = "what nobody but these machines know";
  options.address = "127.0.0.1";
  options.workers = 2;
  return options;
}
data::RemoteOptions asking() {
  data::RemoteOptions options;
  options.secret = served().secret;
  options.says = false;
  return options;
}
using Worker = data::Server<In, Label>;
using Remote = data::Remote<In, Label>;
std::string at(const Worker& worker) { return "127.0.0.1:" + std::to_string(worker.port()); }

}  // namespace

TEST_CASE(
    "training on workers' samples gives the weights of the local pipeline, also resumed, and when a worker goes") {
  const auto options = Train::Options{.threads = 1};
  const FitOptions run{.steps = 20, .validate_every = 5, .remainder = Remainder::Wrap, .workers = 3, .progress = false};
  const auto source = pipeline(60), held_out = pipeline(20);
  Train plain(options);
  const Fitted fitted = plain.fit(source, held_out, run);

  auto first = std::make_unique<Worker>(source, Train::sample_shape(), served());
  const Worker second(source, Train::sample_shape(), served()), validation(held_out, Train::sample_shape(), served());
  const Remote remote({at(*first), at(second)}, asking()), validates({at(validation)}, asking());
  const ::test::Directory folder;
  {
    Train part(options);
    FitOptions until = run;
    until.steps = 11;
    part.fit(remote, validates, until);
    part.save(folder / "state");
  }
  Train other(options);
  const Fitted with = other.fit(remote, validates, run, [&](auto&, const StepResult& step) {
    if (step.step == 7) first.reset();
  });
  CHECK(weights_of(other) == weights_of(plain));
  CHECK(with.validation_loss == fitted.validation_loss);
  CHECK_FALSE(remote.workers()[0].reason.empty());
  Train resumed(options);
  resumed.load(folder / "state");
  resumed.fit(remote, validates, run);
  CHECK(weights_of(resumed) == weights_of(plain));
}

TEST_CASE("each rank asks the workers for its own share") {
  const auto source = pipeline(60);
  const Worker first(source, Train::sample_shape(), served()), second(source, Train::sample_shape(), served());
  const auto train = [&](const auto& make_source) {
    std::vector<float> weights;
    launch(2, [&](comm::Threads& ranks) {
      Ranked trainer(ranks, {.threads = 1});
      trainer.fit(make_source(), {.steps = 20, .workers = 2, .progress = false});
      const std::vector<float> all = weights_of(trainer);
      if (ranks.rank() == 0) weights = all;
    });
    return weights;
  };
  const auto local = train([&] { return source; });
  CHECK(train([&] { return Remote({at(first), at(second)}, asking()); }) == local);
  CHECK(first.samples() + second.samples() >= 20 * 8);
}
