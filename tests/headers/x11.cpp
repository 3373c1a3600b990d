// X11's macros before the library, and those of windows.h behind it: each has what it had.
#define None 0L
#define Success 0
#include <regimen/regimen.hpp>
static_assert(None == 0L && Success == 0);
#undef min
#undef max
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define small char
#define near
#define far

using namespace regimen;

struct Mlp : Model<Input<Vector<8>>, Linear<8>, Relu, Linear<3>> {};

double trained();
double trained() {
  Trainer<Mlp, Batch<8>> trainer{{.optimizer = {.learning_rate = 1e-3}}};
  return trainer.fit(Fake(), {.steps = 2}).loss + double(max(min(1, 2), None));
}
