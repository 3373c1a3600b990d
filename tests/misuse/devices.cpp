// Devices: what an engine computes, and in which form.
#include "support/model_recipe.hpp"
#include "support/gpu_recipe.hpp"
#include "support/muon.hpp"

#include <regimen/engine/cuda/plan.hpp>
#include <regimen/engine/cuda/traits.hpp>

using namespace regimen;

// ---- device_computes_in ---------------------------------------------------------------------------------------------
// bf16 in a program for GPUs that have none: nvcc compiles it for sm_75, which this device stands for.
// expect: bf16 and tf32 need a GPU from sm_80 on; compile for sm_80, or write Precision<fp32>
// names: regimen::Device<Turing>
namespace device_computes_in {
struct Turing {
  using option_of = axis::device;
};
}  // namespace device_computes_in

template <>
struct regimen::engines::Of<device_computes_in::Turing> {
  using Traits = cuda::Traits<0, 750>;
};

namespace device_computes_in {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Turing>, Precision<fp32>>;
#else
using Train = Trainer<Net, Device<Turing>, Precision<bf16, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace device_computes_in

// ---- device_attends_in_form -----------------------------------------------------------------------------------------
// A form of attention that stores scores, on the CPU, whose engine stores none.
// expect: this Device<\.\.\.> has no such form of attention; leave Attention<\.\.\.> out, or write Device<Cuda>
// names: regimen::Attention<regimen::Composed>
// names: regimen::Device<regimen::Cpu>
namespace device_attends_in_form {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>, Device<Cpu>>;
#else
using Train = Trainer<Net, Attention<Composed>, Device<Cpu>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace device_attends_in_form

// ---- device_convolves_in_form ---------------------------------------------------------------------------------------
// Convolutions by cuDNN, on the CPU.
// expect: this Device<\.\.\.> has no such form of convolution; leave Convolution<\.\.\.> out, or write Device<Cuda>
// names: regimen::Convolution<regimen::Cudnn>
// names: regimen::Device<regimen::Cpu>
namespace device_convolves_in_form {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>, Device<Cpu>>;
#else
using Train = Trainer<Net, Convolution<Cudnn>, Device<Cpu>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace device_convolves_in_form

// ---- graph_needs_graphs ---------------------------------------------------------------------------------------------
// Without graphs, on a device that has none.
// expect: this Device<\.\.\.> has no graphs, so Graph<Off> changes nothing; leave it out
// names: regimen::Graph<regimen::Off>
namespace graph_needs_graphs {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Graph<Off>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace graph_needs_graphs

// ---- product_has_epilogue -------------------------------------------------------------------------------------------
// A choice about the epilogues of products, on a device whose products have none.
// expect: products of this Device have no epilogues; take Epilogue<\.\.\.> out, or write Fusion<\.\.\.>
// names: regimen::Epilogue<regimen::Separate>
namespace product_has_epilogue {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Fusion<Unfused>>;
#else
using Train = Trainer<Net, Epilogue<Separate>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace product_has_epilogue

// ---- spans_stay_on_the_host -----------------------------------------------------------------------------------------
// An update rule of whole tensors that computes on spans, on a GPU.
// expect: update_tensor computes on spans of the host; write it by operations, on TensorViews, or Device<Cpu>
// names: rules::MuonOnSpans
namespace spans_stay_on_the_host {
struct Words : Model<Input<Vector<8>>, Linear<16>, Gelu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Optimizer<Muon>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Optimizer<rules::MuonOnSpans>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace spans_stay_on_the_host

// ---- cudnn_is_found -------------------------------------------------------------------------------------------------
// Attention by cuDNN, in a program that is compiled without it.
// expect: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form
// names: regimen::Attention<regimen::Cudnn>
namespace cudnn_is_found {
#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Composed>, Device<Gpu<false>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<false>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace cudnn_is_found

// ---- cudnn_is_found_convolution -------------------------------------------------------------------------------------
// Convolutions by cuDNN, in a program that is compiled without it.
// expect: this program has no cuDNN; install it for CMake's regimen::cuda, or name another form
// names: regimen::Convolution<regimen::Cudnn>
namespace cudnn_is_found_convolution {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<Direct>, Device<Gpu<false>>>;
#else
using Train = Trainer<Net, Convolution<Cudnn>, Device<Gpu<false>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace cudnn_is_found_convolution

// ---- cudnn_computes_in_half -----------------------------------------------------------------------------------------
// Attention by cuDNN in fp32.
// expect: Attention<Cudnn> computes in bf16 or fp16; write Precision<bf16, fp32>, or Attention<Composed>
// names: regimen::Attention<regimen::Cudnn>
namespace cudnn_computes_in_half {
#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace cudnn_computes_in_half

// ---- cudnn_takes_heads ----------------------------------------------------------------------------------------------
// Attention by cuDNN with heads of four channels.
// expect: Attention<Cudnn> takes heads of 8, 16, \.\.\. or 256 channels; write other Heads<N>, or Attention<Composed>
// names: HeadLayout<4
namespace cudnn_takes_heads {
#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<4>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace cudnn_takes_heads

// ---- form_adds_distances --------------------------------------------------------------------------------------------
// Scores that fall with the distance, by cuDNN.
// expect: Attention<Cudnn> has no Alibi and RelativeBias; write Attention<Composed> or Attention<Tiled>
// names: HeadLayout<4
namespace form_adds_distances {
using Attend = SelfAttention<Heads<4>, Causal, Alibi>;
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Attend, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace form_adds_distances

// ---- form_attends_across --------------------------------------------------------------------------------------------
// Attention to another text, by cuDNN.
// expect: Attention<Cudnn> has no keys of another text; write Attention<Composed> or Attention<Tiled>
// names: AttendTo<Other
namespace form_attends_across {
struct Other : NamedValue<Shape<8, 16>> {};
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Keep<Other>, Linear<12>,
                     CrossAttention<Other, Heads<4>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace form_attends_across

// ---- form_ends_keys -------------------------------------------------------------------------------------------------
// Attention that ends where a text does, by cuDNN.
// expect: Attention<Cudnn> has no Within<\.\.\.>; write Attention<Composed> or Attention<Tiled>
// names: Length
namespace form_ends_keys {
struct Length : NamedLength<8> {};
struct Words : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 16>,
                     SelfAttention<Heads<4>, Within<Length>>, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace form_ends_keys

// ---- form_shares_keys -----------------------------------------------------------------------------------------------
// Heads that share keys, in the form of attention that a GPU has by default.
// expect: on a GPU attention shares keys in Attention<Tiled> alone; write that, or no KeyHeads<K>
// names: HeadLayout<4, 2
namespace form_shares_keys {
using Attend = SelfAttention<Heads<4>, KeyHeads<2>>;
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Attend, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Attention<Tiled>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace form_shares_keys

// ---- form_slides ----------------------------------------------------------------------------------------------------
// Attention within a window, by cuDNN.
// expect: Attention<Cudnn> has no SlidingWindow; write Attention<Composed> or Attention<Tiled>
// names: HeadLayout<4
namespace form_slides {
using Attend = SelfAttention<Heads<4>, Causal, SlidingWindow<3>>;
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Attend, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Precision<bf16, fp32>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu<true>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace form_slides
// SPDX-License-Identifier: Apache-2.0
