// Ranks whose BatchNorm joins them train what one rank trains on the global batch.
#include "train/global_batch.hpp"

#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/patches.hpp>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Reads the batch that ranks cut: first, in a Repeat, behind a convolution.
struct Normed final : Model<Input<Image<4, 3, 2>>, BatchNorm<OverRanks>, Linear<6>,
                            Repeat<2, Residual<BatchNorm<OverRanks>, Gelu, Linear<6>>>, Conv2d<4, 3, NoBias>,
                            BatchNorm<OverRanks, Momentum<Ratio<1, 3>>>, Flatten, Linear<11>> {};

}  // namespace

TEST_CASE("ranks that BatchNorm joins take the steps of one rank on the global batch, but for rounding") {
  equals_one_rank<Sgd, Normed>({.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0.01});
}
// SPDX-License-Identifier: Apache-2.0
