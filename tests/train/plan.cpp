// The plan: as a constant, at run time, and with every iteration evaluated, it is one and the same.
#include "train/plan_agrees.hpp"

using namespace regimen;
using namespace regimen::test;

TEST_CASE("GPTs, as deep as segments divide and not") {
  const std::size_t none = agrees<Gpt<7>>("none"), one = agrees<Gpt<7>, Checkpoint<Every<1>>>("every 1"),
                    three = agrees<Gpt<7>, Checkpoint<Every<3>>>("every 3"),
                    seven = agrees<Gpt<7>, Checkpoint<Every<7>>>("every 7"),
                    selective = agrees<Gpt<7>, Checkpoint<Selective<LayerNorm, Gelu, Drop>>>("selective");
  CHECK(none > selective);
  CHECK(selective > three);
  CHECK(none > three);
  CHECK(three > one);
  CHECK(seven <= none);
}

TEST_CASE("the largest batch fits, and the next does not") {
  using Recipe = programs::Recipe<Gpt<5>, ConfigurationOf<Checkpoint<Every<2>>>>;
  constexpr std::size_t one = Recipe::peak(1);
  const auto look = []<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
    constexpr std::size_t batch = Recipe::largest_batch<bytes>();
    CHECK(Recipe::peak(batch) <= bytes);
    CHECK(Recipe::peak(batch + 1) > bytes);
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (look(std::integral_constant<std::size_t, one + one * i * i * i * i / 3>{}), ...);  // up to some thousand samples
  }(std::make_index_sequence<12>{});
  CHECK(Recipe::largest_batch<one - 1>() == 0);
}
