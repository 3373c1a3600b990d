#include "support/catch.hpp"

#include <regimen/core/misnamed.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/trainers/options.hpp>

#include <type_traits>

using namespace regimen;

namespace {

/// The options of fit and of AdamW without the names of other libraries.
struct RunAlone {
  std::uint64_t steps = 0, epochs = 0, validate_every = 0, patience = 0;
  Order order = Order::Shuffled;
  Remainder remainder = Remainder::Short;
  std::size_t workers = 1, ahead = 2;
  bool progress = true, validate_average = false;
};
struct AdamWAlone {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  detail::WeightDecay weight_decay = 0.01;
};

template <class Meaning>
inline constexpr bool takes_nothing = std::is_empty_v<detail::Misnamed<Meaning>>;

/// Not to be folded: the values must lie in memory.
template <class T>
[[gnu::noinline]] T copied(const T& value) {
  return value;
}

}  // namespace

static_assert(takes_nothing<misnamed::learning_rate> && takes_nothing<misnamed::steps>);
static_assert(sizeof(FitOptions) == sizeof(RunAlone) && std::is_trivially_copyable_v<FitOptions>);
static_assert(sizeof(AdamW::Options) == sizeof(AdamWAlone) && std::is_trivially_copyable_v<AdamW::Options>);

TEST_CASE("names of other libraries take no memory, and change no option beside them") {
  const FitOptions run = copied(FitOptions{.steps = 7, .validate_every = 9, .workers = 3, .progress = false});
  CHECK((run.steps == 7 && run.epochs == 0 && run.validate_every == 9 && run.patience == 0));
  CHECK((run.order == Order::Shuffled && run.remainder == Remainder::Short && run.workers == 3 && run.ahead == 2));
  CHECK((!run.progress && !run.validate_average));
  Options<AdamW> options{.optimizer = {.learning_rate = 0.5, .beta2 = 0.25}, .seed = 3, .verbose = true};
  options = copied(options);
  const AdamW::Options& rule = options.optimizer;
  CHECK((rule.learning_rate == 0.5 && rule.beta1 == 0.9 && rule.beta2 == 0.25 && rule.epsilon == 1e-8));
  CHECK((rule.weight_decay == 0.01 && options.seed == 3 && options.threads == 0 && options.verbose));
  CHECK(options.compare_weights_every == 100);
  CHECK(options.schedule.floor == 0);
}
