// regimen/compiled/fp64.cpp — of regimen::compiled: the kernels of fp64.
#include <regimen/compiled/kernels.ipp>

namespace regimen::cpu::kernels {
[[gnu::used]] constexpr auto of_fp64 = compiled(Fp64{});
}
