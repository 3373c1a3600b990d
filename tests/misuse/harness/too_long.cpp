// A test of the harness: one error, at the bottom of a screen of instantiations.
// expect: too deep
// harness: must fail lines: the budget is 16
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
int main() {}
