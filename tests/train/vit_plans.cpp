// What the largest vision transformer of a published comparison takes, under each combination of mixed precision,
// recomputation and
// sharding: the largest batch on eight accelerators of 40 GB, what each takes and sends, and which combination trains
// fastest.
#include <regimen/comm/threads.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/policy/target.hpp>

#include "support/catch.hpp"
#include "train/user_vit.hpp"

#include <cstddef>

using namespace regimen;

namespace {

using Large = own_vit::Vit<16, 14 * 14 * 3, 2560, 16, 16, 1000>;
using Mixed = Precision<bf16, fp32, bf16>;
using Again = Checkpoint<Every<1>>;
using Sharded = Shard<ZeRO3>;

struct Figures {
  std::size_t batch, peak, wire;
  double samples_per_second;  // of all eight, the larger of computing and sending, at 300 GB/s
};
template <class... Policies>
constexpr Figures figures() {
  using Train = Trainer<Large, Batch<Largest>, Optimizer<Adam>, Target<targets::a100_40g>, Communicator<Threads>,
                        World<8>, Policies...>;
  constexpr const MemoryPlan& plan = Train::plan();
  static_assert(plan.parameters == 1'263'558'120 && plan.peak <= targets::a100_40g::memory);
  const double computing =
                   plan.template seconds<typename Train::Configuration::precision::compute>(targets::a100_40g{}),
               sending = double(plan.wire()) / 300e9;
  return {plan.batch, plan.peak, plan.wire(), 8 * double(plan.batch) / (computing > sending ? computing : sending)};
}
constexpr Figures plain = figures<>(), mixed = figures<Mixed>(), again = figures<Again>(), sharded = figures<Sharded>(),
                  mixed_again = figures<Mixed, Again>(), mixed_sharded = figures<Mixed, Sharded>(),
                  again_sharded = figures<Again, Sharded>(), all = figures<Mixed, Again, Sharded>();

void check(const Figures& figures, std::size_t batch, std::size_t peak, std::size_t wire, double samples_per_second) {
  CHECK(figures.batch == batch);
  CHECK(figures.peak == peak);
  CHECK(figures.wire == wire);
  CHECK(figures.samples_per_second == Approx(samples_per_second).epsilon(1e-4));
}

}  // namespace

TEST_CASE(
    "eight combinations for a vision transformer of 1.26 billion parameters have these largest batches, bytes and rates") {
  check(plain, 29, 40'163'427'072, 8'844'907'008, 78.049);
  check(mixed, 59, 40'552'570'624, 4'422'487'552, 1182.837);
  check(again, 215, 40'722'211'840, 8'844'907'008, 64.296);
  check(sharded, 54, 40'633'476'864, 13'250'807'808, 78.691);
  check(mixed_again, 426, 40'792'364'032, 4'422'487'552, 1022.212);
  check(mixed_sharded, 109, 40'578'653'184, 6'625'452'288, 1254.276);
  check(again_sharded, 391, 40'782'742'272, 13'250'807'808, 64.355);
  check(all, 782, 40'779'343'616, 6'625'452'288, 1029.225);
}

TEST_CASE("they stand to each other as in the comparison") {
  // Mixed precision alone allows a modestly larger batch and is far faster; recomputation allows far larger ones and
  // costs little time; sharding and mixed precision train fastest; all three allow the largest batch.
  CHECK(mixed.batch > plain.batch);
  CHECK(mixed.samples_per_second > 4 * plain.samples_per_second);
  CHECK(again.batch > 4 * plain.batch);
  CHECK(again.samples_per_second > 0.75 * plain.samples_per_second);
  for (const Figures& other : {plain, mixed, again, sharded, mixed_again, again_sharded, all}) {
    CHECK(mixed_sharded.samples_per_second > other.samples_per_second);
    CHECK(all.batch >= other.batch);
  }
  CHECK(all.batch > mixed_sharded.batch);
}
