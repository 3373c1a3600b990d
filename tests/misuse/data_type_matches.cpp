// Class labels as floating-point numbers.
// expect: this model reads other data or labels; give it std::vector<Train::Input> and std::vector<Train::Label>
// names: float
// names: int
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Labels = std::vector<std::int32_t>;
#else
using Labels = std::vector<float>;
#endif

auto step(Trainer<Net>& trainer, const std::vector<float>& inputs, const Labels& labels) { return trainer.step(inputs, labels); }
