// bench/vit_s16.cpp — ViT-S/16 on images of 224 x 224, batches of 128, fp32. Backward computes the outputs of GELU and of the norms
// again: 5.05 GiB are planned in place of 7.51.
#include "vision.hpp"

using Norm = regimen::LayerNormWith<regimen::Epsilon<regimen::Ratio<1, 1'000'000>>>;
using Recomputed = regimen::Checkpoint<regimen::Selective<regimen::Gelu, Norm>>;

int main(int argc, char** argv) {
  return bench::measure_images<regimen::VitSmall16, regimen::Batch<128>, Recomputed>(argc, argv);
}
