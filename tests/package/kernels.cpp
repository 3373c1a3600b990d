// regimen::compiled has every kernel that it promises: this links.
#include <regimen/engine/cpu/compiled.hpp>

#include <cstddef>
#include <cstdio>

using namespace regimen;

template <class... Operations>
std::size_t count_of(boost::mp11::mp_list<Operations...>) {
  std::size_t count = 0;
  void (*volatile kernel)(const void*, const cpu::Memory&) = nullptr;
  ((kernel = &cpu::compute_compiled<Operations>, count += kernel != nullptr), ...);
  return count;
}

template <class... Lists>
std::size_t count_of_all() {
  return (::count_of(Lists{}) + ...);
}

int main() {
  using namespace cpu::kernels;
  std::printf("%zu kernels\n", ::count_of_all<Fp32, Fp64, Bf16, Fp16, Steps>());
}
