// The first of three translation units that include every header; that they link is the test. Two train.
#include <everything.hpp>

int second();
double third();

struct Net : regimen::Model<regimen::Input<regimen::Vector<8>>, regimen::Linear<4>> {};

int main() {
  regimen::Trainer<Net> trainer;
  const double loss = trainer.step(std::vector<float>(8 * 32, 1), std::vector<std::int32_t>(32)).loss;
  return second() + (loss == third() ? 0 : 1);
}
