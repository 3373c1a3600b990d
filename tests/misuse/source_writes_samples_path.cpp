// A path where data stand: what the file holds, its name does not say.
// expect: a path is no source; say what the file holds, as in Text\(path\), TokenFile\(path\), Idx\(\.\.\.\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

int main() {
  Trainer<Gpt> trainer;
#ifndef REGIMEN_MISUSE
  trainer.fit(Text("input.txt"), {.steps = 1000});
#else
  trainer.fit("input.txt", {.steps = 1000});
#endif
}
