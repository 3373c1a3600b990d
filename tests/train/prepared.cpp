// All that a step needs of the libraries is made when its Trainer is, or before the first step of fit; its second run is
// a graph.
#include "support/on_runtime.hpp"
#include "train/deferred.hpp"

#include <regimen/layer/conv.hpp>
#include <regimen/trainers/inference.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Counts what it is asked for. Ranks have one each, in threads of their own.
///   late   what was made after its runtime had run a kernel in this round
struct Counting : emulated::Runtime {
  static inline std::atomic<std::size_t> made = 0, loaded = 0, captures = 0, round = 0, late = 0;
  static inline std::atomic<bool> has_algorithms = true;

  Product make_product(const cuda::ProductDescriptor& descriptor) {
    if (!has_algorithms) throw Error("a product", "an algorithm", "none for its types and extents");
    note();
    return Runtime::make_product(descriptor);
  }
  Attention make_attention(const cuda::FusedAttention& attention) {
    if (!has_algorithms) throw Error("attention", "a kernel", "none");
    note();
    return Runtime::make_attention(attention);
  }
  Convolution make_convolution(const cuda::ConvolutionDescriptor& convolution) {
    if (!has_algorithms) throw Error("a convolution", "an engine", "none");
    note();
    return Runtime::make_convolution(convolution);
  }
  template <class... Arguments>
  void launch(const Arguments&... arguments) {
    ran_in_ = round;
    Runtime::launch(arguments...);
  }
  template <class Kernel>
  void prepare(const Kernel& kernel, cuda::Grid grid) {
    ++loaded;
    Runtime::prepare(kernel, grid);
  }
  void begin_capture(Stream stream) {
    ++captures;
    Runtime::begin_capture(stream);
  }

 private:
  void note() {
    ++made;
    late += ran_in_ == round;
  }
  std::size_t ran_in_ = ~std::size_t{0};
};
using Counted = Device<OnRuntime<Counting>>;

void begin_round() {
  ++Counting::round;
  Counting::late = 0;
}

const Fake& whole_batches() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 3});
  return fake;
}

template <class Train>
void step_by_hand(Train& trainer) {
  for (auto batches = trainer.batches(whole_batches(), {}); auto next = batches.next();) {
    trainer.apply(trainer.unscale(trainer.backward(trainer.scale(trainer.forward(next.input, next.target)))));
    return;
  }
}

/// A whole run on full batches: of fit, of a loop by hand, of evaluation and prediction.
template <class Network, class... Policies>
void is_prepared(const char* what, std::size_t captures) {
  INFO(what);
  using Train = Trainer<Network, Policies..., Counted>;
  Counting::made = Counting::loaded = Counting::captures = 0;
  Train trainer;
  const std::size_t made = Counting::made;
  CHECK(made > 0);
  CHECK(Counting::loaded > made);
  CHECK(Counting::captures == 0);
  CHECK(trainer.used().peak < Train::plan().peak);  // no memory was used so far
  trainer.fit(whole_batches(), {.steps = 8, .progress = false});
  trainer.evaluate(whole_batches());
  CHECK(Counting::captures == captures);
  std::vector<typename Train::Input> inputs(2 * Train::batch * Train::input_size);
  trainer.predict(inputs);
  step_by_hand(trainer);
  CHECK(Counting::made == made);
  CHECK(trainer.used().peak == Train::plan().peak);
}

}  // namespace

TEST_CASE("no product is made after a Trainer is constructed, and each piece of a step is captured once") {
  is_prepared<Gpt<3>, Batch<4>>("a GPT", 2);  // the step and an evaluation
  is_prepared<Gpt<3>, Batch<4>, Graph<Off>>("without graphs", 0);
  is_prepared<Gpt<3>, Batch<4>, Debug<Synchronous, Anomaly>>("with a wait after each operation", 0);
  is_prepared<Gpt<3>, Batch<2>, Accumulate<3>, Clip<Norm<Ratio<1>>>>("accumulated", 4);
  is_prepared<Gpt<3>, Batch<4>, Steps<3>, Checkpoint<Every<2>>>("three steps a launch", 3);  // and one
  is_prepared<Tied<2>, Batch<4>, Precision<bf16, fp32>, Checkpoint<Selective<LayerNorm>>>("tied, bf16", 2);
  is_prepared<Gpt<2>, Batch<4>, Attention<Tiled>, Epilogue<Separate>>("in tiles", 2);
  is_prepared<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>>("fp16", 2);
}

using PlainBlock = Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>;
struct PlainGpt final : Model<Input<Tokens<8>>, Table, Repeat<3, PlainBlock>, LayerNorm, Linear<11>> {};

struct OfImages final : Model<Input<Image<5, 4, 3>>, Conv2d<6, 3, Padding<1>>, Gelu, Conv2d<6, 3>, Flatten, Linear<5>> {
};

TEST_CASE("cuDNN compiles its kernels when a Trainer is constructed") {
  is_prepared<OfImages, Batch<4>, Precision<bf16, fp32>, Convolution<Cudnn>>("convolutions of cuDNN", 2);
  is_prepared<PlainGpt, Batch<4>, Precision<bf16, fp32>, Attention<Cudnn>>("cuDNN", 2);
}

namespace {

Fake samples(std::size_t count) { return Fake({.samples = count, .classes = 5, .seed = 3}); }

/// A run whose epochs and evaluations end with batches that are not full: nothing is made after its first operation.
template <class Network, class... Policies>
void fit_is_prepared(const char* what, std::size_t size, std::size_t validation_size, const FitOptions& run,
                     const std::string& state = {}) {
  INFO(what);
  Trainer<Network, Policies..., Counted> trainer;
  if (!state.empty()) trainer.load(state);
  const std::size_t before = Counting::made;
  begin_round();
  const Fitted fitted = trainer.fit(samples(size), samples(validation_size), run);
  CHECK(fitted.steps > 0);
  CHECK(Counting::made > before);
  CHECK(Counting::late == 0);
  trainer.evaluate(samples(validation_size));
  CHECK(Counting::late == 0);
}

}  // namespace

TEST_CASE("all that the short batches of a run need is made before its first step") {
  const FitOptions twice{.epochs = 2, .validate_every = 3, .progress = false};
  fit_is_prepared<Gpt<3>, Batch<4>>("a GPT", 22, 9, twice);
  fit_is_prepared<Gpt<3>, Batch<4>, Graph<Off>>("a source that is smaller than a batch", 3, 2, twice);
  fit_is_prepared<Gpt<3>, Batch<4>, Accumulate<3>>("accumulated", 22, 5, twice);
  fit_is_prepared<Gpt<3>, Batch<4>, Accumulate<3>>("accumulated, by steps", 23, 8, {.steps = 4, .progress = false});
  fit_is_prepared<Gpt<3>, Batch<4>, Steps<2>>("two steps a launch", 22, 9, twice);
  fit_is_prepared<Mlp, Batch<4>, Debug<Profile>>("measured", 22, 9, twice);
  fit_is_prepared<Gpt<2>, Batch<4>>("across epochs", 11, 9,
                                    {.epochs = 2, .remainder = Remainder::Wrap, .progress = false});
  const ::test::Directory folder;
  Trainer<Gpt<2>, Batch<3>> begins;
  begins.fit(samples(22), {.steps = 3, .progress = false});
  begins.save(folder / "state");  // after 9 samples: 13 are left, then 22
  fit_is_prepared<Gpt<2>, Batch<4>>("resumed with another batch", 22, 4, {.epochs = 2, .progress = false},
                                    folder / "state");
}

TEST_CASE("what a run does not use is not made, and nothing twice") {
  Counting::made = Counting::captures = 0;
  Trainer<Gpt<3>, Batch<4>, Counted> trainer;
  const std::size_t made = Counting::made;
  trainer.fit(samples(22), {.steps = 5, .progress = false});
  CHECK(Counting::made == made);
  trainer.fit(samples(22), {.steps = 6, .progress = false});  // the sixth step has two samples
  const std::size_t with_short = Counting::made;
  CHECK(with_short > made);
  CHECK(Counting::captures == 1);  // the short batch ran by calls
  trainer.fit(samples(22), {.steps = 12, .progress = false});
  CHECK(Counting::made == with_short);
  CHECK(Counting::captures == 2);
}

TEST_CASE("a measurement does not count what is prepared") {
  Trainer<Mlp, Batch<4>, Debug<Profile>, Counted> trainer;
  const std::size_t before = trainer.used().operations;
  trainer.fit(samples(6), {.epochs = 1, .progress = false});
  CHECK(trainer.profile().operations() == trainer.used().operations - before);
}

TEST_CASE("a short batch that the device cannot do is an error before the first step, and the Trainer goes on") {
  Trainer<Gpt<2>, Batch<4>, Counted> trainer;
  Counting::has_algorithms = false;
  const std::string error = ::test::error_of([&] { trainer.fit(samples(22), {.epochs = 1, .progress = false}); });
  INFO(error);
  CHECK(::test::says(error, "a shorter batch, of 2 in place of 4"));
  CHECK(::test::says(error, "none for its types and extents"));
  CHECK(trainer.steps_done() == 0);
  const std::string evaluating = ::test::error_of([&] { trainer.evaluate(samples(9)); });
  INFO(evaluating);
  CHECK(::test::says(evaluating, "a shorter batch, of 1 in place of 4"));
  Counting::has_algorithms = true;
  trainer.fit(samples(22), {.epochs = 1, .progress = false});
  CHECK(trainer.steps_done() == 6);
}

TEST_CASE("ranks prepare, too, and tell nobody of it") {
  Counting::made = 0;
  std::atomic<std::size_t> made = 0;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<Gpt<3>, Batch<2>, Accumulate<2, ReduceEach>, Communicator<Threads>, Shard<ZeRO3>, Counted> trainer(
        communicator);
    trainer.on_all_ranks(true);
    made = Counting::made.load();
    trainer.on_all_ranks(true);
    trainer.fit(whole_batches(), {.steps = 6, .progress = false});
    trainer.evaluate(whole_batches());
  });
  CHECK(made > 0);
  CHECK(Counting::made == made);
}

TEST_CASE("ranks prepare their own parts of short batches, also where they are empty") {
  for (const std::size_t size : {std::size_t{23}, std::size_t{13}}) {  // the last batches: 4, 4 and 3, or 1, 0 and 0
    INFO(size);
    std::atomic<std::size_t> made = 0;
    launch(3, [&](comm::Threads& communicator) {
      Trainer<Gpt<3>, Batch<4>, Accumulate<2>, Communicator<Threads>, Shard<ZeRO3>, Counted> trainer(communicator);
      trainer.on_all_ranks(true);
      if (communicator.rank() == 0) {
        made = Counting::made.load();
        begin_round();
      }
      trainer.on_all_ranks(true);
      trainer.fit(samples(size), samples(14), {.epochs = 2, .progress = false});
    });
    CHECK(Counting::made > made);
    CHECK(Counting::late == 0);
  }
}

TEST_CASE("an Inference is prepared for batches, for a text and for a token") {
  const ::test::Directory folder;
  Trainer<Gpt<2>, Batch<4>> trainer;
  trainer.save(folder / "state");
  Counting::made = 0;
  Inference<Gpt<2>, Batch<4>, Counted> model(folder / "state");
  const std::size_t made = Counting::made;
  CHECK(made > 0);
  const std::vector<std::int32_t> tokens(4 * 8, 3);
  model.predict(tokens);
  model.start(std::span(tokens).first(5));
  model.next(2);
  CHECK(Counting::made == made);
}

TEST_CASE("a product that the device lacks is an error of the constructor, which names its layer") {
  Counting::has_algorithms = false;
  const auto error = []<class... Policies>(std::type_identity<Policies>...) {
    return ::test::error_of([] { Trainer<PlainGpt, Policies..., Counted> trainer; });
  };
  const std::string first = error(std::type_identity<Batch<4>>{}),
                    attention =
                        error(std::type_identity<Precision<bf16, fp32>>{}, std::type_identity<Attention<Cudnn>>{});
  Counting::has_algorithms = true;
  INFO(first);
  CHECK(::test::says(first, "the operation product_bias"));
  CHECK(::test::says(first, "at or after layer 1.0.1 (linear), iteration 0"));
  CHECK(::test::says(first, "none for its types and extents"));
  CHECK_FALSE(attention.empty());
}
// SPDX-License-Identifier: Apache-2.0
