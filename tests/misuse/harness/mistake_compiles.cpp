// A test of the harness: nothing refuses the mistake.
// expect: keep one of them
// harness: must fail the mistake compiles
int main() {}
