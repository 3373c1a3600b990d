// regimen/compiled/fp16.cpp — of regimen::compiled: the kernels of fp16.
#include <regimen/compiled/kernels.ipp>

namespace regimen::cpu::kernels {
[[gnu::used]] constexpr auto of_fp16 = compiled(Fp16{});
}
