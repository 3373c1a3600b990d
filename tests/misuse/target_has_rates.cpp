// The time of a step on a target that states no speed.
// expect: this target states no bandwidth, or no peak in this element type; ask seconds of another
// names: regimen::targets::host<8589934592
#include <regimen/program/plan.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
constexpr targets::h200 machine;
#else
constexpr targets::host<8_GiB> machine;
#endif

int main() { return MemoryPlan{}.seconds<fp32>(machine) > 0; }
