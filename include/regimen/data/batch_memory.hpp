// regimen/data/batch_memory.hpp — memory for a Loader's batches, in place of its own.
#pragma once

#include <cstddef>

namespace regimen::data {

/// Memory from which a device may still copy a batch after the program has asked the Loader for the next one. One batch
/// is on its way while the next one is in use; the Loader fills its place again only after `wait` has returned. Only
/// the thread that uses the Loader calls these members.
///
///   take(input, target)   a place for a batch of these numbers of bytes, aligned for any type, used by one Loader only
///   wait(place)           until the device has read the batch there
///   give_back(place)      from a Loader that ends; the device may still read the batch
///
/// lifetime  longer than the Loader's
struct BatchMemory {
  struct Place {
    std::byte *input = nullptr, *target = nullptr;
  };

  BatchMemory() = default;
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;
  virtual Place take(std::size_t input_bytes, std::size_t target_bytes) = 0;
  virtual void wait(const Place& place) = 0;
  virtual void give_back(const Place& place) noexcept = 0;

 protected:
  ~BatchMemory() = default;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
