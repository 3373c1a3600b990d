// The independent witness: what no one may read is NaN, what no one may touch ends the program, and a step allocates
// nothing.
#include "train/witness.hpp"

#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/region.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <unistd.h>
#include <regimen/comm/detail/child.hpp>

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* counted(std::size_t bytes) {
  if (void* const memory = counted(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& nothrow) noexcept { return counted(bytes, nothrow); }
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept { return counted(bytes, nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace regimen;
using namespace regimen::test;

namespace {

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
  if (!regimen::comm::detail::reap(child, &status)) return false;
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

TEST_CASE("a GPT reads nothing that is dead") {
  witness<Gpt<3>>("none");
  witness<Gpt<3>, Checkpoint<Every<2>>, Accumulate<2>>("every 2, two micro-batches");
  witness<Gpt<3>, Checkpoint<Selective<LayerNorm, Gelu, Drop>>, Fusion<Unfused>>("selective, not fused");
  witness<Gpt<3>, Freeze<Table, PositionEmbedding, LayerNorm, Linear<64>>, Clip<Norm<Ratio<1>>>>("frozen, clipped");
}
TEST_CASE("a tied table in bf16 reads nothing that is dead") {
  witness<Tied<3>, Checkpoint<Every<1>>, Precision<bf16, fp32>>("tied, every 1, bf16");
}

TEST_CASE("one byte less than planned ends the program") {
  using Recipe = programs::Recipe<Mlp, ConfigurationOf<Batch<batch>, Optimizer<Sgd>>>;
  const auto step_in = [](std::size_t memory, std::size_t arena) {
    walk::Walk<cpu::Engine> walk(batch, std::size_t{1}, std::size_t{0}, engines::Resources<cpu::Engine::Ranks>{memory});
    walk.arena.capacity = arena;
    const programs::Resident resident = Recipe::Step::setup(walk);
    Recipe::Step::step(walk, resident, {}, 0, {}, [](std::size_t) { return true; });
  };
  constexpr std::size_t planned = Recipe::plan.peak;
  CHECK_FALSE(dies([&] { step_in(planned, planned); }));
  CHECK(dies([&] { step_in(planned, planned - 1); }));    // the arena refuses
  CHECK(dies([&] { step_in(planned - 256, planned); }));  // the memory behind it does
  CHECK(dies([&] {
    cpu::Region region(1000);
    region.base()[1000] = std::byte{1};
  }));
  CHECK(dies([&] {
    cpu::Engine engine({planned});
    engine.run(op::Add<float>{{}, {0}, 4});  // a tensor that no layer declared
  }));
}

TEST_CASE("after construction a step allocates nothing") {
  using Train = Trainer<Gpt<3>, Batch<batch>, Checkpoint<Every<2>>, Accumulate<2>>;
  Train trainer;
  const Work<Train> data(2 * batch);
  trainer.step(data.inputs, data.targets);
  // oneDNN makes its code for a kind of product when it meets the first, and those of a short batch are of another
  // kind.
  trainer.step({data.inputs.data(), Train::input_size}, {data.targets.data(), Train::target_size});
  const std::size_t before = allocations;
  trainer.step(data.inputs, data.targets);
  trainer.step({data.inputs.data(), Train::input_size}, {data.targets.data(), Train::target_size});
  CHECK(allocations == before);

  for (std::size_t workers : {std::size_t{0}, std::size_t{2}}) {
    std::vector<std::size_t> counts;
    counts.reserve(32);
    trainer.fit(Fake({.samples = 20, .classes = 11}),
                {.steps = trainer.steps_done() + 12, .workers = workers, .progress = false},
                [&](Train&, const StepResult&) { counts.push_back(allocations); });
    CHECK(counts.size() == 12);
    CHECK(counts.back() == counts[1]);
  }
}
