// regimen/rule/model_is_gpt2.hpp — whose weights the naming of Hugging Face can name.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Any other model has parameters without a name there.   docs/errors/model_is_gpt2.md
template <class Network>
struct model_is_gpt2 {
  static constexpr bool holds = requires { Network::gpt2_depth; };
  struct must_hold {
    static_assert(holds, "regimen: hugging_face names the weights of a Gpt2Model; derive the network from Gpt2Model<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
