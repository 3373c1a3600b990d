// tests/random/lists.hpp — what random programs are made of: a new layer or policy joins by one line here.
#pragma once

#include <regimen/engine/cpu/kernels.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/add_bias.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/layer/times_root_width.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/decay.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/programs/initial.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/model_rules.hpp>

#include "random/draw.hpp"
#include "support/whole_tensor_rules.hpp"

namespace regimen::random {

// ---- layers: what can be drawn at a place, and what comes of it

/// So many layers, drawn one behind the other: see program.hpp.
///   keeps    the rank of the shape
///   closes   with a Linear where the shape has changed, so that it is the first one's again
template <class Parent, std::size_t count, bool keeps, bool closes>
struct Chain;

/// A layer without options that reads numbers.
template <class Layer>
struct Plain {
  template <class At>
  static constexpr bool fits = At::reads_numbers;
  template <class At>
  using make = Leaf<Layer, At>;
};
/// Whether a value has a length and channels; a layer that takes positions, where it has, or another.
template <class At>
inline constexpr bool has_positions = At::X::Shape::rank == 2;
template <class At, class Layer, class Otherwise>
using of_positions = std::conditional_t<has_positions<At>, Layer, Otherwise>;
template <class Layer>
inline constexpr bool takes_positions =
    std::is_same_v<Layer, PositionEmbedding> || std::is_same_v<Layer, SinusoidalPositionsWith<SinesFirst>>;
/// One of several such layers: the first half of the time.
template <class First, class... Others>
struct OneOf {
  template <class At>
  static constexpr bool fits = At::reads_numbers;
  template <class At>
  using drawn =
      mp::mp_at_c<mp::mp_list<First, Others...>, At::below(5, 2) == 0 ? 0 : 1 + At::below(6, sizeof...(Others))>;
  template <class At>
  using make = Leaf<std::conditional_t<takes_positions<drawn<At>>, of_positions<At, drawn<At>, First>, drawn<At>>, At>;
};
/// Of all samples together, or of some channels of each.
struct AnyGroupedNorm {
  template <class At>
  static constexpr bool fits = At::reads_numbers;
  template <class At>
  static constexpr std::size_t groups =
      At::X::columns % (1 + At::below(0, 4)) == 0 ? 1 + At::below(0, 4) : At::X::columns;
  template <class At>
  using OfBatch = std::conditional_t<At::below(7, 2) == 0, BatchNorm<PerMicroBatch, OverRanks, AfterBias>,
                                     BatchNorm<PerMicroBatch, AfterBias>>;
  template <class At>
  using make = Leaf<std::conditional_t<At::below(5, 2) == 0, OfBatch<At>, GroupNorm<groups<At>>>, At>;
};
/// A layer of a frozen backbone, with the norm behind it, whose statistics stay.
template <class Layer>
struct OfBackbone : Layer {
  using Norm = BatchNorm<PerMicroBatch, AfterBias>;
  using Layers = mp::mp_list<Frozen<KeepStatistics, mp::mp_front<typename Layer::Layers>, Norm>>;
  using leaves = mp::mp_push_back<typename Layer::leaves, Norm>;
  using weighted = mp::mp_push_back<typename Layer::weighted, Norm>;
};
struct AnyLinear {
  template <class At>
  static constexpr bool fits = At::reads_numbers;
  template <class At, std::size_t width =
                          At::below(0, 2) == 0 ? At::X::columns : At::one_of(1, {1, 2, 3, 4, 5, 8, 9, 16, 17, 33})>
  using drawn = Leaf<std::conditional_t<At::below(5, 4) == 0, Linear<width, NoBias>, Linear<width>>, At>;
  template <class At>
  using make = std::conditional_t<At::below(8, 10) == 0, OfBackbone<drawn<At>>, drawn<At>>;
};
struct AnyDropout {
  template <class At>
  static constexpr bool fits = At::reads_numbers;
  template <class At>
  using make = Leaf<std::conditional_t<At::below(5, 3) == 0, DropPath<Ratio<1, static_cast<long>(2 + At::below(0, 7))>>,
                                       Dropout<Ratio<1, static_cast<long>(2 + At::below(0, 7))>>>,
                    At>;
};
struct AnyEmbedding {
  template <class At>
  static constexpr bool fits = !At::reads_numbers;
  template <class At>
  using make = Leaf<typename At::Table, At>;
};
template <class Table, class X>
inline constexpr bool ties =
    X::columns == Table::template Bound<Value<std::int32_t, Shape<1>>, DrawnRoles>::Output::columns;
template <class X>
inline constexpr bool ties<void, X> = false;
struct AnyTiedLinear {
  template <class At>
  static constexpr bool fits = At::reads_numbers && ties<typename At::Table, typename At::X>;
  template <class At>
  using make = Leaf<TiedLinear<typename At::Table>, At>;
};
/// What changes the number of positions.
struct AnyFlatten {
  template <class At>
  static constexpr bool fits = At::reads_numbers && !At::keeps;
  template <class At>
  static constexpr std::size_t patch = At::X::Shape::rank != 3                                                ? 0
                                       : At::X::Shape::extent(0) % 2 == 0 && At::X::Shape::extent(1) % 2 == 0 ? 2
                                                                                                              : 1;
  template <class At, std::size_t size = (patch<At> > 0 ? patch<At> : 1)>
  using Pool = mp::mp_at_c<mp::mp_list<AveragePool<size>, AveragePool<3, Stride<2>, Padding<1>>>, At::below(7, 2)>;
  template <class At, std::size_t size = (patch<At> > 0 ? patch<At> : 1)>
  using Smaller = mp::mp_at_c<mp::mp_list<Downsample<size>, Downsample<size, Bilinear>>, At::below(7, 2)>;
  template <class At>
  using Larger = mp::mp_at_c<mp::mp_list<Upsample<2>, Upsample<2, Bilinear>>, At::below(7, 2)>;
  template <class At, std::size_t size = (patch<At> > 0 ? patch<At> : 1)>
  using OfImage = mp::mp_at_c<mp::mp_list<Patches<size>, Pool<At>, Larger<At>, Smaller<At>>, At::below(6, 4)>;
  template <class At>
  using Chosen = mp::mp_at_c<
      mp::mp_list<Flatten, Flatten, Flatten, std::conditional_t<(At::X::Shape::rank > 1), MeanPool, Flatten>,
                  of_positions<At, TakeFirst, Flatten>, of_positions<At, ClassToken, Flatten>,
                  std::conditional_t<(patch<At> > 0), OfImage<At>, Flatten>>,
      At::below(5, 7)>;
  template <class At>
  using make = Leaf<Chosen<At>, At>;
};
/// Keeps height and width where the rank must be kept: a Linear behind it makes up for channels alone.
struct AnyConv {
  template <class At>
  static constexpr bool fits = At::reads_numbers && (At::X::Shape::rank == 3 || At::X::Shape::rank == 4);
  template <class At, std::size_t in, std::size_t channels = At::one_of(0, {1, 2, 3, 4, 6, 9})>
  using Same = mp::mp_at_c<
      mp::mp_list<Conv2d<channels, 1>, Conv2d<channels, 3, Padding<1>>, Conv2d<channels, 3, Padding<2>, Dilation<2>>,
                  Conv2d<2 * in, 3, NoBias, Padding<1>, Groups<in>>, Conv2d<in, KernelSize<5>, Groups<in>, Padding<2>>>,
      At::below(1, 5)>;
  template <class At, std::size_t in>
  using Other = mp::mp_at_c<mp::mp_list<Conv2d<At::one_of(0, {1, 2, 3, 4}), KernelSize<2, 3>, Padding<1>, Stride<2>>,
                                        Conv2d<in, 3, Stride<2>, Padding<1>, Groups<in>, NoBias>>,
                            At::below(5, 2)>;
  template <class At, std::size_t in>
  using Any =
      std::conditional_t<At::below(7, 3) == 0,
                         ConvTranspose2d<At::one_of(0, {1, 2, 3, 4}), KernelSize<3, 2>, Stride<2>>, Other<At, in>>;
  template <class At, bool is_volume>
  struct drawn {
    using type =
        std::conditional_t<At::keeps || At::below(6, 2) == 0, Same<At, At::X::columns>, Any<At, At::X::columns>>;
  };
  template <class At>
  struct drawn<At, true> {
    static constexpr std::size_t channels = At::one_of(0, {1, 2, 3, 4, 6}), in = At::X::columns;
    using Same = mp::mp_at_c<mp::mp_list<Conv3d<channels, 3, Padding<1>>, Conv3d<channels, KernelSize<1, 1, 1>>,
                                         Conv3d<2 * in, 3, NoBias, Padding<2>, Dilation<2>, Groups<in>>>,
                             At::below(1, 3)>;
    using type = std::conditional_t<At::keeps || At::below(6, 2) == 0, Same,
                                    Conv3d<channels, KernelSize<2, 3, 1>, Padding<1>, Stride<2>>>;
  };
  template <class At>
  using make = Leaf<typename drawn<At, At::X::Shape::rank == 4>::type, At>;
};
/// Of channels.
struct AnySlice {
  template <class At>
  static constexpr bool fits = At::reads_numbers && At::X::columns > 1;
  template <class At, std::size_t begin = At::below(0, At::X::columns)>
  using make = Leaf<Slice<begin, 1 + At::below(1, At::X::columns - begin)>, At>;
};
/// A convolution of positions.
template <class At, std::size_t channels, std::size_t in>
using AnyConv1d =
    mp::mp_at_c<mp::mp_list<Conv1d<channels, 3, Padding<1>>, Conv1d<channels, 2, CausalPadding, Dilation<2>, NoBias>,
                            Conv1d<in, 3, CausalPadding, Groups<in>>, Conv1d<channels, 1>,
                            std::conditional_t<At::keeps, Conv1d<channels, 5, Padding<2>>,
                                               Conv1d<channels, 2, Padding<1>, Stride<2>>>>,
                At::below(10, 5)>;
/// One of two layers without options, or half of the time a recurrent one or a convolution, where that has positions.
template <class Layer, class Other = Layer>
struct OrRecurrent {
  template <class At>
  static constexpr bool fits = At::reads_numbers && (has_positions<At> || !takes_positions<Layer>);
  template <class At, std::size_t width>
  using Recurrent = mp::mp_at_c<mp::mp_list<Lstm<width>, Gru<width>, Lstm<width, NoBias>, Gru<width, NoBias>>,
                                (At::below(5, 8) < 4 ? 0 : At::below(5, 8) - 4)>;
  template <class At, std::size_t width, std::size_t which>
  struct drawn {
    using type = std::conditional_t<At::below(9, 3) == 0, AnyConv1d<At, width, At::X::columns>, Recurrent<At, width>>;
  };
  template <class At, std::size_t width, std::size_t which>
    requires(which < 4)
  struct drawn<At, width, which> {
    using type = mp::mp_at_c<mp::mp_list<Layer, Other>, which % 2>;
  };
  template <class At, std::size_t width = At::below(0, 2) == 0 ? At::X::columns : At::one_of(1, {1, 2, 3, 5, 8, 9})>
  using make = Leaf<typename drawn<At, width, At::below(5, At::X::Shape::rank == 2 ? 8 : 2)>::type, At>;
};
/// The name of the length of the program's text.
template <std::size_t Positions>
struct TextLength final : NamedLength<Positions> {};
template <class Length, std::size_t rows, bool chosen>
using EndsWithin = std::conditional_t<(chosen && regimen::detail::positions_of<Length> == rows),
                                      mp::mp_list<Within<Length>>, mp::mp_list<>>;

/// The name of a table of distances, for each place that draws one.
template <Id id>
struct Distances;
struct AnyAttention {
  template <class At>
  static constexpr bool fits = At::reads_numbers && has_positions<At>;
  template <class At>
  static constexpr std::size_t heads = At::X::columns % (1 + At::below(0, 4)) == 0 ? 1 + At::below(0, 4) : 1;
  using options =
      mp::mp_list<Often<2, mp::mp_list<>>, Often<3, mp::mp_list<Causal>>, Often<1, mp::mp_list<Dropout<Ratio<1, 4>>>>,
                  Often<2, mp::mp_list<Dropout<Ratio<1, 5>>, Causal>>>;
  template <bool chosen, class Option>
  using If = std::conditional_t<chosen, mp::mp_list<Option>, mp::mp_list<>>;
  template <class At>
  static constexpr bool is_wide = At::below(8, 5) == 0;
  template <class At>
  static constexpr bool is_even = is_wide<At> || At::X::columns / heads<At> % 2 == 0;
  template <class At>
  using more = mp::mp_append<
      If<is_even<At> && At::below(5, 3) == 0, Rotary<Ratio<20>>>, If<At::below(6, 4) == 0, WithoutBias>,
      If<At::below(6, 12) == 1, WithoutProjectionBias>, If<At::below(7, 3) == 0, KeyHeads<(heads<At> == 4 ? 2 : 1)>>,
      If<is_wide<At>, HeadWidth<6>>, If<At::below(9, 4) == 0, QueryKeyNorm<Epsilon<Ratio<1, 100>>>>,
      If<At::below(12, 8) == 0, Alibi>, If<At::below(12, 8) == 1, RelativeBias<4, 3>>,
      If<At::below(12, 8) == 2, RelativeBias<6, 5, Distances<At::id>>>, If<At::below(13, 6) == 0, WithoutScale>>;
  template <class Options>
  using causal = mp::mp_contains<Options, Causal>;
  template <class At, class Options>
  using with_window =
      mp::mp_append<Options, If<causal<Options>::value && At::below(10, 3) == 0, SlidingWindow<1 + At::below(11, 4)>>,
                    EndsWithin<typename At::Length, At::X::rows, (!causal<Options>::value && At::below(14, 4) != 0)>>;
  template <class At>
  using make =
      Opaque<mp::mp_apply<SelfAttention,
                          mp::mp_append<mp::mp_list<Heads<heads<At>>>, more<At>,
                                        with_window<At, picked<typename At::Source, At::id, 1, always, options>>>>,
             At>;
  template <class At>
  using within =
      Opaque<mp::mp_apply<SelfAttention, mp::mp_append<mp::mp_list<Heads<heads<At>>, Within<typename At::Length>>,
                                                       more<At>, If<At::below(15, 3) == 0, Dropout<Ratio<1, 4>>>>>,
             At>;
};

// Combinators. Inside of them all is drawn again.
template <class Parent, template <class...> class Combinator, class Inner>
using AroundDrawn = std::conditional_t<
    mp::mp_empty<typename Inner::Layers>::value, Nothing<Parent>,
    std::conditional_t<Parent::Source::has(unwrapped | Parent::id),
                       Drawn<mp::mp_apply<Combinator, typename Inner::Layers>, typename Inner::Out,
                             typename Inner::leaves, typename Inner::weighted,
                             mp::mp_push_front<typename Inner::ids, std::integral_constant<Id, Parent::id>,
                                               std::integral_constant<Id, (unwrapped | Parent::id)>>>,
                       Inner>>;
template <class Parent, template <class...> class Combinator, std::size_t count, bool keeps, bool closes>
using Around = AroundDrawn<Parent, Combinator, Chain<Parent, count, keeps, closes>>;
inline constexpr std::size_t deepest = 3;

/// A set of weights for each place that draws one: in one place, or in several that are one layer together.
template <Id id>
struct Set;
template <Id id, std::size_t form>
struct OfSet {
  template <class... Layers>
  using One = Shared<Set<id>, Layers...>;
  template <class... Layers>
  using of = mp::mp_at_c<mp::mp_list<One<Layers...>, Sequential<One<Layers...>, One<Layers...>>,
                                     Fork<Multiply, One<Layers...>, One<Layers...>>>,
                         form>;
};
/// Statistics stay half of the time, where there are some.
template <class Layer>
using has_statistics = mp::mp_bool<requires { Layer::takes_pieces; }>;
template <bool keeps>
struct Held {
  template <class... Layers>
  using of = mp::mp_if_c<keeps && mp::mp_any_of<detail::layers_in<mp::mp_list<Layers...>>, has_statistics>::value,
                         Frozen<KeepStatistics, Layers...>, Frozen<Layers...>>;
};
struct AnySequential {
  template <class At>
  static constexpr bool fits = At::level < deepest;
  template <class At, bool is_set>
  struct drawn {
    using type = Around<At, Sequential, 1 + At::below(0, 3), At::keeps, false>;
  };
  template <class At>
  struct drawn<At, true> {
    using type = Around<At, OfSet<At::id, 0>::template of, 1 + At::below(0, 3), At::keeps, false>;
  };
  template <class At>
    requires(At::below(9, 4) == 0)
  struct drawn<At, false> {
    using type = Around<At, Checkpointed, 1 + At::below(0, 3), At::keeps, false>;
  };
  template <class At>
    requires(At::below(9, 8) == 1)
  struct drawn<At, false> {
    using type = Around<At, Held<At::below(10, 2) == 0>::template of, 1 + At::below(0, 3), At::keeps, false>;
  };
  template <class At>
  using make = typename drawn<At, At::below(3, 3) == 0>::type;
};
/// A layer that stands for several.
template <class... Layers>
struct block {
  using type = Sequential<Layers...>;
};
template <class Layer>
struct block<Layer> {
  using type = Layer;
};

/// A branch of a Fork: layers, or nothing but its input. Its id is that of a layer, one digit longer than the Fork's.
///   closes   ends with the shape of the Fork's input
template <class Parent, std::size_t index, bool closes, class Here>
struct DrawnBranch {
  using Inner = Chain<Here, 1 + Here::below(0, 2), true, closes>;
  static constexpr bool is_input =
      mp::mp_empty<typename Inner::Layers>::value || (closes && index == 0 && Parent::below(3, 2) == 0);
  struct Bare {
    using Layers = mp::mp_list<Identity>;
    using Out = typename Parent::X;
    using leaves = mp::mp_list<>;
    using weighted = mp::mp_list<>;
    using ids = mp::mp_list<>;
  };
  using Chosen = std::conditional_t<is_input, Bare, Inner>;
  // What closes a chain is a Linear; a third of the branches then end with a layer that reads its own output in backward.
  static constexpr bool reads_output = closes && !is_input && Here::below(9, 3) == 0;
  using Layer = typename mp::mp_apply<
      block,
      mp::mp_append<typename Chosen::Layers, std::conditional_t<reads_output, mp::mp_list<Relu>, mp::mp_list<>>>>::type;
  using Out = Value<fp32, typename Chosen::Out::Shape>;
};
template <class Parent, std::size_t index, bool closes>
using Branch = DrawnBranch<Parent, index, closes,
                           At<typename Parent::Source, Parent::id * 16 + index + 1, typename Parent::X,
                              typename Parent::Table, typename Parent::Length, Parent::level, true>>;
template <class Parent, class Join, class... Branches>
using Joined =
    Drawn<Fork<Join, typename Branches::Layer...>, typename Join::template of<typename Branches::Out...>::Output,
          mp::mp_append<typename Branches::Chosen::leaves...>, mp::mp_append<typename Branches::Chosen::weighted...>,
          mp::mp_append<mp::mp_list<std::integral_constant<Id, Parent::id>>, typename Branches::Chosen::ids...>>;
/// Of two branches or three, which are added, multiplied, or concatenated in any number of channels.
template <class Parent, std::size_t join = Parent::below(4, 5), bool has_third = Parent::below(5, 3) == 0>
using DrawnFork = mp::mp_apply<
    Joined, mp::mp_append<mp::mp_list<Parent, mp::mp_at_c<mp::mp_list<Add, Add, Multiply, Multiply, Concat>, join>,
                                      Branch<Parent, 0, (join < 4)>, Branch<Parent, 1, (join < 4)>>,
                          std::conditional_t<has_third, mp::mp_list<Branch<Parent, 2, (join < 4)>>, mp::mp_list<>>>>;

/// A Residual, or another Fork.
struct AnyFork {
  template <class At>
  static constexpr bool fits = At::reads_numbers && At::level < deepest;
  template <class At, bool is_residual>
  struct drawn {
    using type = Around<At, Residual, 1 + At::below(0, 3), true, true>;
  };
  template <class At>
  struct drawn<At, false> {
    using type = DrawnFork<At>;
  };
  template <class At>
  using make = typename drawn<At, At::below(2, 2) == 0>::type;
};
/// A name for each place.
template <Id id, class TensorShape>
struct Kept final : NamedValue<TensorShape> {};
/// A value that is kept, layers, and who reads it: once, or in each iteration of a Repeat, or by attention to its
/// positions. No Keep stands in one.
struct AnyNamed {
  template <class At, class Name, bool attends>
  struct reader {
    using type = mp::mp_at_c<
        mp::mp_list<Residual<Read<Name>>, Fork<Multiply, Identity, Read<Name>>, Repeat<2, Residual<Read<Name>>>>,
        At::below(1, 3)>;
    using leaves = mp::mp_list<Keep<Name>, Read<Name>>;
  };
  template <class At, class Name>
  struct reader<At, Name, true> {
    using Plain =
        mp::mp_append<mp::mp_list<Name, Heads<2>, KeyHeads<1 + At::below(3, 2)>, HeadWidth<1 + At::below(4, 3)>>,
                      EndsWithin<typename At::Length, At::X::rows, (At::below(14, 4) != 0)>>;
    using Attention = mp::mp_apply<
        CrossAttention,
        std::conditional_t<At::below(5, 3) == 0, mp::mp_push_back<Plain, QueryKeyNorm<Epsilon<Ratio<1, 100>>>>, Plain>>;
    using type =
        mp::mp_at_c<mp::mp_list<Residual<Attention>, Repeat<2, Residual<LayerNorm, Attention>>>, At::below(1, 2)>;
    using leaves = mp::mp_list<Keep<Name>>;
  };
  template <class At>
  static constexpr bool fits = At::reads_numbers && At::level == 1;
  template <class At, bool attends, class Inner = Chain<At, 1 + At::below(0, 3), true, true>,
            class Name = Kept<At::id, typename At::X::Shape>, class Reader = reader<At, Name, attends>>
  using read_by =
      Drawn<mp::mp_apply<Sequential, mp::mp_append<mp::mp_list<Keep<Name>>, typename Inner::Layers,
                                                   mp::mp_list<typename Reader::type>>>,
            typename At::X, mp::mp_append<typename Inner::leaves, typename Reader::leaves>, typename Inner::weighted,
            mp::mp_push_front<typename Inner::ids, std::integral_constant<Id, At::id>>>;
  template <class At>
  using make = read_by<At, has_positions<At> && At::below(2, 4) == 0>;
};
/// Attention to positions whose text has a length, in place of what was drawn, now and then: of the same value, or of one
/// that is kept.
struct AnyWithin {
  template <class At>
  static constexpr bool fits =
      At::reads_numbers && has_positions<At> && regimen::detail::positions_of<typename At::Length> == At::X::rows &&
      At::below(16, 4) == 0;
  template <class At, bool crosses>
  struct drawn {
    using type = AnyAttention::within<At>;
  };
  template <class At>
  struct drawn<At, true> {
    using type = AnyNamed::read_by<At, true>;
  };
  template <class At>
  using make = typename drawn<At, AnyNamed::fits<At> && At::below(17, 2) == 0>::type;
};
/// Blocks of their own weights, or of a set's.
template <std::size_t Count, Id id, std::size_t form>
struct Repeated {
  template <class... Layers>
  using of = Repeat<Count, typename OfSet<id, form>::template of<Layers...>>;
};
template <std::size_t Count, Id id>
struct Repeated<Count, id, 3> {
  template <class... Layers>
  using of = Repeat<Count, typename block<Layers...>::type>;
};
struct AnyRepeat {
  template <class At>
  static constexpr bool fits = At::reads_numbers && At::level < deepest;
  template <class At>
  using make =
      Around<At,
             Repeated<At::one_of(1, {1, 2, 3, 4, 5}), At::id, (At::below(3, 6) < 3 ? At::below(3, 6) : 3)>::template of,
             1 + At::below(0, 3), true, true>;
};
/// In a type that fits the program's: fp64 does not mix with others, and fp16 needs a loss scale.
template <class Compute, std::size_t Which>
using as_type = std::conditional_t<
    std::is_same_v<Compute, fp64>, fp64,
    mp::mp_at_c<mp::mp_list<fp32, tf32, bf16, std::conditional_t<std::is_same_v<Compute, fp16>, fp16, bf16>>, Which>>;
template <class T>
struct In {
  template <class... Layers>
  using of = As<T, Layers...>;
};
struct AnyAs {
  template <class At>
  static constexpr bool fits = At::level < deepest;
  template <class At>
  using make = Around<At, In<as_type<typename At::Source::compute, At::below(1, 4)>>::template of, 1 + At::below(0, 2),
                      At::keeps, false>;
};

using Layers = mp::mp_list<Often<5, AnyLinear>, Often<1, OneOf<Relu, HardSwish>>,
                           Often<1, OneOf<Silu, Sigmoid, Tanh, Softmax>>, Often<2, OrRecurrent<Gelu>>,
                           Often<1, Plain<GeluTanh>>, Often<2, OneOf<LayerNorm, LayerNormWith<Epsilon<Ratio<1, 100>>>>>,
                           Often<1, OneOf<RmsNorm, RmsNormWith<Epsilon<Ratio<1, 100>>>, LayerScale<Ratio<3, 4>>,
                                          AddBias, TimesRootWidth, SinusoidalPositionsWith<SinesFirst>>>,
                           Often<2, AnyAttention>, Often<8, AnyEmbedding>,
                           Often<1, OrRecurrent<PositionEmbedding, SinusoidalPositions>>, Often<3, AnyTiedLinear>,
                           Often<2, AnyDropout>, Often<1, AnyGroupedNorm>, Often<1, AnyFlatten>,
                           Often<2, AnySequential>, Often<4, AnyFork>, Often<4, AnyRepeat>, Often<1, AnyNamed>,
                           Often<2, AnySlice>, Often<2, AnyAs>, Often<4, AnyConv>>;

// ---- inputs

template <std::size_t words, std::size_t channels, bool pads, std::size_t token>
struct TableOf {
  using type = Embedding<Vocabulary<words>, channels>;
};
template <std::size_t words, std::size_t channels, std::size_t token>
struct TableOf<words, channels, true, token> {
  using type = Embedding<Vocabulary<words>, channels, PaddedWith<static_cast<std::int32_t>(token)>>;
};
struct AnyTokens {
  template <class At>
  using make = Tokens<At::one_of(0, {1, 2, 3, 5, 8})>;
  template <class At>  // sometimes as many words as channels: then a tied layer keeps the shape; now and then one pads
  using Table = typename TableOf<At::one_of(1, {2, 4, 5, 11}), At::one_of(2, {1, 2, 4, 6, 8, 12, 17}),
                                 At::below(7, 3) == 0, At::below(8, At::one_of(1, {2, 4, 5, 11}))>::type;
};
struct AnyVector {
  template <class At>
  using make = Vector<At::one_of(0, {1, 2, 5, 8, 19})>;
  template <class>
  using Table = void;
};
/// Now and then frames of them.
struct AnyImage {
  template <class At, std::size_t height = 1 + At::below(0, 3), std::size_t width = 1 + At::below(1, 3),
            std::size_t channels = At::one_of(2, {1, 2, 3, 6})>
  using make = std::conditional_t<At::below(5, 3) == 0, Volume<1 + At::below(6, 3), height, width, channels>,
                                  Image<height, width, channels>>;
  template <class>
  using Table = void;
};
/// The input alone, or one of two: numbers are then read behind others, tokens alone.
template <class Kind_, bool has_other>
struct Beside {
  using Kind = Kind_;
  using Layers = mp::mp_list<>;
  using X = typename Kind::template value<fp32>;
};
template <class Kind_>
struct Beside<Kind_, true> {
  using Kind = Bundle<Vector<2>, Kind_>;
  using Layers = mp::mp_list<Part<1>>;
  using X = typename Kind_::template value<fp32>;
};
template <std::size_t N>
struct Beside<Vector<N>, true> {
  using Kind = Bundle<Tokens<3>, Vector<N>, Vector<3>>;
  using Layers = mp::mp_list<Fork<Concat, Part<2>, Part<1>>>;
  using X = Value<fp32, Shape<N + 3>>;
};
using Inputs = mp::mp_list<Often<4, AnyTokens>, Often<2, AnyVector>, Often<1, AnyImage>>;

// ---- outputs

template <class X>
struct OneOutput {
  using Layers = mp::mp_list<>;
  using Out = X;
};
/// What the layers make, and three columns more.
template <class X>
struct TwoOutputs {
  using Layers = mp::mp_list<Fork<Outputs, Identity, Linear<3>>>;
  using Out =
      Value<fp32, JoinedShapes<typename X::Shape, typename regimen::detail::with_columns<typename X::Shape, 3>::type>>;
};

// ---- policies: a list of choices for each axis, in the order in which they are drawn; a choice may decide
// neighbouring axes with it

/// Policies that do not look at the model.
template <class... Policies>
struct Say {
  template <class>
  static constexpr bool fits = true;
  template <class>
  using make = mp::mp_list<Policies...>;
};
/// One of several update rules, and what decays.
template <class... UpdateRules>
struct SayRule {
  template <class>
  static constexpr bool fits = true;
  template <class Model>
  using make = mp::mp_list<
      Optimizer<mp::mp_at_c<mp::mp_list<UpdateRules...>, Model::Source::below(of_policy, 11, sizeof...(UpdateRules))>,
                mp::mp_at_c<mp::mp_list<DecayProducts, DecayProductsAndTables, DecayAll>,
                            Model::Source::below(of_policy, 22, 3)>>>;
};
/// Now and then its targets have weights.
template <class Model, class Function>
using Weighed = std::conditional_t<Model::Source::below(of_policy, 16, 4) == 0, SampleWeighted<Function>, Function>;
/// Or its sum.
template <class Function>
struct SayLoss {
  template <class Model>
  static constexpr bool fits = rule::accepts_output<Function, typename Model::Out>();
  template <class Model>
  using make = mp::mp_list<Loss<std::conditional_t<Model::Source::below(of_policy, 15, 3) == 0,
                                                   Summed<Weighed<Model, Function>>, Weighed<Model, Function>>>>;
};
/// A loss of classes, which are distributions now and then.
struct SayClasses {
  template <class Model>
  static constexpr bool fits = rule::accepts_output<CrossEntropy, typename Model::Out>();
  template <class Model>
  using make = mp::mp_list<Loss<
      std::conditional_t<Model::Source::below(of_policy, 9, 4) == 0, SoftCrossEntropy, Weighed<Model, CrossEntropy>>>>;
};
/// A loss of single elements, some of which may be absent; or one of views of a sample, where it has two.
struct SayPointwise {
  template <class Model>
  static constexpr bool fits = rule::accepts_output<MeanSquaredError, typename Model::Out>();
  template <class Model>
  using Plain = std::conditional_t<Model::Source::below(of_policy, 8, 3) == 0, BinaryCrossEntropy, MeanSquaredError>;
  template <class Model>
  static constexpr bool is_contrast =
      Model::Source::below(of_policy, 14, 3) == 0 && rule::accepts_output<NtXent<>, typename Model::Out>();
  template <class Model>
  using make =
      mp::mp_list<Loss<std::conditional_t<is_contrast<Model>, NtXent<>,
                                          std::conditional_t<Model::Source::below(of_policy, 13, 3) == 0,
                                                             Masked<Plain<Model>>, Weighed<Model, Plain<Model>>>>>>;
};
/// A loss of each of two outputs.
struct SaySum {
  template <class Model>
  static constexpr bool fits = regimen::detail::is_joined<typename Model::Out::Shape>;
  template <class Model, class First = Value<fp32, typename Model::Out::Shape::template at<0>>>
  using make = mp::mp_list<Loss<
      SumOf<std::conditional_t<rule::accepts_output<CrossEntropy, First>(), CrossEntropy, Weighted<Huber<>, Ratio<3>>>,
            Weighted<MeanSquaredError, Ratio<1, 2>>>>>;
};
template <std::size_t K>
struct kept {
  template <class... Schedules>
  using by = KeepLast<K, Schedules...>;
};
/// Every<1> to Every<depth>; sometimes with a layer of the model besides.
struct SayEvery {
  template <class Model>
  static constexpr bool fits = Model::depth > 0;
  template <class Model, bool selects>
  using Selected = std::conditional_t<
      selects,
      mp::mp_list<Selective<mp::mp_at_c<
          mp::mp_push_back<typename Model::leaves, Relu>,
          Model::Source::below(of_policy, 10, mp::mp_size<typename Model::leaves>::value + (selects ? 0 : 1))>>>,
      mp::mp_list<>>;
  /// The last blocks keep all; or they are recomputed one by one, or but for layers of the model.
  template <class Model, std::size_t others>  // blocks that are left
  using Kept = std::conditional_t<
      others != 0 && Model::Source::below(of_policy, 11, 3) == 0,
      mp::mp_list<mp::mp_apply<kept<1 + Model::Source::below(of_policy, 12, others + (others == 0))>::template by,
                               std::conditional_t<Model::Source::below(of_policy, 19, 3) == 0, mp::mp_list<Every<1>>,
                                                  Selected<Model, !mp::mp_empty<typename Model::leaves>::value &&
                                                                      Model::Source::below(of_policy, 19, 3) == 1>>>>,
      mp::mp_list<>>;
  template <class Model, std::size_t n = 1 + Model::Source::below(of_policy, 1, Model::depth > 0 ? Model::depth : 1)>
  using make = mp::mp_list<mp::mp_apply<
      Checkpoint, mp::mp_push_front<mp::mp_append<Selected<Model, !mp::mp_empty<typename Model::leaves>::value &&
                                                                      Model::Source::below(of_policy, 9, 3) == 0>,
                                                  Kept<Model, (Model::depth > n ? Model::depth - n : 0)>>,
                                    Every<n>>>>;
};
/// Layers that are named, and of the others those that are cheap for the bytes of their output; of blocks none, every other
/// one, or all.
template <std::size_t number, class Named, std::size_t of_blocks>
struct NamedOrCheap {
  template <class... Layers>
  static constexpr bool has_even_list(boost::mp11::mp_list<Layers...>) {
    return sizeof...(Layers) % 2 == 0;
  }
  template <class Layer>
  struct of : FlopsPerByteBelow<number>::template of<Layer> {};
  template <class Layer>
    requires(mp::mp_contains<Named, Layer>::value)
  struct of<Layer> : std::true_type {};
  template <Combinator Layer>
    requires(of_blocks > 0)
  struct of<Layer> : std::bool_constant<of_blocks == 2 || has_even_list(typename children<Layer>::type{})> {};
};
/// One layer of the model, two, or all; sometimes what is cheap besides; sometimes other schedules in the last blocks: none,
/// Every<1>, another layer, or two of these, one within the other. Sometimes the last blocks alone have schedules.
struct SaySelective {
  template <class Model>
  static constexpr bool fits = !mp::mp_empty<typename Model::leaves>::value;
  template <class Model>
  static constexpr std::size_t layer(std::uint64_t which) {
    return Model::Source::below(of_policy, which, mp::mp_size<typename Model::leaves>::value);
  }
  template <class Model>
  using Layers = std::conditional_t<Model::Source::below(of_policy, 2, 3) == 0, typename Model::leaves,
                                    mp::mp_unique<mp::mp_list<mp::mp_at_c<typename Model::leaves, layer<Model>(3)>,
                                                              mp::mp_at_c<typename Model::leaves, layer<Model>(4)>>>>;
  template <class Model>
  using Main = std::conditional_t<Model::Source::below(of_policy, 65, 3) == 0,
                                  regimen::If<NamedOrCheap<1 + Model::Source::below(of_policy, 66, 6), Layers<Model>,
                                                           Model::Source::below(of_policy, 67, 3)>::template of>,
                                  mp::mp_apply<Selective, Layers<Model>>>;
  template <class Model>
  using Other = Selective<mp::mp_at_c<typename Model::leaves, layer<Model>(60)>>;
  template <class Model, std::size_t last, std::size_t which>
  using Inside =
      mp::mp_at_c<mp::mp_list<mp::mp_list<>, mp::mp_list<Every<1>>, mp::mp_list<Other<Model>>,
                              std::conditional_t<(last > 1), mp::mp_list<Every<1>, KeepLast<1>>,
                                                 mp::mp_list<Every<1>, Other<Model>>>,
                              std::conditional_t<(last > 1), mp::mp_list<Other<Model>, KeepLast<last - 1, Every<1>>>,
                                                 mp::mp_list<Every<1>>>>,
                  which>;
  template <class Model, bool alone, std::size_t last>
  using Kept = mp::mp_list<
      mp::mp_apply<kept<last>::template by,
                   Inside<Model, last, (alone ? 1 : 0) + Model::Source::below(of_policy, 61, alone ? 4 : 5)>>>;
  template <class Model, std::size_t others = (Model::depth > 1 ? Model::depth - 1 : 0),
            bool keeps = others != 0 && Model::Source::below(of_policy, 62, 2) == 0,
            bool alone = keeps && Model::Source::below(of_policy, 63, 3) == 0>
  using make = mp::mp_list<mp::mp_apply<
      Checkpoint,
      mp::mp_append<
          std::conditional_t<alone, mp::mp_list<>, mp::mp_list<Main<Model>>>,
          std::conditional_t<keeps, Kept<Model, alone, 1 + Model::Source::below(of_policy, 64, others + (others == 0))>,
                             mp::mp_list<>>>>>;
};
struct SayFreeze {
  template <class Model>
  static constexpr bool fits = !mp::mp_empty<typename Model::weighted>::value;
  template <class Model, std::size_t count = mp::mp_size<typename Model::weighted>::value>
  using make = mp::mp_list<
      Freeze<mp::mp_at_c<typename Model::weighted, Model::Source::below(of_policy, 5, count > 0 ? count : 1)>>>;
};

/// fp16 overflows now and then, which is no anomaly of ours.
struct SayAnomaly {
  template <class Model>
  static constexpr bool fits = !std::is_same_v<typename Model::Source::compute, fp16>;
  template <class>
  using make = mp::mp_list<Debug<Anomaly>>;
};

template <class Layer>
struct is_linear : std::false_type {};
template <std::size_t Width>
struct is_linear<Linear<Width>> : std::true_type {};
template <std::size_t Width>
struct is_linear<Linear<Width, NoBias>> : std::true_type {};
template <class Layer>
struct is_block : std::false_type {};
template <class... Layers>
struct is_block<Residual<Layers...>> : std::true_type {};
template <class... Layers>
struct is_block<Sequential<Layers...>> : std::true_type {};

template <class... Kinds>
using Equally = mp::mp_list<Often<1, Kinds>...>;

using Formats = mp::mp_list<Often<4, Say<>>, Often<2, Say<Precision<tf32>>>, Often<4, Say<Precision<fp64>>>,
                            Often<3, Say<Precision<bf16, fp32>>>, Often<1, Say<Precision<bf16, fp32, bf16>>>,
                            Often<1, Say<Precision<fp16, fp32>, LossScale<Dynamic>>>,
                            Often<1, Say<Precision<fp16, fp32>, LossScale<Static<64>>>>,
                            Often<1, Say<Precision<fp16, fp32>, LossScale<DynamicScale<16, 2>>>>>;
using Losses = Equally<SayClasses, SayLoss<SmoothedCrossEntropy<Ratio<1, 10>>>, SayPointwise, SaySum>;
using Rules = Equally<Say<>, Say<Optimizer<Adam>>, Say<Optimizer<Sgd>>, Say<Optimizer<RmsProp>>,
                      SayRule<rules::Lamb, Lamb, Muon, Split<Matrices<Muon>, Rest<Averaged<AdamW>>>>>;
using Clips = Equally<Say<>, Say<Clip<Norm<Ratio<1, 4>>>>>;
using Inits = Equally<Say<>, Say<Init<PyTorch>>, Say<Init<Gpt2>>>;
using Seeds = Equally<Say<>, Say<Seed<7>>>;
using Freezes = Equally<Say<>, SayFreeze>;
using Batches = Equally<Say<Batch<1>>, Say<Batch<2>>, Say<Batch<3>>, Say<Batch<5>>>;
using Accumulations = mp::mp_list<Often<4, Say<>>, Often<2, Say<Accumulate<2>>>, Often<1, Say<Accumulate<3>>>,
                                  Often<1, Say<Accumulate<2, ReduceEach>>>, Often<1, Say<SimulateWorld<2>>>>;
using Fusions = Equally<Say<>, Say<Fusion<Unfused>>>;
using Checkpoints = mp::mp_list<Often<2, Say<>>, Often<3, SayEvery>, Often<2, SaySelective>>;
using Communicators =
    mp::mp_list<Often<2, Say<>>, Often<3, Say<Communicator<Threads>>>, Often<1, Say<Communicator<Threads>, World<2>>>>;
using Shards =
    Equally<Say<>, Say<Shard<ZeRO1>>, Say<Shard<ZeRO2>>, Say<Shard<ZeRO3>>, Say<Shard<Hybrid<2>>>,
            Say<Shard<Replicated, Bucket<1000>>>, Say<Shard<ZeRO3, Prefetch<0>>>, Say<Shard<ZeRO3, KeepSegments>>,
            Say<Shard<ZeRO3, WrapIf<is_linear>>>, Say<Shard<ZeRO1, WrapIf<is_block>>>>;
using Targets = mp::mp_list<Often<2, Say<>>, Often<1, Say<Target<targets::host<64'000'000>>>>>;
using Checks = mp::mp_list<Often<6, Say<>>, Often<1, SayAnomaly>, Often<1, Say<Debug<Profile>>>>;

/// What the element types are, drawn before the model, and all else, drawn after it.
using OtherAxes = mp::mp_list<Losses, Rules, Clips, Inits, Seeds, Freezes, Batches, Accumulations, Fusions, Checkpoints,
                              Communicators, Shards, Targets, Checks>;

// ---- on a device that has more choices than a CPU: numbers of their own, so that they change no other draw

/// Composed, but for one head at a time.
struct HeadByHead final {
  using option_of = axis::attention;
  static constexpr std::size_t score_bytes = 1;
};
/// Heads that share keys have one form.
template <class Layer>
struct shares_keys : std::false_type {};
template <class HeadCount, class... Options>
struct shares_keys<in_order::SelfAttention<HeadCount, Options...>>
    : std::bool_constant<(in_order::SelfAttention<HeadCount, Options...>::Layout::key_heads < HeadCount::count)> {};
template <class Name, class HeadCount, class... Options>
struct shares_keys<in_order::CrossAttention<Name, HeadCount, Options...>>
    : std::bool_constant<(in_order::CrossAttention<Name, HeadCount, Options...>::Layout::key_heads <
                          HeadCount::count)> {};
template <class Network>
inline constexpr bool network_shares_keys =
    mp::mp_any_of<typename detail::all_in<typename rule::parts_t<Network>::Layers>::type, shares_keys>::value;
using Forms = mp::mp_list<Attention<>, Attention<Tiled>, Attention<HeadByHead>>;

/// separate   products leave biases and activations to kernels, if the program fuses at all
/// fibers     blocks have as many threads as on a GPU, and checked barriers
/// library    convolutions are cuDNN's
/// ranks      a program of ranks has a device for each of them, which NCCL connects; compiled for one program of four
/// offloads   blocks wait in the host's memory, if there are three; compiled for one program of two
struct OnDevice {
  std::size_t form = 0;
  bool separate = false, fibers = false, ranks = false, offloads = false, library = false;
};
constexpr OnDevice drawn_on_device(std::uint64_t seed) {
  return {static_cast<std::size_t>(Philox::mix(seed, 9) % mp::mp_size<Forms>::value),
          Philox::mix(seed, 10) % 2 == 0,
          Philox::mix(seed, 11) % 3 == 0,
          Philox::mix(seed, 12) % 4 == 0,
          Philox::mix(seed, 13) % 2 == 0,
          Philox::mix(seed, 14) % 2 == 0};
}

// ---- neighbours: what changes no bit, and what changes rounding alone

/// Another choice on an axis.
template <class Axis_, class Choices_>
struct Move {
  using Axis = Axis_;
  using Choices = Choices_;
  static constexpr bool is_exact = true;
};
struct MoveFusion : Move<axis::fusion, Fusions> {
  static constexpr bool is_exact = false;
};
/// The same samples, cut into other micro-batches.
struct MoveBatch {
  using Axis = axis::batch;
  static constexpr bool is_exact = false;
};
using Moves =
    mp::mp_list<Move<axis::communicator, Communicators>, Move<axis::shard, Shards>, Move<axis::checkpoint, Checkpoints>,
                MoveBatch, MoveFusion, Move<axis::debug, Checks>, Move<axis::target, Targets>>;

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
