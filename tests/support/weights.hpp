// tests/support/weights.hpp — all weights of a Trainer, one behind the other.
#pragma once

#include <vector>

namespace support {

template <class Value = float>
std::vector<Value> weights_of(auto& trainer) {
  std::vector<Value> all;
  for (const auto& parameter : trainer.parameters())
    for (const auto value : parameter.values) all.push_back(static_cast<Value>(value));
  return all;
}

}  // namespace support
