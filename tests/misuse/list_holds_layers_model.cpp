// A model among the layers of another.
// expect: a list of layers holds a model; write its layers, LayersOf<Model>, or EncoderOf<Model>, without the head
// names: Net
#include <regimen/models/two_towers.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
struct Views : TwinTowers<Tower<Vector<4>, EncoderOf<Net>>, Linear<8>> {};
#else
struct Views : TwinTowers<Tower<Vector<4>, Net>, Linear<8>> {};
#endif

int main() {
  Trainer<Views, Loss<NtXent<Ratio<1, 10>>>, Batch<4>> trainer;
  trainer.fit(Fake{{.samples = 64, .classes = 1}}, {.steps = 100});
}
