// flags FLAG FILE: FILE, of the program or of a library, was compiled with another FLAG than the other files. The first
// Trainer throws on each device of the host, and says which file and which flag.
#include <regimen/engine/emulated/device.hpp>
#include <regimen/regimen.hpp>

#include <cstdio>
#include <string>

struct Net : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};

template <class Where>
bool is_refused(const std::string& flag, const std::string& file) {
  try {
    regimen::Trainer<Net, regimen::Device<Where>> trainer;
  } catch (const regimen::Error& e) {
    const std::string words = e.what();
    std::puts(words.c_str());
    const auto of_one = words.find(flag);  // of the files that differ
    return of_one != std::string::npos && words.find(flag, of_one + 1) == std::string::npos &&
           words.find(file) != std::string::npos && words.find("CMAKE_CXX_FLAGS") != std::string::npos;
  }
  std::puts("no Error");
  return false;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool cpu = is_refused<regimen::Cpu>(argv[1], argv[2]),
             emulated = is_refused<regimen::Emulated>(argv[1], argv[2]);
  return cpu && emulated ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
