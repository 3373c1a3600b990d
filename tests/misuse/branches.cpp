// Branches: forks, several inputs, values that are kept and read by name.
#include "support/model_recipe.hpp"

#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>

using namespace regimen;

// ---- fork_joins_branches --------------------------------------------------------------------------------------------
// Branches without what joins them.
// expect: a Fork has a join, then two branches or more; write Fork<Add, A, B>
// names: regimen::Fork<
namespace fork_joins_branches {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Linear<16>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Linear<16>, Linear<16>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace fork_joins_branches

// ---- branches_keep_element ------------------------------------------------------------------------------------------
// Tokens beside numbers.
// expect: a branch of this Fork ends with tokens and another with numbers; put Embedding<\.\.\.> at its end
// names: regimen::Fork<regimen::Concat, regimen::Part<0>, regimen::Part<1> >
namespace branches_keep_element {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Tokens<8>, Vector<4>>>,
                     Fork<Concat, Sequential<Part<0>, Embedding<Vocabulary<9>, 4>, MeanPool>, Part<1>>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Tokens<8>, Vector<4>>>, Fork<Concat, Part<0>, Part<1>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace branches_keep_element

// ---- branches_keep_extents ------------------------------------------------------------------------------------------
// Images with other channels, one above the other.
// expect: Concat joins outputs that have this axis and differ along it alone; make the other extents equal
// names: regimen::Shape<6, 6, 3>
// names: regimen::Shape<6, 6, 8>
namespace branches_keep_extents {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Fork<Concat, Identity, Linear<8>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Fork<ConcatAlong<0>, Identity, Linear<8>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace branches_keep_extents

// ---- branches_keep_shape --------------------------------------------------------------------------------------------
// Branches of two widths, which are added.
// expect: a Fork that adds or multiplies joins outputs of one shape; end all branches with the same
// names: regimen::Shape<16>
// names: regimen::Shape<8>
namespace branches_keep_shape {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Sequential<Linear<8>, Relu, Linear<16>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace branches_keep_shape

// ---- bundle_has_part ------------------------------------------------------------------------------------------------
// The second of two values is Part<1>.
// expect: this Bundle has fewer values than Part<I> counts, from 0 on; write a smaller I
// names: regimen::Part<2>
namespace bundle_has_part {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<1>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<2>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bundle_has_part

// ---- bundle_holds_kinds ---------------------------------------------------------------------------------------------
// A Bundle in a Bundle.
// expect: a Bundle holds Tokens, Vector, Series, Image, Volume; write one or more, and no Bundle among them
// names: regimen::Bundle<regimen::Vector<8>, regimen::Bundle<regimen::Vector<4>>>
namespace bundle_holds_kinds {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Vector<8>, Vector<4>>>, Part<0>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Vector<8>, Bundle<Vector<4>>>>, Part<0>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bundle_holds_kinds

// ---- part_of_a_bundle -----------------------------------------------------------------------------------------------
// Part of an input of one value.
// expect: Part<I> is a value of a Bundle; write Input<Bundle<\.\.\.>>, or leave Part out
// names: regimen::Part<0>
namespace part_of_a_bundle {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>> {};
#else
struct Small : Model<Input<Vector<8>>, Part<0>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace part_of_a_bundle

// ---- name_declares_shape --------------------------------------------------------------------------------------------
// A name without a shape.
// expect: the name of a value declares its shape; write struct Name : NamedValue<Shape<\.\.\.>> {}
// names: Skip
namespace name_declares_shape {
#ifndef REGIMEN_MISUSE
struct Skip : NamedValue<Shape<8>> {};
#else
struct Skip {};
#endif
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Residual<Read<Skip>>, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace name_declares_shape

// ---- named_value_has_its_shape --------------------------------------------------------------------------------------
// A name that declares another shape than what is kept has.
// expect: Keep<Name> keeps a value of another shape than Name declares; declare the value's
// names: regimen::Keep<Skip>
// names: regimen::Shape<8>
namespace named_value_has_its_shape {
#ifndef REGIMEN_MISUSE
struct Skip : NamedValue<Shape<8>> {};
#else
struct Skip : NamedValue<Shape<16>> {};
#endif
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Read<Skip>, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace named_value_has_its_shape

// ---- named_value_is_kept --------------------------------------------------------------------------------------------
// A value that is read before it is there.
// expect: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it
// names: Skip
namespace named_value_is_kept {
struct Skip : NamedValue<Shape<8>> {};
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Residual<Read<Skip>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Residual<Read<Skip>>, Linear<8>, Keep<Skip>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace named_value_is_kept

// ---- named_value_is_kept_attention ----------------------------------------------------------------------------------
// Attention to a text that nothing keeps.
// expect: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it
// names: Other
namespace named_value_is_kept_attention {
struct Other : NamedValue<Shape<5, 8>> {};
using Attend = Residual<CrossAttention<Other, Heads<2>>>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<5, 8>>, Keep<Other>, Attend, Linear<4>> {};
#else
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace named_value_is_kept_attention

// ---- value_is_kept_once ---------------------------------------------------------------------------------------------
// A value of each block under one name.
// expect: a name stands for one value; write Keep<Name> once, and in no Repeat
// names: Skip
namespace value_is_kept_once {
struct Skip : NamedValue<Shape<8>> {};
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Repeat<3, Sequential<Linear<8>, Residual<Read<Skip>>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Keep<Skip>, Linear<8>, Residual<Read<Skip>>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace value_is_kept_once
// SPDX-License-Identifier: Apache-2.0
