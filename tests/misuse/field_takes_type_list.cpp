// Characters, of which JSON has none, in a list beside a field that is right.
// expect: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; name one of them
// names: char
#include <regimen/data/json_lines.hpp>

using namespace regimen;

int main() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<int, std::string> lines("reviews.jsonl", {"stars", "text"});
#else
  const data::JsonLines<int, std::vector<char>> lines("reviews.jsonl", {"stars", "text"});
#endif
  return std::get<0>(lines.at({.index = 0})) != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
