// A learning rate's schedule by the name of PyTorch's object.
// expect: a learning rate's course is a Schedule; write \{\.schedule = Schedule::warmup_cosine\(100, 1000\)\}
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() { Trainer<Mlp> trainer{{.schedule = Schedule::warmup_cosine(100, 1000), .seed = 3}}; }
#else
int main() { Trainer<Mlp> trainer{{.lr_scheduler = Schedule::warmup_cosine(100, 1000), .seed = 3}}; }
#endif
