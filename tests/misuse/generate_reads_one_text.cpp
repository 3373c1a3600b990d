// Text from a model that also attends to another text, here to its own: later words are no secret to it.
// expect: generate goes on with one text, a CrossAttention reads two; call predict for every token
// names: Net
#include <regimen/regimen.hpp>

using namespace regimen;

struct Other : NamedValue<Shape<8, 8>> {};
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Keep<Other>,
                   Residual<LayerNorm, CrossAttention<Other, Heads<2>>>, Linear<16>> {};

int main() {
  Trainer<Net, Batch<4>> trainer;
  trainer.fit(Text{"input.txt"}, {.steps = 100});
#ifndef REGIMEN_MISUSE
  trainer.predict(std::vector<std::int32_t>{1, 2, 0, 0, 0, 0, 0, 0});
#else
  trainer.generate(std::vector<std::int32_t>{1, 2}, 20);
#endif
}
