// regimen/compiled/fp32.cpp — of regimen::compiled: the kernels of fp32.
#include <regimen/compiled/kernels.ipp>

namespace regimen::cpu::kernels {
[[gnu::used]] constexpr auto of_fp32 = compiled(Fp32{});
}
