// The rules that a model, its data or its gradients are asked: the verdicts alone.
#include <regimen/core/ratio.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/models/rules.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/rule/attention.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/convolutions.hpp>
#include <regimen/rule/devices.hpp>
#include <regimen/rule/fit.hpp>
#include <regimen/rule/generate.hpp>
#include <regimen/rule/inference.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/losses.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/rule/options.hpp>
#include <regimen/rule/output_rules.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>
#include <regimen/rule/texts.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/rule/update_rules.hpp>
#include <regimen/rule/weights.hpp>
#include <regimen/trainers/callback_rules.hpp>
#include <regimen/watch/metric.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::rule;

struct Thing;
using Ids = Value<std::int32_t, Shape<16>>;
using Numbers = Value<fp32, Shape<16>>;

static_assert(every_at_most_depth<Checkpoint<Every<6>>, 6>::holds &&
              !every_at_most_depth<Checkpoint<Every<7>>, 6>::holds);
static_assert(every_at_most_depth<Checkpoint<Every<4>, KeepLast<2>>, 6>::holds &&
              !every_at_most_depth<Checkpoint<Every<5>, KeepLast<2>>, 6>::holds &&
              every_at_most_depth<Checkpoint<Every<4>, KeepLast<2, Every<2>>>, 6>::holds &&
              !every_at_most_depth<Checkpoint<Every<4>, KeepLast<2, Every<3>>>, 6>::holds);
static_assert(every_at_most_depth<Checkpoint<None>, 0>::holds && !every_at_most_depth<Checkpoint<Every<1>>, 0>::holds);
static_assert(budget_reaches_least<8, 8>::holds && !budget_reaches_least<7, 8>::holds);
static_assert(kept_blocks_below_depth<Checkpoint<Every<1>, KeepLast<5>>, 6>::holds &&
              !kept_blocks_below_depth<Checkpoint<Every<1>, KeepLast<6>>, 6>::holds &&
              !kept_blocks_below_depth<Checkpoint<Every<1>, KeepLast<0>>, 6>::holds &&
              !kept_blocks_below_depth<Checkpoint<Every<1>, KeepLast<4, Every<2>, KeepLast<4>>>, 6>::holds &&
              kept_blocks_below_depth<Checkpoint<Every<1>, KeepLast<4, Every<2>, KeepLast<3>>>, 6>::holds &&
              kept_blocks_below_depth<Checkpoint<None>, 0>::holds);
static_assert(!selective_names_a_layer<Thing>::holds && selective_names_a_layer<Thing, true>::holds);
static_assert(!freeze_names_a_layer<Thing>::holds && freeze_names_a_layer<Thing, true>::holds);
static_assert(average_keeps_a_share<Ratio<0>>::holds && average_keeps_a_share<Ratio<99, 100>>::holds);
static_assert(!average_keeps_a_share<Ratio<1>>::holds && !average_keeps_a_share<Ratio<-1, 2>>::holds &&
              !average_keeps_a_share<Ratio<1, 0>>::holds && !average_keeps_a_share<Thing>::holds);
static_assert(!averages_are_kept<AdamW>::holds && averages_are_kept<Averaged<AdamW>>::holds &&
              averages_are_kept<Split<Matrices<Averaged<Sgd>>, Rest<AdamW>>>::holds);
static_assert(!group_takes_a_parameter<Thing>::holds && group_takes_a_parameter<Thing, true>::holds);
static_assert(!split_ends_with_rest<Thing>::holds);
static_assert(!tied_layer_exists<Embedding<Vocabulary<4>, 2>>::holds &&
              tied_layer_exists<Embedding<Vocabulary<4>, 2>, true>::holds);
static_assert(final_output_at_least_fp32<fp32>::holds && final_output_at_least_fp32<fp64>::holds);
static_assert(!final_output_at_least_fp32<bf16>::holds && !final_output_at_least_fp32<fp16>::holds);
template <bool is_so>
struct Declares {
  static constexpr bool replayable = is_so, reads_own_output = is_so;
};
static_assert(!recomputed_layer_is_replayable<Declares<false>>::holds &&
              recomputed_layer_is_replayable<Declares<true>>::holds &&
              recomputed_layer_is_replayable<Linear<4>>::holds);
static_assert(heads_divide_width<Heads<6>, Shape<384>>::holds && !heads_divide_width<Heads<5>, Shape<384>>::holds);
static_assert(!heads_divide_width<Heads<0>, Shape<384>>::holds);
static_assert(rotary_turns_pairs<Heads<2>, 4>::holds && !rotary_turns_pairs<Heads<8>, 1>::holds);
static_assert(key_heads_divide_heads<Heads<6>, KeyHeads<2>>::holds &&
              key_heads_divide_heads<Heads<6>, KeyHeads<6>>::holds);
static_assert(!key_heads_divide_heads<Heads<6>, KeyHeads<4>>::holds &&
              !key_heads_divide_heads<Heads<6>, KeyHeads<0>>::holds);
static_assert(heads_at_most_2048<Heads<1>, 2048>::holds && !heads_at_most_2048<Heads<1>, 2049>::holds);
static_assert(!form_attends_across<Thing, Thing>::holds);
static_assert(!form_adds_distances<Thing, Thing>::holds);
static_assert(relative_bias_has_buckets<RelativeBias<4, 3>>::holds &&
              !relative_bias_has_buckets<RelativeBias<2, 9>>::holds &&
              !relative_bias_has_buckets<RelativeBias<5, 9>>::holds &&
              !relative_bias_has_buckets<RelativeBias<4, 2>>::holds);
static_assert(!form_ends_keys<Thing, Thing>::holds);
static_assert(!form_slides<Thing, Thing>::holds);
static_assert(sliding_window_is_causal<SelfAttention<Heads<2>, SlidingWindow<2>, Causal>>::holds &&
              sliding_window_is_causal<SelfAttention<Heads<2>>>::holds &&
              !sliding_window_is_causal<SelfAttention<Heads<2>, SlidingWindow<2>>>::holds);
static_assert(!form_shares_keys<Thing, Thing>::holds);
static_assert(rotary_scales_frequencies<Unscaled>::holds && rotary_scales_frequencies<Llama3Scaling<>>::holds &&
              !rotary_scales_frequencies<Thing>::holds && !rotary_scales_frequencies<Llama3Scaling<int>>::holds);
static_assert(!rotary_scales_frequencies<Llama3Scaling<Ratio<0>>>::holds &&
              !rotary_scales_frequencies<Llama3Scaling<Ratio<8>, Ratio<4>>>::holds &&
              !rotary_scales_frequencies<Llama3Scaling<Ratio<8>, Ratio<1>, Ratio<4>, 0>>::holds);
static_assert(theta_above_zero<Ratio<1, 10>>::holds && !theta_above_zero<Ratio<1, 0>>::holds &&
              !theta_above_zero<int>::holds);
static_assert(residual_keeps_shape<Shape<4, 8>, Shape<4, 8>>::holds &&
              !residual_keeps_shape<Shape<4, 8>, Shape<4, 9>>::holds);
static_assert(branches_keep_shape<Thing, Shape<4, 8>, Shape<4, 8>>::holds &&
              !branches_keep_shape<Thing, Shape<4, 8>, Shape<4, 9>>::holds);
static_assert(branches_keep_extents<1, Shape<4, 8>, Shape<4, 9>>::holds &&
              !branches_keep_extents<0, Shape<4, 8>, Shape<4, 9>>::holds);
static_assert(!branches_keep_extents<1, Shape<4, 8>, Shape<32>>::holds &&
              !branches_keep_extents<2, Shape<4, 8>, Shape<4, 8>>::holds);
static_assert(selected_output_is_not_read<Declares<false>>::holds &&
              !selected_output_is_not_read<Declares<true>>::holds && selected_output_is_not_read<Linear<4>>::holds);
static_assert(branches_keep_element<Thing, fp32, bf16>::holds && branches_keep_element<Thing, int, int>::holds &&
              !branches_keep_element<Thing, fp32, int>::holds);
struct Joined : Model<regimen::Input<Vector<4>>, Linear<8>, Fork<Outputs, Linear<2>, Linear<3>>> {};
struct Early : Model<regimen::Input<Vector<4>>, Fork<Outputs, Linear<2>, Linear<3>>, Linear<8>> {};
static_assert(outputs_come_last<Joined>::holds && !outputs_come_last<Early>::holds);
static_assert(!losses_match_outputs<Thing, Numbers>::holds);
static_assert(bundle_holds_kinds<Bundle<Tokens<4>, Vector<8>>>::holds && bundle_holds_kinds<Vector<8>>::holds &&
              !bundle_holds_kinds<Bundle<>>::holds && !bundle_holds_kinds<Bundle<Bundle<Vector<8>>>>::holds);
static_assert(part_of_a_bundle<Bundle<Tokens<4>, Vector<8>>::value<fp32>, Thing>::holds &&
              !part_of_a_bundle<Numbers, Thing>::holds);
static_assert(bundle_has_part<Thing, Numbers, 1, 2>::holds && !bundle_has_part<Thing, Numbers, 2, 2>::holds);
static_assert(weight_above_zero<Ratio<1, 10>>::holds && !weight_above_zero<Ratio<0>>::holds &&
              !weight_above_zero<Ratio<-1>>::holds && weight_above_zero<Thing>::holds);
static_assert(masked_takes_loss<MeanSquaredError>::holds && !masked_takes_loss<CrossEntropy>::holds);
static_assert(!summed_stands_outside<Thing>::holds);
static_assert(sample_weighted_takes_loss<CrossEntropy>::holds && !sample_weighted_takes_loss<NtXent<>>::holds);
static_assert(!sample_weighted_stands_outside<Thing>::holds);
static_assert(delta_above_zero<Ratio<1, 10>>::holds && !delta_above_zero<Ratio<0>>::holds);
static_assert(epsilon_above_zero<Ratio<1, 10>>::holds && !epsilon_above_zero<Ratio<-1, 10>>::holds);
static_assert(!epsilon_above_zero<Ratio<1, 0>>::holds && !epsilon_above_zero<int>::holds);
static_assert(momentum_in_range<Ratio<1, 10>>::holds && momentum_in_range<Ratio<1>>::holds);
static_assert(!momentum_in_range<Ratio<0>>::holds && !momentum_in_range<Ratio<11, 10>>::holds &&
              !momentum_in_range<Thing>::holds);
static_assert(norm_groups_divide_channels<Thing, 4, Shape<3, 8>>::holds &&
              norm_groups_divide_channels<Thing, 8, Shape<8>>::holds);
static_assert(!norm_groups_divide_channels<Thing, 3, Shape<3, 8>>::holds &&
              !norm_groups_divide_channels<Thing, 0, Shape<8>>::holds &&
              !norm_groups_divide_channels<Thing, 16, Shape<8>>::holds);
static_assert(squares_divide_image<Thing, 2, Shape<4, 6, 3>>::holds &&
              !squares_divide_image<Thing, 3, Shape<4, 6, 3>>::holds);
static_assert(!squares_divide_image<Thing, 0, Shape<4, 6, 3>>::holds);
static_assert(layer_takes_images<Thing, Shape<4, 6, 3>>::holds && !layer_takes_images<Thing, Shape<4, 6>>::holds);
static_assert(layer_takes_positions<Thing, Shape<4, 6>>::holds && !layer_takes_positions<Thing, Shape<4>>::holds &&
              !layer_takes_positions<Thing, Shape<4, 6, 3>>::holds &&
              layer_takes_positions<Thing, Shape<4, 6, 3>, 4>::holds &&
              !layer_takes_positions<Thing, Shape<4>, 4>::holds);
static_assert(layer_takes_volumes<Thing, Shape<2, 4, 6, 3>>::holds &&
              !layer_takes_volumes<Thing, Shape<4, 6, 3>>::holds);
static_assert(recurrent_takes_option<Lstm<4, NoBias>>::holds && !recurrent_takes_option<Gru<4, 8>>::holds);
static_assert(cross_attention_takes_option<Thing, true>::holds && !cross_attention_takes_option<Thing>::holds);
static_assert(conv_takes_options<in_order::Conv2d<8, 3, Stride<2>>>::holds &&
              !conv_takes_options<in_order::Conv2d<8, 3, 2>>::holds &&
              !conv_takes_options<in_order::Conv2d<8, 3, Stride<2>, Stride<2>>>::holds);
static_assert(groups_divide_channels<Thing, 3, 9, Shape<4, 6, 6>>::holds &&
              groups_divide_channels<Thing, 0, 9, Shape<4, 6, 6>>::holds);
static_assert(!groups_divide_channels<Thing, 3, 9, Shape<4, 6, 8>>::holds &&
              !groups_divide_channels<Thing, 3, 8, Shape<4, 6, 6>>::holds);
static_assert(window_fits_image<Thing, 6, 6, 1, Shape<4, 6, 3>>::holds &&
              window_fits_image<Thing, 9, 9, 0, Shape<4>>::holds);
static_assert(!window_fits_image<Thing, 7, 6, 1, Shape<4, 6, 3>>::holds &&
              !window_fits_image<Thing, 4, 7, 0, Shape<4, 6, 3>>::holds);
static_assert(fork_joins_branches<Fork<Add, Relu, Relu>>::holds && !fork_joins_branches<Fork<Add, Relu>>::holds &&
              !fork_joins_branches<Fork<Relu, Relu, Relu>>::holds);
static_assert(repeat_keeps_shape<Shape<8>, Shape<8>>::holds && !repeat_keeps_shape<Shape<8>, Shape<8, 1>>::holds);
static_assert(inner_extent_matches<Shape<3, 8>, Shape<3, 8>>::holds &&
              !inner_extent_matches<Shape<3, 8>, Shape<3, 9>>::holds);
static_assert(input_matches<Ids, Thing, true>::holds && !input_matches<Ids, Thing>::holds);
static_assert(input_matches<Numbers, Thing>::holds && !input_matches<Numbers, Thing, false>::holds);
static_assert(loss_accepts_output<CrossEntropy, Numbers>::holds &&
              !loss_accepts_output<CrossEntropy, Value<fp32, Shape<1>>>::holds &&
              !loss_accepts_output<CrossEntropy, Value<fp32, JoinedShapes<Shape<4>, Shape<4>>>>::holds);
static_assert(fits_target<100, 100>::holds && !fits_target<101, 100, Exceeds<1>, SampleAlone, Thing>::holds);
static_assert(narrowing_data<fp32, fp32>::holds && narrowing_data<fp32, fp64>::holds &&
              narrowing_data<fp64, fp64>::holds);
static_assert(narrowing_data<std::uint8_t, fp32>::holds && !narrowing_data<fp64, fp32>::holds &&
              !narrowing_data<fp64, bf16>::holds);
static_assert(!scaled_gradients_need_unscale<Thing>::holds);
static_assert(!backward_needs_scaled_loss<LossScale<Dynamic>>::holds &&
              backward_needs_scaled_loss<LossScale<None>>::holds);
static_assert(extents_at_least_one<Thing>::holds && extents_at_least_one<Thing, 1, 2>::holds &&
              !extents_at_least_one<Thing, 1, 0>::holds);
static_assert(rate_below_one<Ratio<0>>::holds && rate_below_one<Ratio<9, 10>>::holds);
static_assert(!rate_below_one<Ratio<1>>::holds && !rate_below_one<Ratio<-1, 10>>::holds &&
              !rate_below_one<Ratio<1, 0>>::holds);
static_assert(measured_run_has_no_debug<Debug<None>>::holds && !measured_run_has_no_debug<Debug<Anomaly>>::holds);
static_assert(measured_run_has_no_debug<Debug<>>::holds && !measured_run_has_no_debug<Debug<Profile>>::holds);
static_assert(profile_needs_debug<Debug<Anomaly, Profile>>::holds && !profile_needs_debug<Debug<Anomaly>>::holds);
static_assert(layers_one_to_255<Thing, 1>::holds && layers_one_to_255<Thing, 255>::holds);
static_assert(!layers_one_to_255<Thing, 0>::holds && !layers_one_to_255<Thing, 256>::holds);
static_assert(levels_at_most_7<Thing, 7>::holds && !levels_at_most_7<Thing, 8>::holds);
static_assert(frozen_layer_has_weights<Thing, true>::holds && !frozen_layer_has_weights<Thing, false>::holds);
static_assert(something_trains<Thing, 1>::holds && !something_trains<Thing, 0>::holds);

// What generate asks of a model, of one that names no network and of one that does.
template <std::size_t length, std::size_t rows, class Network_ = void>
struct Predicts {
  struct Recipe {
    using Network = Network_;
  };
  using Input = std::int32_t;
  static constexpr std::size_t input_size = length, output_rows = rows, output_size = rows * 16;
  std::vector<float> predict(std::span<const std::int32_t>) const;
};
struct Backward
    : Model<regimen::Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Causal>, Linear<16>> {};
struct Everywhere
    : Model<regimen::Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>>, Linear<16>> {};
struct Value8 : NamedValue<Shape<4, 8>> {};
struct Crossing : Model<regimen::Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, Keep<Value8>,
                        CrossAttention<Value8, Heads<2>>, Linear<16>> {};
static_assert(generate_needs_logits<Predicts<4, 4>>::holds && !generate_needs_logits<Predicts<4, 1>>::holds);
static_assert(generate_needs_causal<Predicts<4, 4>>::holds && generate_needs_causal<Predicts<4, 4, Backward>>::holds &&
              !generate_needs_causal<Predicts<4, 4, Everywhere>>::holds);
static_assert(generate_reads_one_text<Predicts<4, 4>>::holds &&
              generate_reads_one_text<Predicts<4, 4, Everywhere>>::holds &&
              !generate_reads_one_text<Predicts<4, 4, Crossing>>::holds);
struct Shares {
  static void shared_plan();
};
template <class Network_ = void>
struct Translates {
  struct Recipe {
    using Network = Network_;
  };
  using Input = Bundled<Value<std::int32_t, Shape<3>>, Value<std::int32_t, Shape<4>>>;
  static constexpr std::size_t output_rows = 4, output_size = 4 * 16;
  std::vector<float> predict(std::span<const Input>) const;
};
static_assert(generate_takes_source<Predicts<4, 4>>::holds && !generate_takes_source<Translates<>>::holds);
static_assert(generate_translates<Translates<>>::holds && !generate_translates<Translates<Crossing>>::holds &&
              !generate_translates<Predicts<4, 4>>::holds);
static_assert(generate_reads_tokens<std::vector<std::int32_t>>::holds && !generate_reads_tokens<std::string>::holds &&
              !generate_reads_tokens<char[5]>::holds);
static_assert(inference_is_not_const<const Predicts<4, 4>>::holds && !inference_is_not_const<const Shares>::holds &&
              inference_is_not_const<Shares>::holds);

// What fit asks of callbacks and metrics, of a step by itself and of launches.
template <std::size_t steps_>
struct Trains {
  struct Session {
    static constexpr std::size_t steps = steps_;
  };
};
struct Sums {
  std::vector<double> sums;
  void add(const MetricBatch<float, std::int32_t>&);
};
struct Kept : Sums {
  std::unique_ptr<int> kept;
};
template <class Event>
using Hears = void (*)(Trains<1>&, const Event&);
template <class Event>
using HearsLaunches = void (*)(Trains<8>&, const Event&);
static_assert(metric_adds_batches<Sums, float, std::int32_t>::holds &&
              !metric_adds_batches<Sums, float, float>::holds && !metric_adds_batches<Thing*, float, float>::holds);
static_assert(metric_is_copied<Sums>::holds && !metric_is_copied<Kept>::holds);
static_assert(metric_is_written<Sums>::holds && !metric_is_written<const Sums>::holds && metric_is_written<int>::holds);
static_assert(metric_keeps_result<Sums&>::holds && !metric_keeps_result<Sums>::holds);
static_assert(!metrics_are_included<Sums, Trains<1>>::holds);
static_assert(measured_needs_metric<Hears<Measured>, Trains<1>, true>::holds &&
              !measured_needs_metric<Hears<Measured>, Trains<1>, false>::holds &&
              measured_needs_metric<Hears<StepResult>, Trains<1>, false>::holds);
static_assert(callback_takes_event<Hears<StepResult>, Trains<1>, false>::holds &&
              callback_takes_event<Hears<EpochEvent>, Trains<1>, false>::holds &&
              callback_takes_event<Hears<Measured>, Trains<1>, true>::holds &&
              !callback_takes_event<Hears<Measured>, Trains<1>, false>::holds &&
              !callback_takes_event<Hears<std::string>, Trains<1>, true>::holds);
static_assert(callback_hears_launches<HearsLaunches<std::span<const StepResult>>, Trains<8>>::holds &&
              callback_hears_launches<Hears<StepResult>, Trains<1>>::holds &&
              !callback_hears_launches<HearsLaunches<StepResult>, Trains<8>>::holds);

static_assert(!apply_needs_backward<Thing>::holds);
static_assert(!model_begins_with_input<Thing>::holds);
static_assert(input_takes_kind<Tokens<4>>::holds && input_takes_kind<Vector<4>>::holds &&
              input_takes_kind<Image<4, 4, 1>>::holds);
static_assert(!input_takes_kind<float>::holds && !input_takes_kind<Thing>::holds &&
              !input_takes_kind<Linear<4>>::holds);
static_assert(list_holds_layers<Linear<4>>::holds && list_holds_layers<SelfAttention<Heads<2>>>::holds &&
              list_holds_layers<Dropout<Ratio<1, 2>>>::holds);
static_assert(!list_holds_layers<Thing>::holds && !list_holds_layers<void>::holds &&
              !list_holds_layers<Linear<4>()>::holds);
static_assert(!list_holds_layers<Checkpoint<None>>::holds && !list_holds_layers<Input<Vector<4>>>::holds);
static_assert(!list_holds_layers<Model<Input<Vector<4>>, Linear<4>>>::holds);
static_assert(layers_of_takes_model<Model<Input<Vector<4>>, Linear<4>>>::holds);
static_assert(!layers_of_takes_model<Linear<4>>::holds && !layers_of_takes_model<Input<Vector<4>>>::holds);
static_assert(llama_attends_to_itself<Thing, true>::holds && !llama_attends_to_itself<Thing>::holds);
static_assert(attention_takes_option<Causal, true>::holds && !attention_takes_option<Thing>::holds);
static_assert(as_takes_element_type<bf16>::holds && !as_takes_element_type<Thing*>::holds);
static_assert(data_type_matches<float, float>::holds && !data_type_matches<float, std::int32_t>::holds);
static_assert(!tied_layer_exists<Thing, true>::holds && !selective_names_a_layer<Sequential<>, true>::holds &&
              !freeze_names_a_layer<Sequential<>, true>::holds);
