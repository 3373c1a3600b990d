// Targets: what they have, and what a plan may ask of them.
#include <regimen/programs/plan.hpp>
#include <regimen/rule/compose.hpp>

using namespace regimen;

struct Board final {  // what a user writes
  static constexpr const char* name = "board";
  static constexpr std::size_t memory = 512_MiB;
  static constexpr double bandwidth = 1e10;
  template <class T>
  static constexpr bool supports = std::is_same_v<T, fp32>;
  template <class T>
  static constexpr double flops = 1e10;
};
struct WithoutMemory final {
  static constexpr const char* name = "without memory";
  template <class T>
  static constexpr bool supports = true;
};

template <class... T>
constexpr bool described = (TargetDescription<T> && ...);
static_assert(described<targets::unlimited, targets::a100_40g, targets::a100_80g, targets::h100, targets::h200,
                        targets::b200, targets::tpu_v3_core, targets::host<1>, Board>);
static_assert(!TargetDescription<WithoutMemory> && !TargetDescription<int>);

static_assert(1_KiB == 1024 && 3_MiB == 3 * 1024 * 1024 && 80_GiB == 80 * 1024_MiB);
static_assert(targets::host<8_GiB>::memory == 8_GiB);
static_assert(targets::a100_40g::memory < 40_GiB && targets::a100_80g::memory < 80_GiB &&
              targets::h100::memory < 80_GiB);
static_assert(targets::h200::memory < 150'000'000'000 && targets::b200::memory < 192'000'000'000);
static_assert(targets::tpu_v3_core::memory <= 15_GiB + 492_MiB &&
              targets::tpu_v3_core::memory >= 15_GiB + 491_MiB);  // 15.48 GiB
template <class T, class Number>
constexpr double flops_of = T::template flops<Number>;  // nvcc 13 loses the argument of T::flops<fp32> in place
static_assert(flops_of<targets::h200, bf16> == 989.5e12 && flops_of<targets::h200, fp32> == 67e12);

// Seconds are predicted where a bandwidth and a peak are stated: a step of 2e9 operations and 8 bytes takes 0.2 s on
// the board.
static_assert(TargetWithRates<targets::h200, bf16> && TargetWithRates<Board, fp32> &&
              TargetWithRates<targets::tpu_v3_core, bf16>);
static_assert(!TargetWithRates<targets::tpu_v3_core, fp32> && !TargetWithRates<targets::host<1>, fp32> &&
              !TargetWithRates<targets::unlimited, bf16>);
constexpr MemoryPlan work = [] {
  MemoryPlan plan{};
  plan.forward = {2e9, 8, 1};
  plan.update = {1, 1e10, 1};  // and an update that moves 1e10 bytes 1 s more
  return plan;
}();
static_assert(work.seconds<fp32>(Board{}) == 2e9 / 1e10 + 1);

static_assert(Compatible<Target<Board>> && Compatible<Target<Board>, Batch<Largest>>);
static_assert(!Compatible<Target<WithoutMemory>>);
static_assert(!Compatible<Target<Board>, Precision<bf16, fp32>>);                                     // K20
static_assert(!Compatible<Target<targets::tpu_v3_core>, Precision<fp16, fp32>, LossScale<Dynamic>>);  // K20
static_assert(!Compatible<Target<targets::tpu_v3_core>, Precision<fp64>>);                            // K20
static_assert(Compatible<Target<targets::tpu_v3_core>, Precision<bf16, fp32>> &&
              Compatible<Target<targets::tpu_v3_core>>);
