// regimen/rule/model_is_gpt2.hpp — hugging_face reads and writes only a Gpt2Model.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Parameters of other models have no name in the Hugging Face format.   docs/errors/networks.md#model_is_gpt2
template <class Network>
struct model_is_gpt2 {
  static constexpr bool holds = requires { Network::gpt2_depth; };
  struct must_hold {
    static_assert(holds,
                  "regimen: hugging_face names the weights of a Gpt2Model; derive the network from Gpt2Model<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
