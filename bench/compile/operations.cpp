// What it costs to name the operations of a step and to add up what they cost.
#include <regimen/core/operation.hpp>

namespace {
template <class T>
constexpr double flops() {
  regimen::Cost cost;
  cost += regimen::op::Product<T, T, T>{.m = 64, .n = 64, .k = 64}.cost();
  cost += regimen::op::Add<T>{.count = 64}.cost();
  return cost.flops;
}
static_assert(flops<float>() > 0 && flops<regimen::bf16>() > 0 && flops<regimen::fp16>() > 0);
}  // namespace
