// The plan of odd trees: as a constant, at run time, and with every iteration evaluated, it is one and the same.
#include "train/plan_agrees.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("norms behind the sums") { agrees_under_all<PostNorm>("post-norm"); }
TEST_CASE("a Repeat in a Repeat") { agrees_under_all<Nested>("nested"); }
TEST_CASE("a Repeat in a Residual") { agrees_under_all<Surrounded>("surrounded"); }
TEST_CASE("Repeats that read little") { agrees_under_all<ReadsLittle>("reads little"); }
