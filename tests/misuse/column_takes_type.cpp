// A column as a view of text that nobody owns.
// expect: Csv reads std::string, bool, numbers, or std::optional of these; name one of them
// names: string_view
#include <regimen/data/csv.hpp>

using namespace regimen;

int main() {
#ifndef REGIMEN_MISUSE
  const data::Csv<std::string> table("houses.csv", {"street"});
#else
  const data::Csv<std::string_view> table("houses.csv", {"street"});
#endif
  return table.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
