// bench/lstm.hpp — the recurrent networks that are measured; bench/peers/lstm.py holds the same in PyTorch.
#pragma once

#include "models.hpp"

#include <regimen/models/lstm.hpp>

namespace bench {

struct Lstm256 : LstmModel<256, 64, 256, 1> {};
struct Lstm200 : LstmModel<10'000, 35, 200, 2> {};

template <class Model, class... Policies>
int measure_lstm(int argc, char** argv) {
  static_assert(measurable<Policies...>);
  return gpt<Model, Policies...>(argc, argv);
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
