// Random networks on the emulated device: several steps in one launch train the bits of single steps, also where blocks
// wait in the host's memory meanwhile.
#include "random/emulated.hpp"

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <regimen/data/fake.hpp>

#include <cstdint>
#include <vector>

namespace regimen::random {

template <std::uint64_t Seed, class P>
void launches_of_program() {
  using Own = without<typename on_one_device<typename P::Net, typename P::Policies>::type, axis::debug>;
  // On a GPU one form of attention lets heads share keys.
  using There = std::conditional_t<network_shares_keys<typename P::Net>,
                                   mp::mp_list<Device<Emulated>, Attention<Tiled>>, mp::mp_list<Device<Emulated>>>;
  const auto trained = []<class Policies, class... More>(Policies, mp::mp_list<More...>) {
    using Train =
        mp::mp_apply<Trainer, mp::mp_push_front<mp::mp_append<Policies, There, mp::mp_list<More...>>, typename P::Net>>;
    Train trainer;
    trainer.poison_dead_memory();
    const Fake data({.samples = 3 * Train::batch + 1, .classes = 2, .seed = Seed});
    trainer.fit(data, {.steps = 4, .remainder = Remainder::Wrap, .progress = false});
    trainer.fit(data, {.steps = 9, .remainder = Remainder::Wrap, .progress = false});
    return support::weights_of<double>(trainer);
  };
  emulated::Runtime::defaults = {.seed = Seed};
  const auto one = trained(Own{}, mp::mp_list<>{}),
             three = trained(offloaded<P, Own, There>(), mp::mp_list<Steps<3>>{});
  emulated::Runtime::defaults = {.seed = Seed + 1};
  const auto unrecorded = trained(Own{}, mp::mp_list<Steps<3>, Graph<Off>>{});
  emulated::Runtime::defaults = {};
  INFO("seed " << Seed << "\n  " << name_of_type<typename P::Drawn::type>() << "\n  " << name_of_type<Own>());
  CHECK(one == three);
  CHECK(one == unrecorded);
}
/// Of this seed, or of a later one whose samples Fake can write.
template <std::uint64_t Seed>
void launches_hold() {
  using P = Program<Seed>;
  using Train = typename trainer_of<typename P::Net, typename P::Policies>::type;
  if constexpr (rule::source_writes_samples<Fake, typename Train::Input, typename Train::Label>::holds)
    launches_of_program<Seed, P>();
  else launches_hold<Seed + 10>();
}

}  // namespace regimen::random

TEST_CASE("launches of several steps train random networks as single steps do") {
  regimen::random::launches_hold<7001>();
  regimen::random::launches_hold<7002>();
  regimen::random::launches_hold<7003>();
  regimen::random::launches_hold<7005>();
}
