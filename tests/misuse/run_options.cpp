// Options of a run and of a Trainer: their names.
#include <regimen/regimen.hpp>

#ifdef __clang__
#pragma clang diagnostic error "-Wreorder-init-list"  // as in a build whose warnings are errors
#endif

using namespace regimen;

// ---- option_has_name ------------------------------------------------------------------------------------------------
// A learning rate under the name that PyTorch has for it. Names of other libraries are known, and an error says how each is written
// here; to a name that nobody foresaw, the compiler answers in its own words that there is no such member.
// expect: the learning rate is the update rule's; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
namespace option_has_name {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
void program() { Trainer<Mlp> trainer{{.optimizer = {.lr = 1e-3}}}; }
#endif
}  // namespace option_has_name

// ---- option_has_name_rule -----------------------------------------------------------------------------------------------
// An option of the update rule beside it.
// expect: this is an option of the update rule; write Train trainer\{\{\.optimizer = \{\.weight_decay = 0\.1\}\}\}
namespace option_has_name_rule {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer{{.optimizer = {.weight_decay = 0.1}}}; }
#else
void program() { Trainer<Mlp> trainer{{.weight_decay = 0.1}}; }
#endif
}  // namespace option_has_name_rule

// ---- option_has_name_seed -----------------------------------------------------------------------------------------------
// The seed, by the name that Lightning has.
// expect: all that is random begins with \.seed; write Train trainer\{\{\.seed = 7\}\}
namespace option_has_name_seed {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer{{.seed = 7}}; }
#else
void program() { Trainer<Mlp> trainer{{.seed_everything = 7}}; }
#endif
}  // namespace option_has_name_seed

// ---- option_has_name_run ------------------------------------------------------------------------------------------------
// What belongs to a run, given to the Trainer.
// expect: this is of a run, not of a Trainer; write trainer\.fit\(source, \{\.epochs = 3, \.workers = 2\}, callback\)
namespace option_has_name_run {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .workers = 2});
}
#else
void program() {
  Trainer<Mlp> trainer{{.num_workers = 2}};
  trainer.fit(Fake(), {.epochs = 3});
}
#endif
}  // namespace option_has_name_run

// ---- option_has_name_progress -------------------------------------------------------------------------------------------
// How much a run tells, as Keras asks it.
// expect: fit shows progress, and a callback hears each step; write fit\(source, \{\.progress = false\}, callback\)
namespace option_has_name_progress {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.steps = 10, .progress = false});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.steps = 10, .verbose = 0});
}
#endif
}  // namespace option_has_name_progress

// ---- option_has_name_patience -------------------------------------------------------------------------------------------
// When a run ends early.
// expect: patience ends a run early; write fit\(source, validation, \{\.validate_every = 100, \.patience = 3\}\)
namespace option_has_name_patience {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .validate_every = 100, .patience = 3});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .validate_every = 100, .early_stopping = true});
}
#endif
}  // namespace option_has_name_patience

// ---- option_has_name_saving ---------------------------------------------------------------------------------------------
// A run that goes on from a file.
// expect: a state is loaded before fit, and saved by a callback; write trainer\.load\(path\), Checkpoints\(folder, \{\}\)
namespace option_has_name_saving {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.load("state.safetensors");
  trainer.fit(Fake(), {.steps = 1000});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.steps = 1000, .resume = true});
}
#endif
}  // namespace option_has_name_saving

// ---- option_has_name_argument ---------------------------------------------------------------------------------------
// Validation data among the options, as Keras has them: they are an argument, as callbacks and metrics are.
// expect: this is an argument of fit; write fit\(source, validation, \{\.epochs = 3\}, Accuracy\{\}, callback\)
namespace option_has_name_argument {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.epochs = 3});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .validation_data = Fake()});
}
#endif
}  // namespace option_has_name_argument

// ---- option_has_name_evaluation -------------------------------------------------------------------------------------
// How often a run is evaluated, by the name that transformers has.
// expect: fit evaluates every so many steps; write fit\(source, validation, \{\.validate_every = 100\}\)
namespace option_has_name_evaluation {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .validate_every = 100});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .eval_steps = 100});
}
#endif
}  // namespace option_has_name_evaluation

// ---- option_has_name_loading ----------------------------------------------------------------------------------------
// An option of PyTorch's DataLoader.
// expect: how fit reads is \.order, \.remainder and \.workers; write \{\.order = Order::Sequential, \.workers = 2\}
namespace option_has_name_loading {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .order = Order::Sequential});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .shuffle = false});
}
#endif
}  // namespace option_has_name_loading

// ---- option_has_name_moments ----------------------------------------------------------------------------------------
// Adam's decay rates in a pair, as PyTorch has them.
// expect: this option has another name; write \.beta1, \.beta2, \.epsilon \(RmsProp: \.alpha\), each with one number
namespace option_has_name_moments {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.95}}}; }
#else
void program() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3, .betas = {0.9, 0.95}}}}; }
#endif
}  // namespace option_has_name_moments

// ---- option_has_name_policy -----------------------------------------------------------------------------------------
// The size of a batch among the options of a run: it decides where every tensor lies, so it is part of the type.
// expect: this is a policy, which the compiler must know; write Trainer<Model, Batch<32>, Device<Cuda>>
namespace option_has_name_policy {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp, Batch<32>> trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(Fake(), {.epochs = 3});
}
#else
void program() {
  Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3}, .batch_size = 32}};
  trainer.fit(Fake(), {.epochs = 3});
}
#endif
}  // namespace option_has_name_policy

// ---- option_has_name_rate -------------------------------------------------------------------------------------------
// The same one level higher, or assigned.
// expect: the learning rate is the update rule's; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
namespace option_has_name_rate {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp>::Options options{.seed = 7};
  options.optimizer.learning_rate = 1e-3;
  Trainer<Mlp> trainer{options};
}
#else
void program() {
  Trainer<Mlp>::Options options{.lr = 1e-3, .seed = 7};
  options.optimizer.lr = 1e-3;
  Trainer<Mlp> trainer{options};
}
#endif
}  // namespace option_has_name_rate

// ---- option_has_name_schedule ---------------------------------------------------------------------------------------
// A learning rate's schedule by the name of PyTorch's object.
// expect: a learning rate's course is a Schedule; write \{\.schedule = Schedule::warmup_cosine\(100, 1000\)\}
namespace option_has_name_schedule {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer{{.schedule = Schedule::warmup_cosine(100, 1000), .seed = 3}}; }
#else
void program() { Trainer<Mlp> trainer{{.lr_scheduler = Schedule::warmup_cosine(100, 1000), .seed = 3}}; }
#endif
}  // namespace option_has_name_schedule

// ---- option_has_name_steps ------------------------------------------------------------------------------------------
// Another name for the number of epochs.
// expect: fit takes \.steps and \.epochs, of the whole run; write fit\(source, \{\.steps = 1000\}\)
namespace option_has_name_steps {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.epochs = 10, .validate_every = 100});
}
#else
void program() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.max_epochs = 10, .validate_every = 100});
}
#endif
}  // namespace option_has_name_steps

// ---- options_have_names ---------------------------------------------------------------------------------------------
// A number that could be any option.
// expect: a Trainer takes its options by name; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
// names: double
namespace options_have_names {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() { Train trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
void program() { Train trainer(1e-3); }
#endif
}  // namespace options_have_names

// ---- options_in_order -----------------------------------------------------------------------------------------------
// Options in another order than that of FitOptions, which C++ wants. Of {.batch_size = 32, .epochs = 3} g++ says this, too, before
// the sentence about batch_size: names of other libraries have a place among the options, and only one each. clang warns alone, and
// gives the sentence.
// compiler: (designator order .* does not match declaration order|ISO C\+\+ requires field designators to be specified in declaration order|out-of-order initializers are nonstandard)
namespace options_in_order {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

void program() {
  Trainer<Mlp> trainer;
#ifndef REGIMEN_MISUSE
  trainer.fit(Fake(), Fake(), {.steps = 1000, .validate_every = 100});
#else
  trainer.fit(Fake(), Fake(), {.validate_every = 100, .steps = 1000});
#endif
}
}  // namespace options_in_order

// ---- rule_options_stand_inside --------------------------------------------------------------------------------------
// A learning rate among the Trainer's own options.
// expect: these options are the update rule\'s; write them inside, Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
// names: regimen::AdamW::Options
namespace rule_options_stand_inside {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() { Train trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
void program() { Train trainer{{.learning_rate = 1e-3}}; }
#endif
}  // namespace rule_options_stand_inside
// SPDX-License-Identifier: Apache-2.0
