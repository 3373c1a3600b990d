// A rule composed of others, whose kernels regimen::compiled lacks: refused, or, with kernels.hpp, compiled here.
#include <regimen/regimen.hpp>
#if defined(REGIMEN_CURE)
#include <regimen/engine/cpu/kernels.hpp>
#endif

#include <vector>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net, Optimizer<Averaged<AdamW>>> trainer;
  trainer.step(std::vector<float>(8 * 32), std::vector<std::int32_t>(32));
}
