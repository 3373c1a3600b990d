// regimen/engine/cpu/memory.hpp — how a CPU kernel reaches its tensors.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace regimen::cpu {

/// The arena's bytes, and where the scratch of the operation that runs begins. Trivially copyable.
///   lent   memory of another arena, which offsets from lent_memory on lead to
struct Memory {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::size_t scratch = View<char>::absent;
  std::byte* lent = nullptr;
  std::size_t lent_bytes = 0;

  /// The tensor at `view`. An absent view means that a layer reads a tensor that it did not declare: a defect of
  /// the layer, not of the input, so it ends the program.
  template <class T>
  T* operator()(View<T> view) const {
    return reinterpret_cast<T*>(view.offset < bytes ? base + view.offset : lent_at(view.offset));
  }

  /// The tensor at `view`, or null where the operation allows it to be absent.
  template <class T>
  T* optional(View<T> view) const {
    return view.is_absent() ? nullptr : (*this)(view);
  }

 private:
  std::byte* lent_at(std::size_t offset) const {
    if (offset < lent_memory || offset - lent_memory >= lent_bytes) {
      std::fputs("regimen: an operation touches a tensor that its layer did not declare\n", stderr);
      std::abort();
    }
    return lent + (offset - lent_memory);
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
