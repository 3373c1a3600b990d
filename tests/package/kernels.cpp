// regimen::compiled has every kernel that it promises: this links.
#include <regimen/engine/cpu/compiled.hpp>

#include <cstddef>
#include <cstdio>

using namespace regimen;

template <class... Operations>
std::size_t kernels_of(boost::mp11::mp_list<Operations...>) {
  std::size_t count = 0;
  void (*volatile kernel)(const void*, const cpu::Memory&) = nullptr;
  ((kernel = &cpu::compute_compiled<Operations>, count += kernel != nullptr), ...);
  return count;
}

int main() { std::printf("%zu kernels\n", ::kernels_of(cpu::kernels::All{})); }
