// A test of the harness: the sentence is right, and nobody says who broke the rule.
// expect: keep one of them
// names: Precision<fp16, fp32>
// harness: must fail nothing names the offenders: Precision<fp16, fp32>
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: keep one of them");
#endif
int main() {}
