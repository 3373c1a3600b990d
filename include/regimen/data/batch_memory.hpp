// regimen/data/batch_memory.hpp — where a Loader's batches lie, if not in memory of its own.
#pragma once

#include <cstddef>

namespace regimen::data {

/// Memory from which something reads a batch after the Loader was asked for the next one: an asynchronous copy to a
/// device. The Loader lets one batch be on its way while the next one is in use, and fills its place again only when
/// `wait` has returned for it. The thread that uses the Loader calls these members, and no other thread.
///
///   take(input, target)   a place for a batch with so many bytes, aligned for any type; nothing else uses it
///   wait(place)           until nothing reads the batch there any more
///   give_back(place)      of a Loader that ends. Something may still read it
///
/// lifetime  longer than that of the Loader
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
