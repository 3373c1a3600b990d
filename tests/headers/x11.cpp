// X11's macros and types before the library, and the macros of windows.h behind it: each has what it had.
#define None 0L
#define Success 0
typedef unsigned long XID;
typedef XID Window, Drawable, Font, Pixmap, Cursor, Colormap, GContext, KeySym;
typedef unsigned long Mask, Atom, VisualID, Time;
typedef int Status;
typedef unsigned char KeyCode;
typedef char* XPointer;
typedef struct _XDisplay Display;
typedef struct _XGC* GC;
struct Screen;
struct Visual;
struct Depth;
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

Window make(Display*, Drawable, Font, Pixmap, Cursor, Colormap, GContext, KeySym, Mask, Atom, VisualID, Time, Status,
            KeyCode, XPointer, GC, Screen*, Visual*, Depth*);

double trained();
double trained() {
  Trainer<Mlp, Batch<8>> trainer{{.optimizer = {.learning_rate = 1e-3}}};
  return trainer.fit(Fake(), {.steps = 2}).loss + double(max(min(1, 2), None));
}
