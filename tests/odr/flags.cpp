// flags FLAG FILE: FILE was compiled with FLAG, and other files of the program, or its library, were not. The first
// Trainer throws on each device of the host, and says which file has which flag.
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
    // "FILE: expected the flags of OTHER, ..., found ... FLAG", or "OTHER: expected the flags of FILE, ... FLAG, found ...".
    const auto named = words.find(file), expected = words.find(": expected"), has = words.find(flag),
               found = words.find("found");
    return named < words.size() && has < words.size() && words.find(flag, has + 1) == std::string::npos &&
           (named < expected) == (found < has) && words.find("CMAKE_CXX_FLAGS") < words.size();
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
