// Every pair of policies: two on one axis never compose; two on different axes do, but for the pairs listed here.
#include <regimen/layer/linear.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/rule/compose.hpp>

using namespace regimen;
namespace mp = boost::mp11;

template <class A, class B>
struct Pair;

using Fp16 = Precision<fp16, fp32>;
using Tpu = Target<targets::tpu_v3_core>;

using All =
    mp::mp_list<Precision<fp64>, Precision<fp32>, Precision<bf16, fp32>, Fp16,                                   //
                LossScale<None>, LossScale<Static<1024>>, LossScale<Dynamic>, LossScale<DynamicScale<256, 10>>,  //
                Checkpoint<None>, Checkpoint<Every<2>>, Checkpoint<Selective<Linear<4>>>,                        //
                Batch<8>, Batch<Largest>,                                                                        //
                Accumulate<1>, Accumulate<4>, Accumulate<4, ReduceEach>, SimulateWorld<4>,                       //
                Clip<None>, Clip<Norm<Ratio<1>>>,                                                                //
                Optimizer<AdamW>, Optimizer<Adam>, Optimizer<Sgd>, Optimizer<RmsProp>,                           //
                Loss<CrossEntropy>, Loss<MeanSquaredError>,                                                      //
                Device<Cpu>,                                                                                     //
                Target<targets::unlimited>, Target<targets::a100_40g>, Target<targets::host<8_GiB>>, Tpu,        //
                Communicator<Solo>, Communicator<Threads>, Communicator<Tcp>,                                    //
                Shard<Replicated>, Shard<ZeRO2>, Shard<ZeRO3>, World<1>, World<4>, Seed<7>,                      //
                Debug<None>, Debug<Anomaly>,                                                                     //
                Freeze<>, Freeze<Linear<4>>,                                                                     //
                Init<Default>, Fusion<Fused>, Fusion<Unfused>, Attention<>, Attention<Tiled>, Attention<Composed>,
                Attention<Cudnn>, Convolution<>, Convolution<Direct>, Convolution<Cudnn>>;

// These need a partner, and compose with no other policy alone.
using Alone = mp::mp_list<Fp16, LossScale<Static<1024>>, LossScale<Dynamic>, LossScale<DynamicScale<256, 10>>,
                          Batch<Largest>, Shard<ZeRO2>, Shard<ZeRO3>, World<4>, Accumulate<4, ReduceEach>,
                          Attention<Composed>, Attention<Cudnn>, Convolution<Direct>, Convolution<Cudnn>>;
using Partners = mp::mp_list<
    Pair<Fp16, LossScale<Static<1024>>>, Pair<Fp16, LossScale<Dynamic>>, Pair<Fp16, LossScale<DynamicScale<256, 10>>>,
    Pair<Batch<Largest>, Target<targets::a100_40g>>, Pair<Batch<Largest>, Target<targets::host<8_GiB>>>,
    Pair<Batch<Largest>, Tpu>, Pair<Shard<ZeRO2>, Communicator<Threads>>, Pair<Shard<ZeRO2>, Communicator<Tcp>>,
    Pair<Shard<ZeRO3>, Communicator<Threads>>, Pair<Shard<ZeRO3>, Communicator<Tcp>>,
    Pair<World<4>, Communicator<Threads>>, Pair<World<4>, Communicator<Tcp>>,
    Pair<Accumulate<4, ReduceEach>, Communicator<Threads>>, Pair<Accumulate<4, ReduceEach>, Communicator<Tcp>>>;
// These compose with others, and not with each other.
using Refused = mp::mp_list<Pair<Precision<fp64>, Tpu>>;

template <class List, class A, class B>
constexpr bool lists = mp::mp_contains<List, Pair<A, B>>::value || mp::mp_contains<List, Pair<B, A>>::value;
template <class P>
constexpr bool stands_alone = !mp::mp_contains<Alone, P>::value;

template <class A, class B>
constexpr bool expected = !std::is_same_v<typename A::axis, typename B::axis> &&
                          ((stands_alone<A> && stands_alone<B> && !lists<Refused, A, B>) || lists<Partners, A, B>);

template <class A, class B>
struct tested {
  static_assert(Compatible<A, B> == expected<A, B>, "the offenders stand in the line that names tested<...>");
  static constexpr std::size_t composes = Compatible<A, B> ? 1 : 0;
};

template <class A, class... Bs>
constexpr std::size_t row(mp::mp_list<Bs...>) {
  return (tested<A, Bs>::composes + ...);
}
template <class... As>
constexpr std::size_t table(mp::mp_list<As...>) {
  return (row<As>(All{}) + ...);
}

template <class P>
constexpr bool alone_as_expected = Compatible<P> == stands_alone<P>;
template <class... Ps>
constexpr bool each_alone(mp::mp_list<Ps...>) {
  return (alone_as_expected<Ps> && ...);
}
static_assert(each_alone(All{}));

static_assert(mp::mp_size<All>::value == 53);
// 40 stand alone: 40² ordered pairs, less those on one axis (100), less the refused (2), and the partners (28).
static_assert(table(All{}) == 40 * 40 - 100 - 2 + 28);
