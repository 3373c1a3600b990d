// Shapes: a layer that reads what the one before it does not write.
#include "support/model_recipe.hpp"

#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/slice.hpp>

using namespace regimen;

// ---- input_matches --------------------------------------------------------------------------------------------------
// An Embedding that reads numbers.
// expect: this layer looks up tokens and is given numbers; write Input<Tokens<T>>, or another layer
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
namespace input_matches {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#else
struct Small : Model<Input<Vector<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace input_matches

// ---- input_matches_bundle -------------------------------------------------------------------------------------------
// A Linear that reads a whole Bundle.
// expect: this layer reads one value and is given a Bundle; put Part<I> before it
// names: regimen::Linear<16>
namespace input_matches_bundle {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<0>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace input_matches_bundle

// ---- input_matches_tokens -------------------------------------------------------------------------------------------
// A Linear that reads token ids.
// expect: this layer computes on numbers and is given tokens; put Embedding<\.\.\.> before it
// names: regimen::Linear<16>
namespace input_matches_tokens {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace input_matches_tokens

// ---- inner_extent_matches -------------------------------------------------------------------------------------------
// A tied output layer after a layer of another width than its table.
// expect: this layer reads another extent than the one before it writes; make the two equal
// names: regimen::Shape<8, 8>
// names: regimen::Shape<8, 16>
namespace inner_extent_matches {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 8>, Linear<16>, Relu, Linear<8>, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<32>, 8>, Linear<16>, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace inner_extent_matches

// ---- residual_keeps_shape -------------------------------------------------------------------------------------------
// A branch whose output is wider than its input.
// expect: Residual<\.\.\.> adds its input to its output; end it with the shape that it begins with
// names: regimen::Shape<8>
// names: regimen::Shape<16>
namespace residual_keeps_shape {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Residual<Linear<16>, Relu, Linear<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Residual<Linear<16>, Relu>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace residual_keeps_shape

// ---- repeat_keeps_shape ---------------------------------------------------------------------------------------------
// A block whose output has another shape than its input.
// expect: Repeat<N, Block> feeds each block to the next; end Block with the shape that it begins with
// names: regimen::Shape<8>
// names: regimen::Shape<16>
namespace repeat_keeps_shape {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<16>, Relu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace repeat_keeps_shape

// ---- layer_takes_positions ------------------------------------------------------------------------------------------
// A recurrent layer behind a Flatten, which leaves no positions.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Shape<32>
namespace layer_takes_positions {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Gru<6>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Flatten, Gru<6>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_takes_positions

// ---- layer_takes_positions_pool -------------------------------------------------------------------------------------
// The mean over the positions of a vector, which has none.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Shape<8>
namespace layer_takes_positions_pool {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<5, 8>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_takes_positions_pool

// ---- slice_fits_extent ----------------------------------------------------------------------------------------------
// More channels than there are.
// expect: a slice takes one element of its axis or more; write a Begin and a Count that lie inside it
// names: regimen::Slice<6, 4>
// names: regimen::Shape<8>
namespace slice_fits_extent {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Slice<4, 4>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Slice<6, 4>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace slice_fits_extent

// ---- extents_at_least_one -------------------------------------------------------------------------------------------
// A layer without channels.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::Linear<0>
namespace extents_at_least_one {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<0>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace extents_at_least_one

// ---- extents_at_least_one_input -------------------------------------------------------------------------------------
// A model that reads nothing.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::Vector<0>
namespace extents_at_least_one_input {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<0>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace extents_at_least_one_input

// ---- extents_at_least_one_repeat ------------------------------------------------------------------------------------
// A block that is repeated zero times.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::Repeat<0
namespace extents_at_least_one_repeat {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<1, Residual<Linear<8>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<0, Residual<Linear<8>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace extents_at_least_one_repeat
// SPDX-License-Identifier: Apache-2.0
