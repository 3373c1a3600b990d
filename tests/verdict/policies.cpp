// What composes and what does not, as far as it can be said without a model.
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/decay.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/rule/compose.hpp>

#include <array>
#include <cstdint>
#include <ratio>
#include <string_view>
#include <type_traits>

using namespace regimen;

// ---- nothing, and everything
// --------------------------------------------------------------------------------------------------
static_assert(Compatible<>);
static_assert(Compatible<Fusion<Unfused>, Init<Default>, Freeze<Linear<4>>, Debug<Anomaly>, Seed<7>, Shard<Replicated>,
                         Communicator<Solo>, Target<targets::h200>, Device<Cpu>, Loss<MeanSquaredError>, Optimizer<Sgd>,
                         Clip<Norm<Ratio<1, 2>>>, Accumulate<4>, Batch<Largest>, Checkpoint<Every<2>>,
                         LossScale<Dynamic>, Precision<fp16, fp32>>);

// ---- precision
// ----------------------------------------------------------------------------------------------------------------
static_assert(Compatible<Precision<fp64>>);
static_assert(Compatible<Precision<fp32>>);
static_assert(Compatible<Precision<bf16, fp32>>);
static_assert(Compatible<Precision<bf16, fp32, bf16>>);
static_assert(Compatible<Precision<bf16, fp32, fp32>>);
static_assert(Compatible<mixed_bfloat16>);
static_assert(!Compatible<mixed_float16>);  // K1
static_assert(Compatible<mixed_float16, LossScale<Dynamic>>);
static_assert(Compatible<mixed_float16, LossScale<Static<1024>>>);
static_assert(Compatible<Precision<fp16, fp32, fp16>, LossScale<Dynamic>>);
static_assert(!Compatible<mixed_float16, LossScale<None>>);             // K1
static_assert(!Compatible<Precision<bf16, fp32>, LossScale<Dynamic>>);  // K2
static_assert(!Compatible<Precision<fp32>, LossScale<Static<8>>>);      // K2
static_assert(!Compatible<LossScale<Dynamic>>);                         // K2: the default is fp32
static_assert(!Compatible<Precision<bf16>>);                            // K18
static_assert(!Compatible<Precision<fp16>>);                            // K18
static_assert(!Compatible<Precision<fp16>, LossScale<Dynamic>>);        // K18
static_assert(!Compatible<Precision<fp32, bf16>>);
static_assert(!Compatible<Precision<fp64, fp32>>);
static_assert(!Compatible<Precision<fp64, bf16>>);
static_assert(!Compatible<Precision<fp32, fp64>>);
static_assert(!Compatible<Precision<bf16, fp64>>);
static_assert(!Compatible<Precision<bf16, fp32, fp16>>);
static_assert(!Compatible<Precision<fp32, fp32, bf16>>);
static_assert(!Compatible<Precision<fp64, fp64, fp32>>);
static_assert(!Compatible<Precision<int>>);
static_assert(!Compatible<Precision<mixed_bfloat16>>);
static_assert(std::is_same_v<mixed_bfloat16::reduce, fp32> && std::is_same_v<Precision<fp64>::master, fp64>);

// ---- loss scale: the defaults of its source
// -----------------------------------------------------------------------------------
static_assert(LossScale<Dynamic>::initial == 32768.0f && LossScale<Dynamic>::interval == 2000 &&
              LossScale<Dynamic>::dynamic);
static_assert(LossScale<Static<1024>>::initial == 1024.0f && !LossScale<Static<1024>>::dynamic &&
              LossScale<Static<1024>>::scales);
static_assert(LossScale<None>::initial == 1.0f && !LossScale<None>::scales);
static_assert(Compatible<mixed_float16, LossScale<DynamicScale<65536, 100>>>);
static_assert(Compatible<mixed_float16, LossScale<Static<1>>>);
static_assert(!Compatible<mixed_float16, LossScale<Static<0>>>);
static_assert(!Compatible<mixed_float16, LossScale<DynamicScale<0>>>);
static_assert(!Compatible<mixed_float16, LossScale<DynamicScale<1024, 0>>>);

// ---- checkpoint
// ---------------------------------------------------------------------------------------------------------------
static_assert(Compatible<Checkpoint<None>>);
static_assert(Compatible<Checkpoint<Every<1>>>);
static_assert(Compatible<Checkpoint<Every<1000>>>);
static_assert(Compatible<Checkpoint<Selective<Linear<4>>>>);
static_assert(!Compatible<Checkpoint<Every<0>>>);  // K9
static_assert(!Compatible<Checkpoint<Every<2>, KeepLast<1, bf16>>>);
static_assert(!Compatible<Checkpoint<Selective<>>>);
static_assert(!Compatible<Checkpoint<Offload>>);  // the CPU
static_assert(!Compatible<Checkpoint<Offload>, Batch<4>>);
static_assert(Compatible<Checkpoint<Budget<80_GiB>>> && Compatible<Checkpoint<Budget<1>>, Batch<4>>);
static_assert(!Compatible<Checkpoint<Budget<80_GiB>>, Batch<Largest>, Target<targets::h200>>);
static_assert(!Compatible<Checkpoint<Budget<80_GiB>, Every<1>>>);
static_assert(Compatible<Checkpoint<Every<2>, KeepLast<3>>> && !Compatible<Checkpoint<KeepLast<3>>>);
static_assert(Compatible<Checkpoint<KeepLast<3>, Selective<Linear<4>>, Every<1>>>);
static_assert(!Compatible<Checkpoint<Every<1>, KeepLast<2>, KeepLast<3>>>);
static_assert(Compatible<Checkpoint<KeepLast<3, Selective<Linear<4>>>>> &&
              Compatible<Checkpoint<Selective<Linear<4>>, KeepLast<3, Every<2>>>> &&
              Compatible<Checkpoint<Every<2>, KeepLast<3, Every<1>, KeepLast<1>>>>);
static_assert(!Compatible<Checkpoint<Every<2>, KeepLast<3, Every<1>, Every<2>>>> &&
              !Compatible<Checkpoint<Every<2>, KeepLast<3, Budget<1>>>> &&
              !Compatible<Checkpoint<Every<2>, KeepLast<3, Offload>>> &&
              !Compatible<Checkpoint<Every<2>, KeepLast<3, Every<0>>>>);
static_assert(Checkpoint<Every<2>, KeepLast<3>>::recomputes<Linear<4>> == false &&
              Checkpoint<Every<2>, KeepLast<3, Selective<Linear<4>>>>::Last::recomputes<Linear<4>>);
static_assert(Checkpoint<Every<2>, KeepLast<3>>::segment == 2 && Checkpoint<Every<2>, KeepLast<3>>::whole == 3);
static_assert(Checkpoint<None>::segment == 0 && Checkpoint<Every<3>>::segment == 3 &&
              Checkpoint<Selective<Linear<4>>>::segment == 0);
static_assert(Checkpoint<Selective<Linear<4>>>::recomputes<Linear<4>> &&
              !Checkpoint<Selective<Linear<4>>>::recomputes<Linear<5>>);
static_assert(!Checkpoint<None>::recomputes<Linear<4>> && !Checkpoint<Every<3>>::recomputes<Linear<4>>);

// ---- sizes
// --------------------------------------------------------------------------------------------------------------------
static_assert(Compatible<Batch<1>>);
static_assert(!Compatible<Batch<0>>);
static_assert(!Compatible<Batch<-1>>);
static_assert(!Compatible<Batch<true>>);
static_assert(!Compatible<Batch<Largest>>);  // of unlimited memory
static_assert(!Compatible<Batch<Largest>, Target<targets::unlimited>>);
static_assert(Compatible<Batch<Largest>, Target<targets::host<8_GiB>>>);
static_assert(Batch<Largest>::largest && Batch<Largest>::size == 0 && !Batch<7>::largest && Batch<7>::size == 7);
static_assert(Compatible<Accumulate<1>>);
static_assert(!Compatible<Accumulate<0>>);
static_assert(Compatible<Clip<Norm<Ratio<1>>>>);
static_assert(!Compatible<Clip<Norm<Ratio<0>>>>);
static_assert(!Compatible<Clip<Norm<Ratio<-1>>>>);
static_assert(!Compatible<Clip<Norm<Ratio<1, 0>>>>);
static_assert(!Compatible<Clip<Norm<std::ratio<1>>>>);
template <class Share>
constexpr bool smooths = Compatible<Loss<SmoothedCrossEntropy<Share>>>;
static_assert(smooths<Ratio<0>> && smooths<Ratio<9, 10>> && !smooths<Ratio<1>> && !smooths<Ratio<3, 2>> &&
              !smooths<Ratio<-1, 2>>);
static_assert(!smooths<Ratio<1, 0>> && !smooths<std::ratio<1, 10>> && !smooths<int>);
static_assert(Clip<Norm<Ratio<1, 4>>>::bound == 0.25f && Clip<Norm<Ratio<1, 4>>>::clips && !Clip<None>::clips);

// ---- declared, not built: refused, never ignored
// ------------------------------------------------------------------------------
static_assert(!Compatible<Device<Cuda>>);
static_assert(Compatible<Precision<tf32>> && Compatible<Precision<tf32, fp32>> && !Compatible<Precision<tf32, tf32>> &&
              !Compatible<Precision<tf32, fp32, tf32>> && !Compatible<Precision<tf32, fp64>> &&
              !Compatible<Precision<tf32, bf16>> && !Compatible<Precision<fp32, tf32>> &&
              !Compatible<Precision<tf32>, LossScale<Dynamic>> &&
              !Compatible<Precision<tf32>, Target<targets::tpu_v3_core>> &&
              Compatible<Precision<tf32>, Target<targets::h100>>);
static_assert(!Compatible<Precision<fp8_e4m3, fp32>> && !Compatible<Precision<bf16, fp32, fp8_e5m2>> &&
              !Compatible<tf32> && !Compatible<fp8_e5m2>);
static_assert(!Compatible<Communicator<Gloo>> && !Compatible<Communicator<Nccl>>);

// ---- ranks
// --------------------------------------------------------------------------------------------------------------------
static_assert(Compatible<Communicator<Threads>> && Compatible<Communicator<Mpi>> && Compatible<Communicator<Tcp>>);
static_assert(!Compatible<Shard<ZeRO1>> && !Compatible<Shard<ZeRO2>> && !Compatible<Shard<ZeRO3>> &&
              !Compatible<World<2>> && Compatible<World<1>>);
static_assert(Compatible<Shard<NoShard>> && Compatible<Shard<ShardGradOp>, Communicator<Tcp>> &&
              Compatible<Shard<FullShard>, Communicator<Mpi>>);
static_assert(std::is_same_v<NoShard, Replicated> && std::is_same_v<ShardGradOp, ZeRO2> &&
              std::is_same_v<FullShard, ZeRO3>);
static_assert(!Compatible<GlobalBatch<0>> && !Compatible<GlobalBatch<8>> && Compatible<GlobalBatch<8>, World<1>> &&
              !Compatible<GlobalBatch<8>, Batch<8>>);
static_assert(!Accumulate<2>::reduces_each(1) && Accumulate<2>::reduces_each(2) &&
              Accumulate<2, ReduceEach>::reduces_each(0) && !Accumulate<2, ReduceOnce>::reduces_each(3));
static_assert(!Compatible<Accumulate<2, ReduceOnce>> && !Compatible<Accumulate<2, ReduceEach>> &&
              Compatible<Accumulate<2, ReduceOnce>, Communicator<Tcp>> &&
              !Compatible<Accumulate<2, ReduceOnce, ReduceEach>, Communicator<Tcp>> &&
              !Compatible<Accumulate<2, ReduceEach, ReduceEach>, Communicator<Tcp>>);
static_assert(Compatible<SimulateWorld<4>> && !Compatible<SimulateWorld<0>> &&
              !Compatible<SimulateWorld<2>, Accumulate<2>> && SimulateWorld<4>::count == 4 &&
              !SimulateWorld<4>::reduces_each(3));
static_assert(!Compatible<World<0>> && !Compatible<World<2, 3>, Communicator<Tcp>> && Compatible<World<>>);
static_assert(!Compatible<Shard<ZeRO1>, Communicator<Tcp>, World<1>> &&
              !Compatible<Shard<Replicated, Bucket<1>>, Communicator<Tcp>, World<1>> &&
              Compatible<Shard<ZeRO1>, Communicator<Tcp>, World<2>> &&
              Compatible<Shard<Replicated>, Communicator<Tcp>, World<1>>);
static_assert(!Compatible<Precision<fp16, fp32, fp16>, LossScale<Dynamic>, Communicator<Threads>> &&
              Compatible<Precision<fp16, fp32, fp16>, LossScale<Dynamic>> &&
              Compatible<Precision<fp16, fp32>, LossScale<Dynamic>, Communicator<Threads>>);

// ---- switches
// -----------------------------------------------------------------------------------------------------------------
static_assert(Compatible<Debug<Anomaly>> && Compatible<Debug<None>> && Compatible<Debug<>>);
static_assert(!Compatible<Debug<None, Anomaly>>);
static_assert(Debug<Anomaly>::checks && Debug<Anomaly>::uses<Anomaly> && !Debug<None>::checks && !Debug<>::checks);
static_assert(Compatible<Freeze<>> && Freeze<Linear<4>>::freezes<Linear<4>> && !Freeze<Linear<4>>::freezes<Linear<5>>);
static_assert(Fusion<Fused>::fuses && !Fusion<Unfused>::fuses && Fusion<Fused>::epilogues);
static_assert(!Compatible<Target<targets::h100, Unaligned<Ratio<1>>>> && !Compatible<Target<targets::h100, fp32>> &&
              !Compatible<Target<Unaligned<Ratio<1>>>> && !Compatible<Target<targets::h100, Unaligned<int>>> &&
              !Compatible<Target<targets::h100, Unaligned<Ratio<1>>, Unaligned<Ratio<0>>>> &&
              !Compatible<Target<Unaligned<Ratio<1>>, targets::h100>> && !Compatible<Unaligned<Ratio<1>>>);
static_assert(Epilogue<Separate>::fuses && !Epilogue<Separate>::epilogues && Epilogue<Fused>::epilogues);
static_assert(!Compatible<Epilogue<Fused>> && !Compatible<Epilogue<Separate>> && !Compatible<Epilogue<Unfused>> &&
              !Compatible<Fusion<Separate>> && !Compatible<Separate> && !Compatible<Fusion<Fused>, Epilogue<Separate>>);
static_assert(Seed<42>::value == 42);

// ---- update rules of a user
// ---------------------------------------------------------------------------------------------------
template <std::size_t count, std::size_t names, std::size_t array>
struct Descent {
  struct Options {
    double learning_rate = 1;
  };
  static constexpr std::size_t states = count;
  static constexpr std::array<const char*, names> state_names{};
  template <class S>
  struct Coefficients {
    Coefficients(const Options&, const Scalars&) {}
  };
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  template <class V, class S>
  static void update(V&, V, V (&)[array], const Coefficients<S>&, bool) {}
};
struct Unnamed : Descent<1, 1, 1> {
  struct Options {
    double rate = 1;
  };
};
struct Idle {
  using Options = Descent<1, 1, 1>::Options;
  static constexpr std::size_t states = 0;
};
template <class Rule>
inline constexpr bool updates = Compatible<Optimizer<Rule>>;
static_assert(updates<Descent<1, 1, 1>> && updates<Descent<3, 3, 3>> && updates<Descent<0, 0, 1>>);
static_assert(!updates<Descent<2, 1, 2>> && !updates<Descent<2, 2, 1>> && !updates<Descent<1, 2, 1>> &&
              !updates<Descent<0, 0, 2>>);
static_assert(!updates<Unnamed> && !updates<Idle>);

// ---- what decays
// --------------------------------------------------------------------------------------------------------------
struct OfLinear {
  template <class Layer>
  static constexpr bool decays(const Parameter& parameter) {
    return parameter.rank > 1 && std::string_view(Layer::name) == "linear";
  }
};
struct OfNothing {};
template <class... Decays>
inline constexpr bool decays = Compatible<Optimizer<AdamW, Decays...>>;
static_assert(decays<> && decays<DecayProducts> && decays<DecayProductsAndTables> && decays<DecayAll> &&
              decays<OfLinear>);
static_assert(!decays<OfNothing> && !decays<AdamW> && !decays<Ratio<1, 10>> && !decays<int> &&
              !Compatible<Optimizer<DecayAll, AdamW>> && Compatible<Optimizer<Sgd, DecayAll>, Freeze<Linear<4>>>);
static_assert(std::is_same_v<ConfigurationOf<Optimizer<AdamW, DecayProducts>>, ConfigurationOf<>>);

// ---- a loss that couples samples, and a batch in pieces
// ------------------------------------------------------------------------
struct Undecided {
  using option_of = axis::loss;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
};
struct Contrast : Undecided {
  static constexpr bool couples_samples = true;
};
struct Apart : Undecided {
  static constexpr bool couples_samples = false;
};
static_assert(!Compatible<Loss<Undecided>> && Compatible<Loss<Contrast>> &&
              Compatible<Loss<Apart>, Accumulate<2>, Communicator<Tcp>>);
static_assert(!Compatible<Loss<Contrast>, Accumulate<2>> && !Compatible<Loss<Contrast>, SimulateWorld<2>> &&
              !Compatible<Loss<Contrast>, Communicator<Tcp>> &&
              !Compatible<Loss<Contrast>, Communicator<Tcp>, World<2>>);
static_assert(Compatible<Loss<Contrast>, Accumulate<1>, Communicator<Tcp>, World<1>>);

// ---- twice, equal or not (K13)
// ------------------------------------------------------------------------------------------------
static_assert(!Compatible<Batch<8>, Batch<16>>);
static_assert(!Compatible<Batch<8>, Seed<1>, Batch<8>>);
static_assert(!Compatible<Precision<fp32>, LossScale<None>, Precision<bf16, fp32>>);

// ---- what is not a policy
// -----------------------------------------------------------------------------------------------------
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
struct Elsewhere final {
  using axis = Net;  // nothing reads it
};
template <class... Arguments>
constexpr bool none_is_a_policy = (!Compatible<Arguments> && ...);
static_assert(
    none_is_a_policy<int, void, int&, const Batch<8>, Net, Elsewhere, bf16, fp16, fp32, fp64, None, Every<2>, Every<0>,
                     Selective<Linear<4>>, Offload, Budget<1>, KeepLast<2>, As<bf16, Linear<4>>, Static<8>, Dynamic,
                     DynamicScale<>, Norm<Ratio<1>>, Ratio<1>, AdamW, Sgd, CrossEntropy, MeanSquaredError, Cpu, Cuda,
                     targets::h200, targets::host<1>, Solo, Nccl, Replicated, ZeRO3, Hybrid<2>, Prefetch<0>, Threads,
                     Tcp, Mpi, Gloo, ReduceEach, ReduceOnce, Anomaly, Default, Fused, Unfused, Tiled, Composed, Cudnn,
                     Direct, OfDevice, Linear<4>, Sequential<Linear<4>>, Repeat<2, Linear<4>>>);

// ---- options under another policy
// ---------------------------------------------------------------------------------------------
static_assert(
    none_is_a_policy<Checkpoint<bf16>, Checkpoint<Dynamic>, LossScale<Every<2>>, LossScale<int>, Clip<Ratio<1>>,
                     Clip<Norm<int>>, Clip<Anomaly>, Device<Solo>, Device<None>, Communicator<Cpu>, Shard<Every<2>>,
                     Shard<ZeRO3, Every<2>>, Shard<ZeRO3, int>, Target<Cpu>, Target<int>, Debug<Fused>,
                     Debug<Anomaly, Unfused>, Init<None>, Init<AdamW>, Fusion<None>, Attention<Fused>, Attention<None>,
                     Attention<Direct>, Convolution<Tiled>, Convolution<Composed>, Convolution<None>,
                     Optimizer<CrossEntropy>, Optimizer<None>, Optimizer<bf16>, Loss<AdamW>, Loss<None>,
                     Accumulate<2, Every<2>>, Accumulate<2, int>, Loss<Linear<4>>>);

// ---- with a model
// -------------------------------------------------------------------------------------------------------------
static_assert(Composable<Net>);
static_assert(Composable<Net, Checkpoint<None>, Batch<8>>);
static_assert(Composable<Model<Input<Vector<8>>, Linear<4>>, Batch<8>>);
static_assert(!Composable<Net, Batch<0>>);
static_assert(!Composable<Batch<8>, Net>);
static_assert(!Composable<Linear<4>, Batch<8>>);
static_assert(!Composable<Net, Net>);
static_assert(!Composable<int>);
