// A test of the harness: the cure is no cure.
// expect: keep one of them
// harness: must fail the cure does not compile
static_assert(sizeof(int) == 0, "regimen: keep one of them");
int main() {}
