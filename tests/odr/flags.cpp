// A program of other flags than the library's: its first Trainer throws, and names both.
#include <regimen/regimen.hpp>

#include <cstdio>
#include <string>

struct Net : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};

int main() {
  try {
    regimen::Trainer<Net> trainer;
  } catch (const regimen::Error& e) {
    const std::string words = e.what();
    std::puts(words.c_str());
    const auto first = words.find("_GLIBCXX_ASSERTIONS"), found = words.find("found");
    const bool program_has = first < found && words.find("_GLIBCXX_ASSERTIONS", found) == std::string::npos;
    return program_has && words.find("CMAKE_CXX_FLAGS") != std::string::npos ? 0 : 1;
  }
  std::puts("expected an Error");
  return 1;
}
// SPDX-License-Identifier: Apache-2.0
