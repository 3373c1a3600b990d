// Features of a record whose bytes are gone at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: std::vector<std::byte
#include <regimen/data/example.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

std::vector<std::byte> received() { return std::vector<std::byte>(10); }

int main() {
#ifndef REGIMEN_MISUSE
  const std::vector<std::byte> record = received();
  const data::Example example(record);
#else
  const data::Example example(received());
#endif
  std::printf("%zu\n", example.names().size());
}
