// flags ALL_OR_CPU WORD: a file of the program has other flags than the library's, WORD among them. The first Trainer
// throws, on all devices or for a CPU, and says which flags.
#include <regimen/engine/emulated/device.hpp>
#include <regimen/regimen.hpp>

#include <cstdio>
#include <string>

struct Net : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};

template <class Where>
bool is_refused(const std::string& word) {
  try {
    regimen::Trainer<Net, regimen::Device<Where>> trainer;
  } catch (const regimen::Error& e) {
    const std::string words = e.what();
    std::puts(words.c_str());
    const auto first = words.find(word), found = words.find("found");
    return first < found && words.find(word, found) == std::string::npos &&
           words.find("CMAKE_CXX_FLAGS") < words.size();
  }
  std::puts("no Error");
  return false;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool on_all = argv[1] == std::string("all");
  const bool cpu = is_refused<regimen::Cpu>(argv[2]), gpu = is_refused<regimen::Emulated>(argv[2]);
  return cpu && gpu == on_all ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
