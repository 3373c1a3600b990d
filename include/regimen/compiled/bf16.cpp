// regimen/compiled/bf16.cpp — of regimen::compiled: the kernels of bf16.
#include <regimen/compiled/kernels.ipp>

namespace regimen::cpu::kernels {
[[gnu::used]] constexpr auto of_bf16 = compiled(Bf16{});
}
