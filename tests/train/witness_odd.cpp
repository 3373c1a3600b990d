// The independent witness on odd trees: dead memory is NaN, and what is recomputed changes no bit.
#include "train/witness.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("norms behind the sums, witnessed") {
  const Witnessed kept = witness<PostNorm>("none");
  CHECK(witness<PostNorm, Checkpoint<Every<2>>>("every 2") == kept);
  CHECK(witness<PostNorm, Checkpoint<Selective<LayerNorm, Gelu, Linear<16>>>>("selective") == kept);
}
TEST_CASE("a Repeat in a Repeat, witnessed") {
  CHECK(witness<Nested, Checkpoint<Every<2>>>("every 2") == witness<Nested>("none"));
}
TEST_CASE("a Repeat in a Residual, witnessed") {
  CHECK(witness<Surrounded, Checkpoint<Every<2>>>("every 2") ==
        witness<Surrounded, Checkpoint<Selective<LayerNorm, Gelu, Drop, Linear<16>>>>("selective"));
}
TEST_CASE("Repeats that read little, witnessed") {
  CHECK(witness<ReadsLittle, Checkpoint<Every<2>>>("every 2") ==
        witness<ReadsLittle, Checkpoint<Selective<Gelu, LayerNorm>>>("selective"));
}
TEST_CASE("layers in another element type, witnessed") {
  CHECK(witness<Mixed, Precision<bf16, fp32>, Checkpoint<Every<3>>>("every 3") ==
        witness<Mixed, Precision<bf16, fp32>>("none"));
}
