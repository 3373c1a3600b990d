// A file of the same model under other policies: load says what it is, load_weights takes the weights and begins anew.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

using namespace regimen;
using ::test::error_of;
using ::test::says;

namespace {

using Saving = Trainer<tiny::Gpt, Batch<4>>;

template <class Train>
void run(Train& trainer, int steps) {
  for (int i = 0; i < steps; ++i)
    trainer.step(tiny::tokens(4, trainer.steps_done()), tiny::tokens(4, 50 + trainer.steps_done()));
}

template <class A, class B>
bool same(const A& a, const B& b) {
  return tiny::same_bits(std::span<const typename A::value_type>(a), std::span<const typename A::value_type>(b));
}

/// load refuses and changes nothing; load_weights begins anew, as a Trainer does that has these weights from the start.
template <class Train, class Saved>
void takes_weights_alone(Saved& saved, const std::string& path) {
  Train trainer{{.seed = 9}}, other{{.seed = 9}};
  run(trainer, 2);
  const auto before = tiny::weights(trainer);
  const std::string error = error_of([&] { trainer.load(path); });
  INFO(error);
  CHECK(says(error, "the weights of this model"));
  CHECK(says(error, "saved under another Optimizer or Freeze; trainer.load_weights(path)"));
  CHECK(same(tiny::weights(trainer), before));
  CHECK(trainer.steps_done() == 2);

  trainer.load_weights(path);
  CHECK(same(tiny::weights(trainer), tiny::weights(saved)));
  CHECK(trainer.steps_done() == 0);
  CHECK(trainer.seed() == 9);
  auto from = saved.parameters();
  auto to = other.parameters();
  for (std::size_t i = 0; i < from.size(); ++i)
    std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
  other.parameters_changed();
  run(trainer, 3);
  run(other, 3);
  CHECK(same(tiny::weights(trainer), tiny::weights(other)));
}

}  // namespace

TEST_CASE("a file of another optimizer or of other frozen layers is known as that, and its weights can be loaded") {
  ::test::Directory directory;
  const std::string path = directory / "state";
  Saving saved;
  run(saved, 3);
  saved.save(path);
  takes_weights_alone<Trainer<tiny::Gpt, Batch<4>, Optimizer<Sgd>>>(saved, path);
  takes_weights_alone<Trainer<tiny::Gpt, Batch<4>, Optimizer<RmsProp>>>(saved, path);

  Trainer<tiny::Gpt, Batch<4>, Freeze<tiny::Table>> frozen;
  frozen.load(path);  // has all that is asked for, and more
  CHECK(frozen.steps_done() == 3);
  run(frozen, 3);
  frozen.save(path);
  takes_weights_alone<Saving>(frozen, path);
}

TEST_CASE("weights of another element type, and files without state, are rounded once and begin anew") {
  ::test::Directory directory;
  Trainer<tiny::Gpt, Batch<4>, Precision<fp64>> wide;
  run(wide, 2);
  wide.save(directory / "wide");
  Saving trainer;
  run(trainer, 1);
  trainer.load_weights(directory / "wide");
  const auto weights = tiny::weights(trainer), rounded = [&] {
    std::vector<float> all;
    for (const double weight : tiny::weights(wide)) all.push_back(static_cast<float>(weight));
    return all;
  }();
  CHECK(same(weights, rounded));
  CHECK(trainer.steps_done() == 0);

  std::vector<safetensors::Tensor> plain;
  auto parameters = wide.parameters();
  for (const auto& parameter : parameters)
    plain.push_back({parameter.name, safetensors::Dtype::F64, parameter.shape, std::as_bytes(parameter.values)});
  safetensors::write(directory / "plain", plain, {});
  Saving another;
  another.load_weights(directory / "plain");
  CHECK(same(tiny::weights(another), rounded));
}

TEST_CASE("load_weights refuses the weights of another model, and changes nothing") {
  struct Net : Model<Input<Vector<4>>, Linear<4>, Linear<3>> {};
  struct Longer : Model<Input<Vector<4>>, Linear<4>, Linear<3>, Linear<3>> {};
  ::test::Directory directory;
  Trainer<Net> net;
  Trainer<Longer> longer{{.seed = 5}};
  net.save(directory / "net");
  longer.save(directory / "longer");
  const auto before = tiny::weights(net), before_longer = tiny::weights(longer);
  CHECK(says(error_of([&] { net.load_weights(directory / "longer"); }), "tensors of this model only"));
  CHECK(says(error_of([&] { longer.load_weights(directory / "net"); }), "2.weight"));
  CHECK(says(error_of([&] { longer.load(directory / "net"); }), "was the file written by another model?"));
  CHECK(same(tiny::weights(net), before));
  CHECK(same(tiny::weights(longer), before_longer));
}

TEST_CASE("weights in parts are loaded by another number of ranks, under another optimizer and precision") {
  ::test::Directory directory;
  const std::string path = directory / "state";
  std::vector<float> saved;
  launch(3, [&](comm::Threads& communicator) {
    Trainer<tiny::Gpt, Batch<2>, Communicator<Threads>, Shard<ZeRO3>> trainer(communicator);
    trainer.step(tiny::tokens(2, communicator.rank()), tiny::tokens(2, 9));
    trainer.save(path);
    const auto weights = tiny::weights(trainer);
    if (communicator.rank() == 0) saved = weights;
  });
  launch(2, [&](comm::Threads& communicator) {
    Trainer<tiny::Gpt, Batch<2>, Communicator<Threads>, Shard<ZeRO2>, Optimizer<Sgd>> trainer(communicator);
    trainer.load_weights(path);
    const auto weights = tiny::weights(trainer);
    if (communicator.rank() == 0) CHECK(same(weights, saved));
  });
  Trainer<tiny::Gpt, Batch<2>, Precision<fp64>> wide;
  wide.load_weights(path);
  CHECK(same(tiny::weights(wide), std::vector<double>(saved.begin(), saved.end())));
}
