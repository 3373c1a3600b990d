// regimen/engine/cpu/peers_of.hpp — a communicator as an engine's peers.
#pragma once

#include <regimen/engine/cpu/peers.hpp>

#include <cstddef>
#include <string_view>

namespace regimen::cpu {

/// Borrows the communicator.
template <class C>
class PeersOf final : public Peers {
 public:
  explicit PeersOf(C& communicator) : communicator_(communicator) {}

  std::size_t rank() const override { return communicator_.rank(); }
  std::size_t size() const override { return communicator_.size(); }

  std::size_t start_gather(const std::byte* own, std::byte* all, std::size_t bytes, Path) override {
    communicator_.all_gather(own, all, bytes);
    return 0;
  }
  std::size_t start_reduce(ElementType element, std::byte* all, std::size_t count, std::byte* staging, Path) override {
    switch (element) {
      case ElementType::float64: reduce<fp64>(all, count, staging); break;
      case ElementType::float32: reduce<fp32>(all, count, staging); break;
      case ElementType::bfloat16: reduce<bf16>(all, count, staging); break;
      case ElementType::float16: reduce<fp16>(all, count, staging); break;
    }
    return 0;
  }
  void await(std::size_t) override {}
  void gather_small(const std::byte* own, std::byte* all, std::size_t bytes) override { communicator_.all_gather_small(own, all, bytes); }
  void leave(std::string_view reason) override { communicator_.leave(reason); }

 private:
  template <class T>
  void reduce(std::byte* all, std::size_t count, std::byte* staging) {
    T* const whole = reinterpret_cast<T*>(all);
    communicator_.reduce_scatter(static_cast<const T*>(whole), whole + communicator_.rank() * count, count, staging);
  }

  C& communicator_;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
