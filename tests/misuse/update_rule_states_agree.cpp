// An update rule with two states, whose update takes one.
// expect: an update rule counts its states differently; let states, state_names and the array of update agree
// names: Descent
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
  template <class V, class S>
  static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool) {
    state[0] = gradient;
    weight = weight - state[0] * c.rate;
  }
};
#else
struct Descent {
  struct Options {
    double learning_rate = 1e-2;
  };
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 1> state_names{"gradient"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class S>
  struct Coefficients {
    S rate;
    Coefficients(const Options&, const Scalars& s) : rate(S(s.learning_rate)) {}
  };
  template <class V, class S>
  static void update(V& weight, V gradient, V (&state)[1], const Coefficients<S>& c, bool) {
    state[0] = gradient;
    weight = weight - state[0] * c.rate;
  }
};
#endif

using Train = Trainer<Net, Optimizer<Descent>>;

int main() { return sizeof(Train) == 0; }
