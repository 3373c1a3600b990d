// A test of the harness: the sentence comes first, and more follows.
// expect: keep one of them
// harness: must fail 2 errors: one mistake must be one error
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: keep one of them");
int x = nothing;
#endif
int main() {}
