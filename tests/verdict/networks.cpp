// Which networks compose: the shapes, names and lists of layers that users get wrong.
#include <regimen/layer/pool.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/loss/sum_of.hpp>

#include "support/model_recipe.hpp"

#include <ratio>

using namespace regimen;

namespace {

namespace mp = boost::mp11;

using Words = Vocabulary<16>;
using Table = Embedding<Words, 8>;
template <class... Layers>
struct Numbers : Model<Input<Vector<8>>, Layers...> {};
template <class... Layers>
struct Ids : Model<Input<Tokens<4>>, Table, Layers...> {};

template <class Network, class... Policies>
using broken = detail::broken_rules<Network, Policies...>;
template <class Network, class Rule, class... Policies>
inline constexpr bool breaks = std::is_same_v<broken<Network, Policies...>, boost::mp11::mp_list<Rule>>;

// beginnings
struct Headless : Model<Linear<7>> {};
struct Bare : Model<Vector<8>, Linear<7>> {};
struct Kindless : Model<Input<float>, Linear<7>> {};
static_assert(breaks<Headless, rule::model_begins_with_input<Headless>> &&
              breaks<Bare, rule::model_begins_with_input<Bare>>);
static_assert(breaks<Kindless, rule::input_takes_kind<float>>);

// lists
struct Mine {  // a layer of a user
  static constexpr const char* name = "mine";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
    static constexpr void backward(auto&, const auto&) {}
  };
};
struct OneWay {
  static constexpr const char* name = "one_way";
  [[maybe_unused]] static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = X;
    static constexpr void forward(auto&, const auto&) {}
  };
};
struct Rootless {
  static constexpr const char* name = "rootless";
  [[maybe_unused]] static constexpr bool couples_samples = false;
  template <class X, class Roles>
  struct Bound {};
};
struct Unsummed {  // a loss that cannot be computed
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
};
struct Coupled : Mine {  // one whose samples look at one another
  static constexpr bool couples_samples = true;
};
struct Undecided {
  static constexpr const char* name = "undecided";
  template <class X, class Roles>
  using Bound = Mine::Bound<X, Roles>;
};
struct Unfinished {
  static constexpr const char* name = "unfinished";
};
static_assert(Composable<Numbers<Mine, Linear<4>>> &&
              Composable<Numbers<Repeat<2, Residual<Mine>>, As<fp64, Mine>, Linear<4>>, Precision<fp64>>);
static_assert(breaks<Numbers<Residual<Undecided>, Linear<4>>, rule::coupling_is_declared<Undecided>>);
template <class... Policies>
using CutBy = rule::coupled_samples_stay_together<Coupled, typename ConfigurationOf<Policies...>::accumulate,
                                                  typename ConfigurationOf<Policies...>::communicator,
                                                  typename ConfigurationOf<Policies...>::world>;
template <class... Policies>
inline constexpr bool cut = breaks<Numbers<Repeat<2, Coupled>, Linear<4>>, CutBy<Policies...>, Policies...>;
static_assert(Composable<Numbers<Coupled, Linear<4>>> &&
              Composable<Numbers<Coupled, Linear<4>>, Communicator<Threads>, World<1>>);
static_assert(cut<Accumulate<2>> && cut<SimulateWorld<2>> && cut<Communicator<Threads>> &&
              cut<Communicator<Tcp>, World<2>>);
template <class Norm, class... Policies>
inline constexpr bool normalises = Composable<Numbers<Norm, Linear<4>>, Policies...>;
static_assert(normalises<BatchNorm<OverRanks>, Communicator<Threads>> && normalises<BatchNorm<OverRanks>> &&
              !normalises<BatchNorm<OverRanks>, Accumulate<2>> && !normalises<BatchNorm<OverRanks>, SimulateWorld<2>> &&
              !normalises<BatchNorm<OverRanks>, Accumulate<2>, Communicator<Threads>>);
static_assert(normalises<BatchNorm<PerMicroBatch, OverRanks>, Accumulate<2>, Communicator<Threads>> &&
              normalises<BatchNorm<PerMicroBatch>, SimulateWorld<2>> &&
              !normalises<BatchNorm<OverRanks, PerMicroBatch>, SimulateWorld<2>>);
/// An option of another layer is refused as such, whatever its numbers are; a program's own layer may have `options`.
static_assert(breaks<Numbers<GroupNorm<2, Rotary<>>, Linear<4>>, rule::group_norm_takes_option<Rotary<>>> &&
              breaks<Numbers<BatchNorm<KeyHeads<2>>, Linear<4>>, rule::batch_norm_takes_option<KeyHeads<2>>> &&
              breaks<Numbers<BatchNorm<Dropout<int>>, Linear<4>>, rule::batch_norm_takes_option<Dropout<int>>>);
/// A bias before BatchNorm: in every list, at a block's end for its beginning, and in sums.
struct Places;
using Norm = BatchNorm<>;
using Unbiased = Linear<8, NoBias>;
template <class Before, class Next = Norm>
inline constexpr bool unfelt = breaks<Numbers<Before, Next, Linear<4>>, rule::bias_is_felt<Before, Norm>>;
static_assert(unfelt<Linear<8>> && unfelt<Sequential<Unbiased, Linear<8>>> && unfelt<Checkpointed<Linear<8>>> &&
              unfelt<As<fp32, Relu, Linear<8>>> && unfelt<Shared<Places, Linear<8>>> &&
              unfelt<Repeat<3, Sequential<Relu, Linear<8>>>> &&
              unfelt<Fork<Add, Linear<8>, Sequential<Relu, Linear<8>>>>);
static_assert(unfelt<Linear<8>, As<fp32, Norm, Relu>> && unfelt<Linear<8>, Shared<Places, Norm>> &&
              unfelt<Linear<8>, Repeat<3, Sequential<Norm, Relu>>> && unfelt<As<fp32, Linear<8>>, As<fp32, Norm>>);
template <std::size_t count, class Norm_, class... Layers>
using Iterates = Numbers<Repeat<count, Sequential<Norm_, Layers...>>, Linear<4>>;
static_assert(breaks<Iterates<2, Norm, Linear<8>>, rule::bias_is_felt<Sequential<Norm, Linear<8>>, Norm>> &&
              breaks<Numbers<Repeat<2, Sequential<Norm, Linear<8>>>, Norm, Linear<4>>,
                     rule::bias_is_felt<Sequential<Norm, Linear<8>>, Norm>>);
static_assert(Composable<Iterates<1, Norm, Linear<8>>> && Composable<Iterates<2, Norm, Unbiased>> &&
              Composable<Iterates<2, BatchNorm<AfterBias>, Linear<8>>> &&
              Composable<Iterates<2, Norm, Linear<8>, Relu>>);
template <class Before, class Next = Norm>
inline constexpr bool follows = Composable<Numbers<Before, Next, Linear<4>>>;
struct Optioned : Mine {  // of a program, whose options are its own affair
  struct Options {
    bool bias;
  };
  static constexpr Options options{true};
};
static_assert(follows<Optioned>);
static_assert(follows<As<fp32, Unbiased>> && follows<As<fp32, Linear<8>, Relu>> && follows<Repeat<2, Unbiased>> &&
              follows<Residual<Linear<8>>> && follows<Fork<Add, Identity, Linear<8>>> &&
              follows<Fork<Multiply, Linear<8>, Linear<8>>> && follows<Shared<Places, Unbiased>> &&
              follows<Shared<Places, Linear<8>>, BatchNorm<AfterBias>> && follows<Linear<8>, Residual<Norm>>);
static_assert(breaks<Numbers<Residual<OneWay>, Linear<4>>, rule::layer_goes_both_ways<OneWay>>);
static_assert(breaks<Numbers<Rootless, Linear<4>>, rule::layer_goes_both_ways<Rootless>>);
static_assert(breaks<Numbers<Linear<4>>, rule::loss_is_whole<Unsummed, Value<fp32, Shape<4>>>, Loss<Unsummed>>);
using Wide = Linear<4, 8>;
using Flagged = Linear<4, false>;
static_assert(breaks<Numbers<Wide>, rule::linear_takes_one_width<Wide>> &&
              breaks<Numbers<Flagged>, rule::linear_takes_one_width<Flagged>>);
using Three = Repeat<3, Linear<8>, Relu>;
static_assert(breaks<Numbers<Three, Linear<4>>, rule::list_holds_layers<Three>>);
static_assert(breaks<Numbers<int>, rule::list_holds_layers<int>> &&
              breaks<Numbers<Linear<4>, int, int>, rule::list_holds_layers<int>>);
static_assert(breaks<Numbers<Unfinished, Linear<4>>, rule::list_holds_layers<Unfinished>>);
static_assert(breaks<Numbers<Linear<4>, Batch<8>>, rule::list_holds_layers<Batch<8>>>);
static_assert(breaks<Numbers<Input<Vector<8>>, Linear<4>>, rule::list_holds_layers<Input<Vector<8>>>>);
static_assert(breaks<Numbers<Linear<4>, Relu()>, rule::list_holds_layers<Relu()>>);
static_assert(breaks<Numbers<Sequential<int>, Linear<4>>, rule::list_holds_layers<int>>);
static_assert(breaks<Numbers<Residual<Linear<8>, int>, Linear<4>>, rule::list_holds_layers<int>>);
static_assert(breaks<Numbers<Repeat<2, int>, Linear<4>>, rule::list_holds_layers<int>>);
static_assert(breaks<Numbers<As<fp32, CrossEntropy>, Linear<4>>, rule::list_holds_layers<CrossEntropy>>);
static_assert(Composable<Numbers<Sequential<Linear<4>>>>);
static_assert(breaks<Numbers<>, rule::layers_one_to_255<Numbers<>, 0>>);
static_assert(breaks<Numbers<Sequential<>>, rule::layers_one_to_255<Numbers<Sequential<>>, 0>>);
static_assert(breaks<Numbers<Residual<>, Linear<4>>, rule::layers_one_to_255<Residual<>, 0>>);
static_assert(breaks<Numbers<Repeat<2, Sequential<>>, Linear<4>>, rule::layers_one_to_255<Repeat<2, Sequential<>>, 0>>);
static_assert(breaks<Numbers<As<fp32>, Linear<4>>, rule::layers_one_to_255<As<fp32>, 0>> &&
              breaks<Numbers<As<fp32, Sequential<>>, Linear<4>>, rule::layers_one_to_255<As<fp32, Sequential<>>, 0>> &&
              breaks<Numbers<Fork<Add, As<fp32>, Linear<8>>, Linear<4>>, rule::layers_one_to_255<As<fp32>, 0>>);
template <class... Branches>
inline constexpr bool lacks_a_branch =
    breaks<Numbers<Fork<Add, Branches...>, Linear<4>>, rule::layers_one_to_255<Fork<Add, Branches...>, 0>>;
static_assert(lacks_a_branch<Sequential<>, Linear<8>> && lacks_a_branch<Linear<8>, Sequential<Sequential<>>> &&
              lacks_a_branch<Sequential<>, Sequential<>> && !lacks_a_branch<Sequential<Identity>, Linear<8>>);
template <std::size_t depth>
struct nested {
  using type = Residual<typename nested<depth - 1>::type>;
};
template <>
struct nested<0> {
  using type = Linear<8>;
};
static_assert(Composable<Numbers<typename nested<6>::type>>);
static_assert(breaks<Numbers<typename nested<7>::type>, rule::levels_at_most_7<Numbers<typename nested<7>::type>, 8>>);
static_assert(breaks<Numbers<Repeat<2, typename nested<6>::type>>,
                     rule::levels_at_most_7<Numbers<Repeat<2, typename nested<6>::type>>, 8>>);

// shapes
static_assert(Composable<Numbers<Residual<Linear<16>, Relu, Linear<8>>, Linear<4>>>);
static_assert(breaks<Numbers<Residual<Linear<16>>, Linear<4>>, rule::residual_keeps_shape<Shape<8>, Shape<16>>>);
static_assert(breaks<Numbers<Repeat<2, Linear<16>>, Linear<4>>, rule::repeat_keeps_shape<Shape<8>, Shape<16>>>);
static_assert(breaks<Numbers<Linear<0>, Linear<4>>, rule::extents_at_least_one<Linear<0>, 0>>);
static_assert(breaks<Ids<SelfAttention<Heads<3>>, Linear<16>>, rule::heads_divide_width<Heads<3>, Shape<4, 8>>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, Dropout<Ratio<1, 2>>, Causal>, Linear<16>>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, QueryKeyNorm<>>, Linear<16>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, QueryKeyNorm<Epsilon<Ratio<0>>>>, Linear<16>>,
                     rule::epsilon_above_zero<Ratio<0>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, QueryKeyNorm<int>>, Linear<16>>,
                     rule::attention_takes_option<QueryKeyNorm<int>>>);
static_assert(Composable<Ids<SelfAttention<Heads<3>, HeadWidth<4>, KeyHeads<1>>, Linear<16>>>);
static_assert(
    breaks<Ids<SelfAttention<Heads<4>, KeyHeads<3>>, Linear<16>>, rule::key_heads_divide_heads<Heads<4>, KeyHeads<3>>>);
static_assert(
    breaks<Ids<SelfAttention<Heads<4>, KeyHeads<0>>, Linear<16>>, rule::key_heads_divide_heads<Heads<4>, KeyHeads<0>>>);
static_assert(
    breaks<Ids<SelfAttention<Heads<2>, HeadWidth<2049>>, Linear<16>>, rule::heads_at_most_2048<HeadWidth<2049>, 2049>>);
static_assert(breaks<Ids<SelfAttention<Heads<0>, HeadWidth<4>>, Linear<16>>, rule::extents_at_least_one<Heads<0>, 0>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, HeadWidth<3>, Rotary<>>, Linear<16>>,
                     rule::rotary_turns_pairs<HeadWidth<3>, 3>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, SlidingWindow<2>, Causal>, Linear<16>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, SlidingWindow<0>, Causal>, Linear<16>>,
                     rule::extents_at_least_one<SlidingWindow<0>, 0>>);
using Slides = SelfAttention<Heads<2>, SlidingWindow<2>>;
static_assert(breaks<Ids<Slides, Linear<16>>, rule::sliding_window_is_causal<Slides>>);
using SlidesTwice = SelfAttention<Heads<2>, Causal, SlidingWindow<2>, SlidingWindow<3>>;
static_assert(
    breaks<Ids<SlidesTwice, Linear<16>>, rule::attention_options_differ<Causal, SlidingWindow<2>, SlidingWindow<3>>>);
using Falls = SelfAttention<Heads<3>, HeadWidth<4>, Alibi, WithoutScale, SlidingWindow<2>, Causal>;
static_assert(Composable<Ids<Falls, Linear<16>>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, RelativeBias<>>, Linear<16>>>);
using FallsTwice = SelfAttention<Heads<2>, Alibi, RelativeBias<>>;
static_assert(breaks<Ids<FallsTwice, Linear<16>>, rule::attention_options_differ<Alibi, RelativeBias<>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, RelativeBias<5>>, Linear<16>>,
                     rule::relative_bias_has_buckets<RelativeBias<5>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, RelativeBias<2>>, Linear<16>>,
                     rule::relative_bias_has_buckets<RelativeBias<2>>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, WithoutProjectionBias, Causal>, Linear<16>>>);
using NoBiasTwice = SelfAttention<Heads<2>, WithoutBias, WithoutProjectionBias>;
static_assert(breaks<Ids<NoBiasTwice, Linear<16>>, rule::attention_options_differ<WithoutBias, WithoutProjectionBias>>);
template <class... Options>
inline constexpr bool sees_later =
    rule::looks_ahead<detail::layers_in<boost::mp11::mp_list<SelfAttention<Heads<2>, Options...>>>>;
static_assert(sees_later<Alibi> && sees_later<RelativeBias<4, 3, int>> && !sees_later<Alibi, Causal>);
static_assert(rule::looks_ahead<detail::layers_in<boost::mp11::mp_list<Residual<GroupNorm<2>, Linear<8>>>>>);
struct Ended : NamedLength<4> {};
template <class Length, class... Options>
using Limited = Model<Input<Tokens<4>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 12>,
                      SelfAttention<Heads<2>, Options...>, Linear<16>>;
static_assert(Composable<Limited<Ended, Within<Ended>>> && sees_later<Within<Ended>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, Within<Ended>>, Linear<16>>, rule::named_value_is_kept<Ended, false>>);
static_assert(breaks<Limited<int, Within<int>>, rule::within_names_length<int>>);
static_assert(breaks<Limited<Ended, Causal, Within<Ended>>,
                     rule::within_looks_ahead<SelfAttention<Heads<2>, Causal, Within<Ended>>>>);
struct Ended5 : NamedLength<5> {};
static_assert(
    breaks<Limited<Ended5, Within<Ended5>>, rule::length_counts_its_text<KeepLength<Ended5, PaddedWith<0>>, 4, 5>>);
/// Behind a layer that changes the number of positions.
template <class Length, class... Layers>
using Halved = Model<Input<Tokens<4>>, KeepLength<Ended, PaddedWith<0>>, Embedding<Vocabulary<16>, 12>, Layers...,
                     SelfAttention<Heads<2>, Within<Length>>, Linear<16>>;
static_assert(Composable<Halved<Ended, Conv1d<12, 3, Padding<1>>>>);
static_assert(breaks<Halved<Ended, Conv1d<12, 2, Stride<2>>>,
                     rule::within_ends_its_keys<SelfAttention<Heads<2>, Within<Ended>>, 2, 4>>);
template <class End>
using PaddedBy = Model<Input<Tokens<4>>, KeepLength<Ended, End>, Embedding<Vocabulary<16>, 12>,
                       SelfAttention<Heads<2>, Within<Ended>>, Linear<16>>;
static_assert(Composable<PaddedBy<PaddedWith<15>>>);
static_assert(breaks<PaddedBy<PaddedWith<16>>, rule::padding_is_a_token<PaddedWith<16>, 16>>);
static_assert(breaks<PaddedBy<PaddedWith<-1>>, rule::padding_is_a_token<PaddedWith<-1>, 16>>);
static_assert(breaks<PaddedBy<int>, rule::padding_is_a_token<int, 16>>);
/// A source of 4 tokens of 16 and a target of 6 of 9: a length of each, for the attention to each.
struct EndedTarget : NamedLength<6> {};
struct EndedSource : NamedValue<Shape<4, 12>> {};
template <class OfSource, class Among, class Across_, std::int32_t pads_source = 15, std::int32_t pads_target = 8>
using TwoEnds =
    Model<Input<Bundle<Tokens<4>, Tokens<6>>>,
          Fork<Last,
               Sequential<Part<0>, KeepLength<Ended, PaddedWith<pads_source>>, Embedding<Vocabulary<16>, 12>,
                          SelfAttention<Heads<2>, OfSource>, Keep<EndedSource>>,
               Sequential<Part<1>, KeepLength<EndedTarget, PaddedWith<pads_target>>, Embedding<Vocabulary<9>, 12>,
                          SelfAttention<Heads<2>, Among>, CrossAttention<EndedSource, Heads<2>, Across_>>>,
          Linear<16>>;
static_assert(Composable<TwoEnds<Within<Ended>, Within<EndedTarget>, Within<Ended>>>);
static_assert(breaks<TwoEnds<Within<Ended>, Within<Ended>, Within<Ended>>,
                     rule::within_ends_its_keys<SelfAttention<Heads<2>, Within<Ended>>, 6, 4>>);
static_assert(breaks<TwoEnds<Within<Ended>, Within<EndedTarget>, Within<EndedTarget>>,
                     rule::within_ends_its_keys<CrossAttention<EndedSource, Heads<2>, Within<EndedTarget>>, 4, 6>>);
static_assert(breaks<TwoEnds<Within<Ended>, Within<EndedTarget>, Within<Ended>, 15, 9>,
                     rule::padding_is_a_token<PaddedWith<9>, 9>>);
static_assert(breaks<TwoEnds<Within<Ended>, Within<EndedTarget>, Within<Ended>, 16, 8>,
                     rule::padding_is_a_token<PaddedWith<16>, 16>>);
/// Two lengths of one text end at one token.
struct EndedToo : NamedLength<4> {};
template <std::int32_t first, std::int32_t second>
using PaddedTwice =
    Model<Input<Bundle<Tokens<4>, Tokens<6>>>,
          Fork<ConcatAlong<0>,
               Sequential<Part<0>, KeepLength<Ended, PaddedWith<first>>, Embedding<Vocabulary<16>, 12>,
                          SelfAttention<Heads<2>, Within<Ended>>>,
               Sequential<Part<0>, KeepLength<EndedToo, PaddedWith<second>>, Embedding<Vocabulary<16>, 12>,
                          SelfAttention<Heads<2>, Within<EndedToo>>>,
               Sequential<Part<1>, KeepLength<EndedTarget, PaddedWith<1>>, Embedding<Vocabulary<9>, 12>>>,
          Linear<16>>;
static_assert(Composable<PaddedTwice<15, 15>>);
static_assert(breaks<PaddedTwice<15, 0>, rule::one_token_pads_a_text<PaddedWith<15>, PaddedWith<0>>>);
static_assert(breaks<PaddedTwice<1, 15>, rule::one_token_pads_a_text<PaddedWith<1>, PaddedWith<15>>>);
/// A shorter source is one whose padding some attention does not see.
template <class Network>
inline constexpr std::int32_t pads = rule::two_texts<typename rule::parts_t<Network>::Layers>::padding;
static_assert(pads<TwoEnds<Within<Ended>, Within<EndedTarget>, Within<Ended>>> == 15);
static_assert(pads<TwoEnds<Within<Ended>, Causal, Dropout<Ratio<1, 2>>>> == 15);
static_assert(pads<TwoEnds<Dropout<Ratio<1, 2>>, Causal, Within<Ended>>> == 15);
static_assert(pads<TwoEnds<Dropout<Ratio<1, 2>>, Within<EndedTarget>, Dropout<Ratio<1, 2>>>> == -1);
struct Other : NamedValue<Shape<4, 6>> {};
template <class... Options>
using Across = CrossAttention<Other, Options...>;
template <class... Layers>
using Asks = Ids<Linear<6>, Keep<Other>, Linear<12>, Layers..., Linear<16>>;
static_assert(Composable<Asks<Across<Heads<2>, KeyHeads<1>, HeadWidth<5>, WithoutBias, Dropout<Ratio<1, 2>>>>>);
static_assert(breaks<Asks<Across<Heads<2>, Rotary<>>>, rule::cross_attention_takes_option<Rotary<>>>);
static_assert(
    breaks<Asks<Across<Heads<2>, WithoutProjectionBias>>, rule::cross_attention_takes_option<WithoutProjectionBias>>);
static_assert(Composable<Asks<Across<Heads<2>, QueryKeyNorm<>, WithoutScale>>>);
static_assert(breaks<Asks<Across<Heads<2>, Alibi>>, rule::cross_attention_takes_option<Alibi>>);
static_assert(breaks<Asks<Across<Causal, Heads<2>>>, rule::cross_attention_takes_option<Causal>>);
static_assert(breaks<Asks<Across<Heads<5>>>, rule::heads_divide_width<Heads<5>, Shape<4, 12>>>);
static_assert(breaks<Asks<Across<Heads<2>, KeyHeads<3>>>, rule::key_heads_divide_heads<Heads<2>, KeyHeads<3>>>);
static_assert(
    breaks<Asks<Across<Heads<2>, WithoutBias, WithoutBias>>, rule::attention_options_differ<WithoutBias, WithoutBias>>);
static_assert(breaks<Ids<Across<Heads<2>>, Linear<16>>, rule::named_value_is_kept<Other, false>>);
using Twice = SelfAttention<Heads<2>, Dropout<Ratio<1, 2>>, Causal, Dropout<Ratio<0>>>;
static_assert(
    breaks<Ids<Twice, Linear<16>>, rule::attention_options_differ<Dropout<Ratio<1, 2>>, Causal, Dropout<Ratio<0>>>>);
using Attends = SelfAttention<Heads<2>, Causal, Causal>;
static_assert(breaks<Ids<Attends, Linear<16>>, rule::attention_options_differ<Causal, Causal>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, Dropout<int>>, Linear<16>>, rule::fraction_is_a_ratio<int>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, WithoutBias, Rotary<>, Causal>, Linear<16>>>);
static_assert(breaks<Ids<SelfAttention<Heads<8>, Rotary<>>, Linear<16>>, rule::rotary_turns_pairs<Heads<8>, 1>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, Rotary<Ratio<0>>>, Linear<16>>, rule::theta_above_zero<Ratio<0>>>);
static_assert(Composable<Ids<SelfAttention<Heads<2>, Rotary<Ratio<500'000>, Llama3Scaling<>>>, Linear<16>>>);
static_assert(
    breaks<Ids<SelfAttention<Heads<2>, Rotary<Ratio<10>, Relu>>, Linear<16>>, rule::rotary_scales_frequencies<Relu>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, Rotary<int>>, Linear<16>>, rule::theta_above_zero<int>>);
static_assert(breaks<Numbers<Dropout<std::ratio<1, 2>>, Linear<4>>, rule::fraction_is_a_ratio<std::ratio<1, 2>>>);
static_assert(breaks<Numbers<Dropout<Ratio<1, 0>>, Linear<4>>, rule::rate_below_one<Ratio<1, 0>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>, Relu>, Linear<16>>, rule::attention_takes_option<Relu>>);
static_assert(breaks<Ids<Linear<4>, TiedLinear<Table>>, rule::inner_extent_matches<Shape<4, 8>, Shape<4, 4>>>);

/// Layers of positions, of vectors and of images: one mistake, whatever else they refuse.
template <class Layer>
inline constexpr bool wants_positions =
    breaks<Numbers<Layer, Linear<4>>, rule::layer_takes_positions<Layer, Shape<8>>> &&
    breaks<Model<Input<Image<4, 6, 8>>, Layer, MeanPool, Linear<4>>,
           rule::layer_takes_positions<Layer, Shape<4, 6, 8>>>;
static_assert(wants_positions<SelfAttention<Heads<2>>> && wants_positions<SelfAttention<Heads<2>, Causal>> &&
              wants_positions<ClassToken> && wants_positions<TakeFirst> && wants_positions<PositionEmbedding> &&
              wants_positions<SinusoidalPositions> && wants_positions<SinusoidalPositionsWith<SinesFirst>> &&
              wants_positions<Lstm<4>>);
static_assert(
    breaks<Halved<Ended, Flatten>, rule::layer_takes_positions<SelfAttention<Heads<2>, Within<Ended>>, Shape<48>>>);
template <class Layer>
inline constexpr bool pools =
    Composable<Ids<Layer, Linear<4>>> && Composable<Model<Input<Image<4, 6, 8>>, Layer, Linear<4>>> &&
    Composable<Model<Input<Volume<4, 6, 3, 8>>, Layer, Linear<4>>> &&
    breaks<Numbers<Layer, Linear<4>>, rule::layer_takes_positions<Layer, Shape<8>, 4>>;
static_assert(pools<MeanPool> && pools<GlobalMaxPool>);
template <class Layer>
inline constexpr bool takes_numbers = breaks<Model<Input<Tokens<4>>, Layer, Embedding<Vocabulary<9>, 8>, Linear<9>>,
                                             rule::input_matches<Value<std::int32_t, Shape<4>>, Layer>>;
static_assert(takes_numbers<MeanPool> && takes_numbers<PositionEmbedding> && takes_numbers<Lstm<4>>);
struct Flat : NamedValue<Shape<8>> {};
template <class Layer>
using AsksFlat = Model<Input<Bundle<Vector<8>, Series<4, 8>>>,
                       Fork<Last, Sequential<Part<0>, Keep<Flat>>, Sequential<Part<1>, Layer>>, Linear<4>>;
static_assert(breaks<AsksFlat<CrossAttention<Flat, Heads<2>>>,
                     rule::layer_takes_positions<CrossAttention<Flat, Heads<2>>, Shape<8>>>);

// tied tables: twice the same is one table
static_assert(Composable<Ids<LayerNorm, TiedLinear<Table>>>);
static_assert(Composable<Ids<TiedLinear<Table>, Linear<8>, TiedLinear<Table>>>);
static_assert(Composable<Ids<MeanPool, Fork<Concat, Identity, TiedLinear<Table>>>>);  // the rank of the input
static_assert(breaks<Ids<TiedLinear<Embedding<Words, 4>>>, rule::tied_layer_exists<Embedding<Words, 4>>>);
static_assert(breaks<Ids<Linear<8>, TiedLinear<Linear<8>>>, rule::tied_layer_exists<Linear<8>, true>>);

// sets of shared weights: one list for a name, one type, one shape of each weight
struct Tower;
struct Other;
template <class... Layers>
using Set = Shared<Tower, Layers...>;
static_assert(Composable<Numbers<Fork<Add, Set<Linear<4>, Relu>, Set<Linear<4>, Relu>>>>);
static_assert(
    Composable<Numbers<Repeat<3, Set<Residual<Linear<8>>>>, Shared<Other, Set<Residual<Linear<8>>>>, Linear<4>>>);
static_assert(Composable<Ids<Fork<ConcatAlong<0>, Sequential<SliceAlong<0, 0, 1>, Set<Linear<4>>>, Set<Linear<4>>>>>);
static_assert(breaks<Numbers<Set<Linear<4>>, Set<Linear<4>, Relu>>,
                     rule::shared_layers_agree<Tower, Set<Linear<4>>, Set<Linear<4>, Relu>>>);
static_assert(breaks<Numbers<Linear<8>, Set<Linear<8>>, As<fp32, Set<Linear<8>>>, Linear<4>>,
                     rule::shared_places_share_a_type<Tower, false>, Precision<bf16, fp32>>);
static_assert(breaks<Numbers<Set<Linear<4>>, Set<Linear<4>>>, rule::shared_keeps_parameters<Tower, false>>);
static_assert(breaks<Numbers<Set<>, Linear<4>>, rule::layers_one_to_255<Set<>, 0>>);

// names
static_assert(breaks<Numbers<Linear<4>>, rule::every_at_most_depth<Checkpoint<Every<1>>, 0>, Checkpoint<Every<1>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>>, Linear<16>>, rule::selective_names_a_layer<SelfAttention<Heads<2>>>,
                     Checkpoint<Selective<SelfAttention<Heads<2>>>>>);
static_assert(breaks<Ids<SelfAttention<Heads<2>>, Linear<16>>, rule::freeze_names_a_layer<SelfAttention<Heads<2>>>,
                     Freeze<SelfAttention<Heads<2>>>>);

// numbers that wrap around are no plan
static_assert(breaks<Numbers<Linear<(std::size_t{1} << 62)>, Linear<4>>,
                     rule::bytes_can_be_counted<Numbers<Linear<(std::size_t{1} << 62)>, Linear<4>>, Batch<32>>>);
static_assert(breaks<Numbers<Linear<4>>, rule::bytes_can_be_counted<Numbers<Linear<4>>, Batch<(1ull << 60)>>,
                     Batch<(1ull << 60)>>);
static_assert(!Composable<Numbers<Linear<4>>, Batch<~0ull>> &&
              !Composable<Numbers<Linear<4>>, Accumulate<~std::size_t{0}>>);
static_assert(!Composable<Numbers<Repeat<(std::size_t{1} << 50), Residual<Linear<8>>>, Linear<4>>> &&
              Composable<Numbers<Repeat<1000, Residual<Linear<8>>>, Linear<4>>>);

// what is frozen had weights, and what is left trains
static_assert(Composable<Numbers<Linear<8>, Relu, Linear<4>>, Freeze<Linear<8>>>);
static_assert(
    breaks<Numbers<Linear<8>, Relu, Linear<4>>, rule::frozen_layer_has_weights<Relu, false>, Freeze<Linear<8>, Relu>>);
static_assert(breaks<Numbers<Linear<8>, Relu, Linear<4>>,
                     rule::something_trains<Numbers<Linear<8>, Relu, Linear<4>>, 0>, Freeze<Linear<8>, Linear<4>>>);
static_assert(breaks<Numbers<Relu>, rule::something_trains<Numbers<Relu>, 0>, Loss<MeanSquaredError>>);
static_assert(Composable<Ids<LayerNorm, TiedLinear<Table>>, Freeze<Table>>);

// outputs and losses: a regression on tokens is one, too
static_assert(Composable<Ids<Linear<16>>, Loss<MeanSquaredError>>);
static_assert(Composable<Numbers<Linear<1>>, Loss<MeanSquaredError>> && !Composable<Numbers<Linear<1>>>);
static_assert(Composable<Numbers<Linear<2>>, Loss<SoftCrossEntropy>> &&
              !Composable<Numbers<Linear<1>>, Loss<SoftCrossEntropy>>);
static_assert(Composable<Numbers<Linear<6>>, Loss<NtXent<>>> && !Composable<Numbers<Linear<5>>, Loss<NtXent<>>> &&
              Composable<Numbers<Linear<6>>, Loss<NtXent<>>, Communicator<Threads>, Shard<ZeRO3>> &&
              !Composable<Numbers<Linear<6>>, Loss<NtXent<>>, Accumulate<2>> &&
              !Composable<Numbers<Linear<6>>, Loss<NtXent<>>, SimulateWorld<2>> &&
              !Composable<Numbers<Linear<6>>, Loss<NtXent<Ratio<0>>>>);
static_assert(Composable<Numbers<As<bf16, Linear<8>>, Linear<4>>, Precision<bf16, fp32>>);
static_assert(breaks<Numbers<Sequential<Linear<8>, As<bf16, Linear<4>>>>, rule::final_output_at_least_fp32<bf16>,
                     Precision<bf16, fp32>>);
// The innermost As at the end is what is meant, whatever list it stands in, also where an output is one of several.
static_assert(breaks<Numbers<As<fp32, Checkpointed<Relu, As<bf16, Linear<4>>>>>, rule::final_output_at_least_fp32<bf16>,
                     Precision<bf16, fp32>>);
static_assert(Composable<Numbers<As<bf16, Relu, Sequential<As<fp32, Linear<4>>>>>, Precision<bf16, fp32>>);
template <class... Layers>
inline constexpr bool ends_in_two =
    Composable<Numbers<Layers...>, Precision<bf16, fp32>, Loss<SumOf<MeanSquaredError, MeanSquaredError>>>;
static_assert(ends_in_two<Linear<4>, Checkpointed<Relu, Fork<Outputs, Linear<2>, As<fp32, Linear<3>>>>> &&
              !ends_in_two<Linear<4>, Sequential<Relu, Fork<Outputs, Linear<2>, As<bf16, Linear<3>>>>> &&
              !ends_in_two<Linear<4>, Checkpointed<Relu, Fork<Outputs, Linear<2>, As<bf16, Linear<3>>>>> &&
              !ends_in_two<Checkpointed<Fork<Outputs, Linear<2>, Linear<3>>>, Fork<Outputs, Linear<2>, Linear<3>>>);
static_assert(breaks<Numbers<As<fp8_e5m2, Linear<8>>, Linear<4>>, rule::element_type_is_built<fp8_e5m2>>);
static_assert(
    Composable<Numbers<As<tf32, Linear<8>>, As<tf32, Linear<4>>>> &&
    Composable<Numbers<As<tf32, Linear<8>>, Linear<4>>, Precision<bf16, fp32>> &&
    Composable<Numbers<As<bf16, Linear<8>>, Linear<4>>, Precision<tf32>> &&
    breaks<Numbers<As<tf32, Linear<8>>, Linear<4>>, rule::as_fits_precision<tf32, Precision<fp64>>, Precision<fp64>>);
static_assert(breaks<Numbers<As<None, Linear<8>>, Linear<4>>, rule::as_takes_element_type<None>>);

// a last layer and the loss that computes it itself, or whose logits it cuts off: in every sequence, under every wrapper
template <class Loss_, class... Layers>
using Ends = broken<Numbers<Linear<8>, Layers...>, Loss<Loss_>>;
template <template <class, class> class Rule, class Refused, class Layer, class Loss_ = Refused>
inline constexpr bool refuses_end =
    std::is_same_v<Ends<Loss_, Linear<4>, Layer>, mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Linear<4>, Sequential<Layer>, Identity>, mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Linear<8>, Layer, Dropout<Ratio<1, 2>>, Slice<2, 4>>,
                   mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Residual<Layer>, Checkpointed<Linear<4>, As<fp32, Layer>>, Flatten>,
                   mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Shared<Places, Linear<4>, Repeat<2, Sequential<Linear<4>, Layer>>>>,
                   mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Fork<Last, Linear<3>, Sequential<Linear<4>, Layer>>>,
                   mp::mp_list<Rule<Refused, Layer>>> &&
    std::is_same_v<Ends<Loss_, Fork<Concat, Layer, Fork<ConcatAlong<0>, Layer, Sequential<Linear<4>, Layer>>>>,
                   mp::mp_list<Rule<Refused, Layer>>> &&
    mp::mp_empty<Ends<Loss_, Fork<Last, Sequential<Linear<4>, Layer>, Linear<4>>>>::value &&
    mp::mp_empty<Ends<Loss_, Fork<Concat, Sequential<Linear<4>, Layer>, Linear<4>>>>::value &&
    mp::mp_empty<Ends<Loss_, Residual<Layer>>>::value && mp::mp_empty<Ends<Loss_, Layer, Linear<4>>>::value;
using Smoothed = SmoothedCrossEntropy<Ratio<1, 10>>;
static_assert(refuses_end<rule::softmax_is_in_the_loss, CrossEntropy, Softmax> &&
              refuses_end<rule::softmax_is_in_the_loss, Smoothed, Softmax, Summed<Smoothed>> &&
              refuses_end<rule::softmax_is_in_the_loss, SoftCrossEntropy, Softmax> &&
              refuses_end<rule::softmax_is_in_the_loss, Masked<SoftCrossEntropy>, Softmax> &&
              refuses_end<rule::softmax_is_in_the_loss, SampleWeighted<CrossEntropy>, Softmax,
                          Summed<SampleWeighted<CrossEntropy>>>);
static_assert(refuses_end<rule::sigmoid_is_in_the_loss, BinaryCrossEntropy, Sigmoid> &&
              refuses_end<rule::sigmoid_is_in_the_loss, Masked<BinaryCrossEntropy>, Sigmoid> &&
              refuses_end<rule::sigmoid_is_in_the_loss, SampleWeighted<BinaryCrossEntropy>, Sigmoid>);
static_assert(refuses_end<rule::logits_take_both_signs, CrossEntropy, Sigmoid> &&
              refuses_end<rule::logits_take_both_signs, BinaryCrossEntropy, Softmax> &&
              refuses_end<rule::logits_take_both_signs, Smoothed, Relu> &&
              refuses_end<rule::logits_take_both_signs, Masked<BinaryCrossEntropy>, Relu>);
using Classes = Sequential<Linear<4>, Softmax>;
using Questions = Sequential<Linear<4>, Sigmoid>;
static_assert(
    breaks<Numbers<Sequential<Fork<Outputs, Classes, Questions>>>, rule::softmax_is_in_the_loss<CrossEntropy, Softmax>,
           Loss<SumOf<CrossEntropy, MeanSquaredError>>> &&
    breaks<Numbers<Fork<Outputs, Classes, Questions>>, rule::sigmoid_is_in_the_loss<BinaryCrossEntropy, Sigmoid>,
           Loss<Summed<SumOf<MeanSquaredError, Weighted<BinaryCrossEntropy, Ratio<1, 2>>>>>> &&
    breaks<Numbers<Linear<4>, Softmax, Fork<Outputs, Linear<4>, Identity>>,
           rule::softmax_is_in_the_loss<CrossEntropy, Softmax>, Loss<SumOf<MeanSquaredError, CrossEntropy>>> &&
    Composable<Numbers<Linear<4>, Softmax, Fork<Outputs, Identity, Linear<4>>>,
               Loss<SumOf<MeanSquaredError, CrossEntropy>>> &&
    Composable<Numbers<Fork<Outputs, Classes, Questions>>, Loss<SumOf<MeanSquaredError, Huber<>>>>);
/// What stays: probabilities beside targets that are numbers, logits with bounds, embeddings, and inference.
struct Capped {  // 30 tanh(x / 30)
  static constexpr const char* name = "capped";
  static constexpr bool couples_samples = false;
  template <class X, class Roles>
  using Bound = Mine::Bound<X, Roles>;
};
static_assert(mp::mp_empty<Ends<MeanSquaredError, Linear<4>, Softmax>>::value &&
              mp::mp_empty<Ends<Masked<Huber<>>, Linear<4>, Sigmoid>>::value &&
              mp::mp_empty<Ends<MeanSquaredError, Linear<4>, Relu>>::value &&
              mp::mp_empty<Ends<NtXent<>, Linear<4>, Relu>>::value &&
              mp::mp_empty<Ends<CrossEntropy, Linear<4>, Capped>>::value &&
              mp::mp_empty<Ends<CrossEntropy, Linear<4>, Tanh>>::value &&
              mp::mp_empty<Ends<BinaryCrossEntropy, Linear<4>, Tanh>>::value);
template <class... Layers>
using InferenceOf = decltype(rule::rules_of_model<Numbers<Layers...>, ConfigurationOf<>, false>());
static_assert(mp::mp_empty<InferenceOf<Linear<4>, Softmax>>::value);

// not even one sample fits
static_assert(!Composable<Numbers<Linear<4096>, Linear<4>>, Batch<Largest>, Target<targets::host<64_KiB>>>);

}  // namespace
// SPDX-License-Identifier: Apache-2.0
