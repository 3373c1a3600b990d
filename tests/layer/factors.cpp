// All products of a layer read their factors as the policy says, forward and backward.
#include "support/catch.hpp"

#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>

#include <type_traits>

using namespace regimen;

namespace {

/// Counts products by how they read their factors.
struct Counter {
  std::size_t batch = 2, as_tf32 = 0, as_stored = 0;

  template <class Operation>
  constexpr void run(const Operation&) {}
  template <class A, class B, class C>
  constexpr void run(const op::Product<A, B, C>&) {
    constexpr bool reads_tf32 = std::is_same_v<A, tf32> && std::is_same_v<B, tf32> && std::is_same_v<C, fp32>;
    constexpr bool reads_stored = Number<A> && Number<B>;
    as_tf32 += reads_tf32;
    as_stored += reads_stored;
  }
};

template <class Layer, class Compute>
constexpr Counter counted() {
  using Bound = typename Layer::template Bound<Value<stored_t<Compute>, Shape<3, 8>>, Roles<Compute, fp32, fp32>>;
  Counter counter;
  constexpr std::size_t parameters = Bound::parameters.size();
  Bound::forward(counter, ForwardCall<0, 0, 0, parameters>{.x = 0, .y = 64, .parameters = {{128}}, .path = {}});
  Bound::backward(counter, BackwardCall<0, 0, parameters>{.x = 0,
                                                          .y = 64,
                                                          .d_y = 192,
                                                          .d_x = 256,
                                                          .parameters = {{128}},
                                                          .gradients = {{320}},
                                                          .add = false,
                                                          .saved = {},
                                                          .path = {}});
  return counter;
}

template <class Layer>
void follows_the_policy() {
  CHECK(counted<Layer, tf32>().as_tf32 == 3);
  CHECK(counted<Layer, tf32>().as_stored == 0);
  CHECK(counted<Layer, fp32>().as_stored == 3);
  CHECK(counted<Layer, bf16>().as_stored == 3);
}

}  // namespace

TEST_CASE("three products of a layer read tf32 where the policy says so, and nowhere else") {
  follows_the_policy<Linear<5>>();
  follows_the_policy<TiedLinear<Embedding<Vocabulary<11>, 8>>>();
}
// SPDX-License-Identifier: Apache-2.0
