// A translation without what is to be translated.
// expect: this model generates a text from another one; write generate\(model, source, prompt, count\)
// names: Net
#include <regimen/regimen.hpp>

using namespace regimen;

struct Heard : NamedValue<Shape<8, 8>> {};
struct Net : Model<Input<Bundle<Tokens<8>, Tokens<6>>>,
                   Fork<Last, Sequential<Part<0>, Embedding<Vocabulary<16>, 8>, Keep<Heard>>,
                        Sequential<Part<1>, Embedding<Vocabulary<16>, 8>, CrossAttention<Heard, Heads<2>>>>,
                   Linear<16>> {};

int main() {
  Inference<Net, Batch<1>> model("net.safetensors");
  const std::vector<std::int32_t> source(8), prompt(1);
#ifndef REGIMEN_MISUSE
  generate(model, source, prompt, 5);
#else
  generate(model, prompt, 5);
#endif
}
