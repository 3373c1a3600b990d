// The independent witness: what no one may read is NaN, what no one may touch ends the program, and a step allocates nothing.
#include "train/odd_models.hpp"

#include <regimen/data/fake.hpp>
#include <regimen/train/trainer.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::size_t batch = 3;

template <class Train>
struct Data {
  std::vector<typename Train::Input> inputs;
  std::vector<typename Train::Target> targets;
  explicit Data(std::size_t samples) : inputs(samples * Train::input_size), targets(samples * Train::target_size) {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<typename Train::Input>((i * 7 + i / 5) % 11);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<typename Train::Target>((i * 3 + i / 7) % 5);
  }
};

struct Outcome {
  std::vector<double> numbers;
  std::vector<float> weights;
  bool operator==(const Outcome& other) const = default;
};

/// Three steps, the second of a short batch, with an evaluation between.
template <class Train>
Outcome train_some(bool poison) {
  Train trainer{{.schedule = Schedule::constant(), .seed = 5}};
  constexpr std::size_t samples = batch * Train::micro_batches;
  const Data<Train> data(samples);
  if (poison) {
    trainer.poison_dead_memory();
    for (const auto& gradient : trainer.gradients()) std::memset(gradient.values.data(), 0xFF, gradient.values.size_bytes());
  }
  Outcome outcome;
  for (std::size_t now : {samples, samples - 1, samples}) {
    const std::size_t before = trainer.used().operations;
    const StepResult result = trainer.step({data.inputs.data(), now * Train::input_size}, {data.targets.data(), now * Train::target_size});
    outcome.numbers.push_back(result.loss);
    outcome.numbers.push_back(result.gradient_norm);
    CHECK(trainer.used().operations - before == Train::plan().operations());
    CHECK(result.applied);
    for (const auto output : trainer.predict({data.inputs.data(), 2 * Train::input_size})) outcome.numbers.push_back(double(output));
  }
  CHECK(trainer.used().peak == Train::plan().peak);
  for (const auto& parameter : trainer.parameters()) outcome.weights.insert(outcome.weights.end(), parameter.values.begin(), parameter.values.end());
  for (const double number : outcome.numbers) CHECK(std::isfinite(number));
  return outcome;
}

template <class Network, class... Policies>
void witness(const char* what) {
  INFO(what);
  using Train = Trainer<Network, Batch<batch>, Policies...>;
  CHECK(train_some<Train>(true) == train_some<Train>(false));
}

template <class Body>
bool dies(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(number, SIG_DFL);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

TEST_CASE("a GPT reads nothing that is dead") {
  witness<Gpt<3>>("none");
  witness<Gpt<3>, Checkpoint<Every<2>>, Accumulate<2>>("every 2, two micro-batches");
  witness<Gpt<3>, Checkpoint<Selective<LayerNorm, Gelu, Drop>>, Fusion<Off>>("selective, not fused");
  witness<Gpt<3>, Freeze<Table, PositionEmbedding, LayerNorm, Linear<64>>, Clip<Norm<Ratio<1>>>>("frozen, clipped");
}
TEST_CASE("a tied table in bf16 reads nothing that is dead") { witness<Tied<3>, Checkpoint<Every<1>>, Precision<bf16, fp32>>("tied, every 1, bf16"); }

TEST_CASE("one byte less than planned ends the program") {
  using Recipe = train::Recipe<Mlp, Configured<Batch<batch>, Optimizer<Sgd>>>;
  const auto step_in = [](std::size_t memory, std::size_t arena) {
    cpu::Engine engine(batch, memory);
    engine.arena.capacity = arena;
    const train::Resident resident = Recipe::Step::setup(engine);
    *engine.data(resident.scalars) = Scalars{};
    Recipe::Step::step(engine, resident, {}, 0, {}, [](std::size_t) {});
  };
  constexpr std::size_t planned = Recipe::plan.peak;
  CHECK_FALSE(dies([&] { step_in(planned, planned); }));
  CHECK(dies([&] { step_in(planned, planned - 1); }));        // the arena refuses
  CHECK(dies([&] { step_in(planned - 256, planned); }));      // the memory behind it does
  CHECK(dies([&] {
    cpu::Region region(1000);
    region.base()[1000] = std::byte{1};
  }));
  CHECK(dies([&] {
    cpu::Engine engine(batch, planned);
    engine.run(op::Add<float>{{}, {0}, 4});  // a tensor that no layer declared
  }));
}

TEST_CASE("after construction a step allocates nothing") {
  using Train = Trainer<Gpt<3>, Batch<batch>, Checkpoint<Every<2>>, Accumulate<2>>;
  Train trainer;
  const Data<Train> data(2 * batch);
  trainer.step(data.inputs, data.targets);
  const std::size_t before = allocations;
  trainer.step(data.inputs, data.targets);
  trainer.step({data.inputs.data(), Train::input_size}, {data.targets.data(), Train::target_size});
  CHECK(allocations == before);

  for (std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
    std::vector<std::size_t> counts;
    counts.reserve(32);
    trainer.fit(Fake({.samples = 20, .classes = 11}), {.steps = trainer.steps_done() + 12, .workers = workers, .progress = false},
                [&](Train&, const StepResult&) { counts.push_back(allocations); });
    CHECK(counts.size() == 12);
    CHECK(counts.back() == counts[1]);
  }
}
