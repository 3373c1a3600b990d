// A program of other flags than the library's: its first Trainer throws, on any device, and names both.
#include <regimen/engine/emulated/device.hpp>
#include <regimen/regimen.hpp>

#include <cstdio>
#include <string>

struct Net : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};

template <class Where>
bool is_refused() {
  try {
    regimen::Trainer<Net, regimen::Device<Where>> trainer;
  } catch (const regimen::Error& e) {
    const std::string words = e.what();
    std::puts(words.c_str());
    const auto first = words.find("_GLIBCXX_ASSERTIONS"), found = words.find("found");
    const bool program_has = first < found && words.find("_GLIBCXX_ASSERTIONS", found) == std::string::npos;
    return program_has && words.find("CMAKE_CXX_FLAGS") != std::string::npos;
  }
  std::puts("expected an Error");
  return false;
}

int main() {
  const bool cpu = is_refused<regimen::Cpu>(), gpu = is_refused<regimen::Emulated>();
  return cpu && gpu ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
