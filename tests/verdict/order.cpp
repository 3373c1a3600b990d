// The order of the policies changes nothing, and neither does a default that is written out: one PolicyConfiguration.
#include <regimen/rule/compose.hpp>

using namespace regimen;
namespace mp = boost::mp11;

template <class... Policies>
constexpr bool same = (std::is_same_v<ConfigurationOf<Policies...>, ConfigurationOf<>>);

// ---- defaults
// -----------------------------------------------------------------------------------------------------------------
static_assert(std::is_same_v<ConfigurationOf<>, PolicyConfiguration<>>);
static_assert(std::is_same_v<ConfigurationOf<>::precision, Precision<fp32>> &&
              std::is_same_v<ConfigurationOf<>::loss_scale, LossScale<None>> &&
              std::is_same_v<ConfigurationOf<>::checkpoint, Checkpoint<None>> &&
              std::is_same_v<ConfigurationOf<>::batch, Batch<32>> &&
              std::is_same_v<ConfigurationOf<>::accumulate, Accumulate<1>> &&
              std::is_same_v<ConfigurationOf<>::clip, Clip<None>> &&
              std::is_same_v<ConfigurationOf<>::optimizer, Optimizer<AdamW>> &&
              std::is_same_v<ConfigurationOf<>::loss, Loss<CrossEntropy>> &&
              std::is_same_v<ConfigurationOf<>::device, Device<Cpu>> &&
              std::is_same_v<ConfigurationOf<>::target, Target<targets::unlimited>> &&
              std::is_same_v<ConfigurationOf<>::communicator, Communicator<Solo>> &&
              std::is_same_v<ConfigurationOf<>::shard, Shard<Replicated>> &&
              std::is_same_v<ConfigurationOf<>::seed, Seed<1>> &&
              std::is_same_v<ConfigurationOf<>::debug, Debug<None>> &&
              std::is_same_v<ConfigurationOf<>::freeze, Freeze<>> &&
              std::is_same_v<ConfigurationOf<>::init, Init<Default>> &&
              std::is_same_v<ConfigurationOf<>::fusion, Fusion<Fused>> &&
              std::is_same_v<ConfigurationOf<>::attention, Attention<>> &&
              std::is_same_v<ConfigurationOf<>::convolution, Convolution<>> &&
              std::is_same_v<ConfigurationOf<>::world, World<>>);
static_assert(same<Precision<fp32, fp32>, Checkpoint<None>, Seed<1>, Batch<32>>);
static_assert(std::is_same_v<ConfigurationOf<Batch<8>, Seed<1>>, PolicyConfiguration<Batch<8>>>);

// ---- every order of five policies: 120 packs, one type
// ------------------------------------------------------------------------
template <class List, class Rest>
struct permutations;
template <class List>
struct permutations<List, mp::mp_list<>> {
  using type = mp::mp_list<List>;
};
template <class List, class... Rest>
struct permutations<List, mp::mp_list<Rest...>> {
  template <class P>
  using from = typename permutations<mp::mp_push_back<List, P>, mp::mp_remove<mp::mp_list<Rest...>, P>>::type;
  using type = mp::mp_append<from<Rest>...>;
};
template <class List>
using configured = mp::mp_apply<ConfigurationOf, List>;

using Five = mp::mp_list<Precision<fp16, fp32>, LossScale<Dynamic>, Checkpoint<Every<2>>, Batch<8>, Fusion<Unfused>>;
using Orders = permutations<mp::mp_list<>, Five>::type;
static_assert(mp::mp_size<Orders>::value == 120);
static_assert(mp::mp_size<mp::mp_unique<mp::mp_transform<configured, Orders>>>::value == 1);
static_assert(
    mp::mp_all_of_q<Orders, mp::mp_bind<std::is_same, mp::mp_bind<configured, mp::_1>, configured<Five>>>::value);

// ---- all twenty-two, forwards, backwards and turned
// ----------------------------------------------------------------------------
using All =
    mp::mp_list<Precision<fp16, fp32>, LossScale<Static<8>>, Checkpoint<Every<2>>, Batch<8>, Accumulate<2>,
                Clip<Norm<Ratio<1>>>, Optimizer<struct MyRule>, Loss<struct MyLoss>, Device<Cpu>, Target<targets::h200>,
                Communicator<Solo>, Shard<Replicated>, Seed<2>, Debug<Anomaly>, Freeze<struct MyLayer>, Init<Default>,
                Fusion<Unfused>, Attention<Tiled>, Convolution<>, World<1>, Steps<2>, Graph<Off>>;
template <class Turn>
using turned = mp::mp_rotate_left<All, Turn>;
using Turns = mp::mp_transform<turned, mp::mp_iota_c<mp::mp_size<All>::value>>;
static_assert(mp::mp_size<All>::value == mp::mp_size<detail::default_policies>::value);
static_assert(
    mp::mp_size<
        mp::mp_unique<mp::mp_push_back<mp::mp_transform<configured, Turns>, configured<mp::mp_reverse<All>>>>>::value ==
    1);

// ---- a recipe with parts replaced
// ---------------------------------------------------------------------------------------------
using Own = mp::mp_list<Batch<12>, Checkpoint<Every<2>>, Seed<3>>;
static_assert(std::is_same_v<MergedPolicies<Own>, Own>);
static_assert(std::is_same_v<configured<MergedPolicies<Own, Batch<8>>>,
                             ConfigurationOf<Batch<8>, Checkpoint<Every<2>>, Seed<3>>>);
static_assert(std::is_same_v<configured<MergedPolicies<Own, Precision<bf16, fp32>, Checkpoint<None>>>,
                             ConfigurationOf<Precision<bf16, fp32>, Batch<12>, Seed<3>>>);
template <class... Policies>
using verdict = std::bool_constant<Compatible<Policies...>>;
static_assert(!mp::mp_apply<verdict, MergedPolicies<Own, Every<2>>>::value);  // a mistake is handed on, not lost
static_assert(!mp::mp_apply<verdict, MergedPolicies<Own, Batch<8>, Batch<9>>>::value);
static_assert(mp::mp_apply<verdict, MergedPolicies<Own, Batch<8>>>::value);
