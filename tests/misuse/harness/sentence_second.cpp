// A test of the harness: the sentence is there, below something else.
// expect: keep one of them
// harness: must fail the first error is not a static assertion
#ifdef REGIMEN_MISUSE
int x = nothing;
static_assert(sizeof(int) == 0, "regimen: keep one of them");
#endif
int main() {}
