// A test of the harness: a mistake as it should be, which must be accepted.
// expect: rows must be a multiple of 16; write tile<(16|32), [A-Z]>
// names: box<int>
template <class T>
struct box {};
template <int Rows, class T>
struct tile {};
namespace rule {
template <int Rows, class T>
struct rows_fit {
  static_assert(Rows % 16 == 0, "regimen: rows must be a multiple of 16; write tile<16, T>");
};
}  // namespace rule
template <int Rows, class T>
void use(tile<Rows, box<T>>) {
  rule::rows_fit<Rows, box<T>> check;
  (void)check;
}
#ifndef REGIMEN_MISUSE
int main() { use(tile<16, box<int>>{}); }
#else
int main() { use(tile<17, box<int>>{}); }
#endif
