// Tests of the harness: what it must accept, and what it must reject, for which reason.

// ---- accepts --------------------------------------------------------------------------------------------------------
// A mistake as it should be, which must be accepted.
// expect: rows must be a multiple of 16; write tile<(16|32), [A-Z]>
// names: box<int>
namespace accepts {
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
void program() { use(tile<16, box<int>>{}); }
#else
void program() { use(tile<17, box<int>>{}); }
#endif
}  // namespace accepts

// ---- in_a_function_body ---------------------------------------------------------------------------------------------
// The rule speaks only where a function template's body is instantiated.
// expect: a batch of zero trains nothing; write Batch<1> or more
namespace in_a_function_body {
template <int N>
struct trainer {
  void fit() { static_assert(N > 0, "regimen: a batch of zero trains nothing; write Batch<1> or more"); }
};
#ifndef REGIMEN_MISUSE
void program() { trainer<1>{}.fit(); }
#else
void program() { trainer<0>{}.fit(); }
#endif
}  // namespace in_a_function_body

// ---- mistake_compiles -----------------------------------------------------------------------------------------------
// Nothing refuses the mistake.
// expect: keep one of them
// harness: must fail the mistake compiles
namespace mistake_compiles {
void program() {}
}  // namespace mistake_compiles

// ---- cure_does_not_compile ------------------------------------------------------------------------------------------
// The cure is no cure.
// expect: keep one of them
// harness: must fail the cure does not compile
namespace cure_does_not_compile {
static_assert(sizeof(int) == 0, "regimen: keep one of them");
void program() {}
}  // namespace cure_does_not_compile

// ---- wrong_reason ---------------------------------------------------------------------------------------------------
// The program does not compile, but not because of the rule.
// expect: Checkpoint<Every<N>> needs 1 <= N
// harness: must fail the first error is not a static assertion
namespace wrong_reason {
#ifdef REGIMEN_MISUSE
int x = "regimen: Checkpoint<Every<N>> needs 1 <= N";
#endif
void program() {}
}  // namespace wrong_reason

// ---- another_sentence -----------------------------------------------------------------------------------------------
// A static assertion speaks, but another one.
// expect: two policies decide the same axis
// harness: must fail the first error does not say
namespace another_sentence {
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: two policies decide the same axis; keep one of them");
#endif
void program() {}
}  // namespace another_sentence

// ---- sentence_second ------------------------------------------------------------------------------------------------
// The sentence is there, below something else.
// expect: keep one of them
// harness: must fail the first error is not a static assertion
namespace sentence_second {
#ifdef REGIMEN_MISUSE
int x = nothing;
static_assert(sizeof(int) == 0, "regimen: keep one of them");
#endif
void program() {}
}  // namespace sentence_second

// ---- two_errors -----------------------------------------------------------------------------------------------------
// The sentence comes first, and more follows.
// expect: keep one of them
// harness: must fail 2 errors: one mistake must be one error
namespace two_errors {
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: keep one of them");
int x = nothing;
#endif
void program() {}
}  // namespace two_errors

// ---- too_long -------------------------------------------------------------------------------------------------------
// One error, at the bottom of a screen of instantiations.
// expect: too deep
// harness: must fail lines: the budget is 16
namespace too_long {
template <class T>
struct level0 {
#ifdef REGIMEN_MISUSE
  static_assert(sizeof(T) == 0, "regimen: too deep");
#endif
};
template <class T>
struct level1 : level0<T*> {};
template <class T>
struct level2 : level1<T*> {};
template <class T>
struct level3 : level2<T*> {};
template <class T>
struct level4 : level3<T*> {};
template <class T>
struct level5 : level4<T*> {};
template <class T>
struct level6 : level5<T*> {};
template <class T>
struct level7 : level6<T*> {};
template <class T>
struct level8 : level7<T*> {};
template <class T>
struct level9 : level8<T*> {};
template <class T>
struct level10 : level9<T*> {};
template <class T>
struct level11 : level10<T*> {};
template <class T>
struct level12 : level11<T*> {};
template <class T>
struct level13 : level12<T*> {};
template <class T>
struct level14 : level13<T*> {};
level14<int> top;
void program() {}
}  // namespace too_long

// ---- unnamed --------------------------------------------------------------------------------------------------------
// The sentence is right, and nobody says who broke the rule.
// expect: keep one of them
// names: Precision<fp16, fp32>
// harness: must fail nothing names the offenders: Precision<fp16, fp32>
namespace unnamed {
#ifdef REGIMEN_MISUSE
static_assert(sizeof(int) == 0, "regimen: keep one of them");
#endif
void program() {}
}  // namespace unnamed
// SPDX-License-Identifier: Apache-2.0
