// regimen/compiled/kernels.cpp — of regimen::compiled: the CPU engine, and its kernels that have no format.
#include <regimen/compiled/kernels.ipp>
#include <regimen/engine/cpu/engine.ipp>

#include <string>

namespace regimen::cpu {

template std::string path_text<fp64>();
template std::string path_text<fp32>();
template std::string path_text<tf32>();
template std::string path_text<bf16>();
template std::string path_text<fp16>();

[[gnu::used]] constexpr auto steps = kernels::compiled(kernels::Steps{});

}  // namespace regimen::cpu
