// A std::vector of Trainers, which would move them.
// expect: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr
// names: regimen::Trainer<Mlp>
#include <regimen/regimen.hpp>

#include <memory>
#include <vector>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() {
  std::vector<std::unique_ptr<Train>> trainers;
  trainers.push_back(std::make_unique<Train>());
}
#else
int main() {
  std::vector<Train> trainers;
  trainers.emplace_back();
}
#endif
