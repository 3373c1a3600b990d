// A translation by a model whose decoder attends to its own later words, too.
// expect: generate from a source needs Fork<Last, encoder of Part<0>, decoder of Part<1>>; call predict
// names: Net
#include <regimen/regimen.hpp>

using namespace regimen;

struct Heard : NamedValue<Shape<6, 8>> {};
template <class First, class Second>
struct Translator : Model<Input<Bundle<Tokens<6>, Tokens<6>>>, Fork<Last, First, Second>, Linear<16>> {};
using Words = Embedding<Vocabulary<16>, 8>;
#ifndef REGIMEN_MISUSE
struct Net : Translator<Sequential<Part<0>, Words, Keep<Heard>>,
                        Sequential<Part<1>, Words, CrossAttention<Heard, Heads<2>>>> {};
#else
struct Net : Translator<Sequential<Part<0>, Words>,
                        Sequential<Part<1>, Words, Keep<Heard>, CrossAttention<Heard, Heads<2>>>> {};
#endif

int main() {
  Trainer<Net, Batch<4>> trainer;
  trainer.generate(std::vector<std::int32_t>(6), std::vector<std::int32_t>(1), 5);
}
