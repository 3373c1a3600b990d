// A test of the harness: the rule speaks only where a function template's body is instantiated.
// expect: a batch of zero trains nothing; write Batch<1> or more
template <int N>
struct trainer {
  void fit() { static_assert(N > 0, "regimen: a batch of zero trains nothing; write Batch<1> or more"); }
};
#ifndef REGIMEN_MISUSE
int main() { trainer<1>{}.fit(); }
#else
int main() { trainer<0>{}.fit(); }
#endif
