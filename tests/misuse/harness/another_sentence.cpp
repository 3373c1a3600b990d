// A test of the harness: a static assertion speaks, but another one.
// expect: two policies decide the same axis
// harness: must fail the first error does not say
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: two policies decide the same axis; keep one of them");
#endif
int main() {}
