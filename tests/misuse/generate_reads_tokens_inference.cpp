// The same of an Inference.
// expect: generate reads tokens, not characters; write generate\(model, tokenizer\.encode\(text\), count\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

int main() {
  Inference<Gpt> model("gpt.safetensors");
#ifndef REGIMEN_MISUSE
  const std::vector<std::int32_t> prompt{'O', 'n', 'c', 'e'};
  generate(model, prompt, 100, {.temperature = 0.8});
#else
  generate(model, std::string("Once"), 100, {.temperature = 0.8});
#endif
}
