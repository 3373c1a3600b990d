// The last stage: rules that tie a model to a configuration are asked when all others hold, and not before.
#include "support/recipe.hpp"

#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/targets.hpp>

using namespace regimen;

/// A model six blocks deep that needs a mebibyte for each sample.
struct Deep : Model<Input<Vector<8>>, Linear<4>> {};

namespace regimen {
template <class Choice>
struct model_rules<Deep, Choice> {
  static constexpr std::size_t there = Choice::target::description::memory;
  static_assert(Choice::batch::size > 0, "asked before the earlier stages held");
  using type = boost::mp11::mp_list<rule::every_at_most_depth<typename Choice::checkpoint, 6>,
                                    rule::fits_target<Choice::batch::size * 1_MiB, there>>;
};
}  // namespace regimen

static_assert(Composable<Deep>);
static_assert(Composable<Deep, Checkpoint<Every<6>>>);
static_assert(!Composable<Deep, Checkpoint<Every<7>>>);
static_assert(Composable<Net, Checkpoint<Every<7>>>);  // no rules are known for Net
static_assert(Composable<Deep, Target<targets::host<8_MiB>>, Batch<8>>);
static_assert(!Composable<Deep, Target<targets::host<8_MiB>>, Batch<9>>);
static_assert(!Composable<Deep, Batch<0>>);  // an earlier stage: the last one is not asked
static_assert(!Composable<Deep, Every<7>>);

template <class... Policies>
using broken = detail::broken_rules<Deep, Policies...>;
static_assert(std::is_same_v<broken<>, boost::mp11::mp_list<>>);
static_assert(std::is_same_v<broken<Batch<9>, Checkpoint<Every<7>>, Target<targets::host<8_MiB>>>,
                             boost::mp11::mp_list<rule::every_at_most_depth<Checkpoint<Every<7>>, 6>,
                                                  rule::fits_target<9_MiB, 8_MiB>>>);
static_assert(std::is_same_v<
              broken<Precision<fp16>, Batch<0>, Checkpoint<Every<7>>>,
              boost::mp11::mp_list<rule::masters_are_not_half<Precision<fp16>>, rule::batch_at_least_one<Batch<0>>>>);
static_assert(std::is_same_v<broken<Batch<8>, Precision<fp16, fp32>, Batch<8>>,
                             boost::mp11::mp_list<rule::one_policy_per_axis<axis::batch, Batch<8>, Batch<8>>>>);
static_assert(
    std::is_same_v<broken<Batch<8>, bf16, Every<2>, Batch<8>>,
                   boost::mp11::mp_list<rule::argument_is_a_policy<bf16>, rule::argument_is_a_policy<Every<2>>>>);
