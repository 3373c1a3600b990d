// A field as a view of text that nobody owns.
// expect: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; name one of them
// names: string_view
#include <regimen/data/json_lines.hpp>

using namespace regimen;

int main() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<std::string> lines("reviews.jsonl", {"text"});
#else
  const data::JsonLines<std::string_view> lines("reviews.jsonl", {"text"});
#endif
  return lines.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
