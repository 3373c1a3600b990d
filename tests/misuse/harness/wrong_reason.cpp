// A test of the harness: the program does not compile, but not because of the rule.
// expect: Checkpoint<Every<N>> needs 1 <= N
// harness: must fail the first error is not a static assertion
#ifdef REGIMEN_MISUSE
int x = "regimen: Checkpoint<Every<N>> needs 1 <= N";
#endif
int main() {}
