// regimen/engine/cuda/words.hpp — what the engine of a GPU says: its errors, and which numbers it computes with.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path_text.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace regimen::cuda {

/// Throws what is handled again, an Error with the names of the operation and of its layer.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_again(const char* operation, op::Phase phase,
                                                              const LayerPath& layer, bool waited) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string where = phase == op::Phase::update ? ", in the update"
                              : layer.digits == 0        ? ", outside of layers"
                                                         : ", at or after layer " + layer.text();
    throw Error(std::string("the operation ") + operation + where,
                waited ? "its end without an error" : "to be prepared and queued", error.what());
  }
}

/// The device's unused memory does not hold the plan, or those of all ranks that share it.
template <class Plan>
[[noreturn, gnu::cold]] void fail_for_room(std::size_t unused, std::size_t needed, const Plan& plan,
                                           std::size_t ranks) {
  throw Error("memory of the GPU", "at most " + std::to_string(unused) + " bytes, which are free",
              std::to_string(needed) + " bytes, as planned" +
                  (needed == plan.peak ? "" : " for the " + std::to_string(ranks) + " ranks that share it"),
              "choose a smaller batch, Checkpoint<Every<1>> or another GPU", plan.table());
}

/// How a recipe with these Traits computes.
template <class Traits, class Compute>
std::string words_of_numerics() {
  return std::string(std::is_same_v<Compute, tf32> ? ", factors rounded to tf32" : "") +
         (Traits::fuses_attention                                   ? ", attention and its dropout by cuDNN"
          : Traits::prefers_fused && sizeof(stored_t<Compute>) == 2 ? ", attention without dropout by cuDNN"
                                                                    : "") +
         (Traits::calls_convolutions ? ", convolutions by cuDNN" : "");
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
