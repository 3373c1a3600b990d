// A program of several ranks around a recipe that does not compose: one error, whatever each rank's Trainer is asked.
// expect: this Shard<\.\.\.> would ignore an option; Prefetch<0\|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated
// names: regimen::Shard<regimen::ZeRO1, regimen::Prefetch<0>
#include <regimen/regimen.hpp>

#include <regimen/comm/launch.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<6>>, Linear<6>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<1>, Communicator<Threads>, Shard<ZeRO3, Prefetch<0>>, Debug<Profile>>;
#else
using Train = Trainer<Net, Batch<1>, Communicator<Threads>, Shard<ZeRO1, Prefetch<0>>, Debug<Profile>>;
#endif

static_assert(!Train::scales_loss && Train::serves<Fake>);

int main() {
  launch(2, [](comm::Threads& communicator) {
    Train trainer(communicator, {.optimizer = {.learning_rate = 1e-2}});
    const std::vector<float> inputs(Train::input_size);
    const std::vector<int> targets(Train::target_size);
    const StepResult result = trainer.step({inputs.data(), inputs.size()}, {targets.data(), targets.size()});
    const UnscaledLoss loss = trainer.forward({inputs.data(), inputs.size()}, targets);
    const Gradients gradients = trainer.backward(loss);
    if (trainer.apply(gradients).loss > result.loss) trainer.abandon();
    const std::vector<float> outputs = trainer.predict({inputs.data(), inputs.size()});

    for (const NamedParameter<Train::Reduce>& parameter : trainer.gradients()) std::printf("%s\n", parameter.name.c_str());
    OperationTimes& times = trainer.profile();
    times.clear();
    const auto& options = trainer.options();
    const auto& plan = trainer.planned();
    const std::size_t extents = Train::sample_shape().input, least = Train::plan(1, 8).peak;
    std::printf("%f %f %zu %zu %zu\n", options.optimizer.learning_rate, static_cast<double>(outputs[0]), plan.peak, least, extents);

    const Fake data{{.samples = 64, .classes = 6}};
    auto loader = trainer.batches(data, {.epochs = 1});
    if (const auto batch = loader.next()) trainer.step(batch.input, batch.target);
    trainer.evaluate(data, 2);
    if (trainer.on_all_ranks(trainer.seed() == 1)) trainer.save_in_background("state", std::chrono::seconds(9));
    trainer.save_whole({"weights"});
    trainer.load_weights("weights");
    trainer.parameters_changed();
  });
}
