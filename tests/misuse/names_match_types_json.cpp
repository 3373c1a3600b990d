// A name too many.
// expect: Csv and JsonLines read one name as each type; give as many names as types, in their order
// names: int
#include <regimen/data/json_lines.hpp>

using namespace regimen;

int main() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<int> lines("reviews.jsonl", {"stars"});
#else
  const data::JsonLines<int> lines("reviews.jsonl", {"stars", "text"});
#endif
  return lines.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
