// A text where generate reads tokens.
// expect: generate reads tokens, not characters; write generate\(model, tokenizer\.encode\(text\), count\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

int main() {
  Trainer<Gpt> trainer;
#ifndef REGIMEN_MISUSE
  const std::vector<std::int32_t> prompt{'O', 'n', 'c', 'e'};
  trainer.generate(prompt, 100);
#else
  trainer.generate("Once", 100);
#endif
}
