// A type without a name: the file of pandas has a column named "".
// expect: Csv and JsonLines read one name as each type; give as many names as types, in their order
// names: float, int
#include <regimen/data/csv.hpp>

using namespace regimen;

int main() {
#ifndef REGIMEN_MISUSE
  const data::Csv<float, int> table("houses.csv", {"price", "rooms"});
#else
  const data::Csv<float, int> table("houses.csv", {"price"});
#endif
  return table.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
