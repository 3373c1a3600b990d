// The third, which links regimen::compiled.
#include <everything.hpp>

double third();

namespace {
struct Same : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};
}  // namespace

double third() {
  regimen::Trainer<Same> trainer;
  return trainer.step(std::vector<float>(8 * 32, 1), std::vector<std::int32_t>(32)).loss;
}
