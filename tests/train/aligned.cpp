// On a device parameters begin at multiples of 16 bytes, whatever their sizes: no product reads slowly for their sake,
// and no gap between them reaches a result.
#include "train/aligned.hpp"

#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

struct Asked {
  explicit Asked(const emulated::Options& options) { emulated::Runtime::defaults = options; }
  Asked(const Asked&) = delete;
  ~Asked() { emulated::Runtime::defaults = {}; }
};

template <class Network, class... Policies>
void begins_at_16_bytes(const char* what) {
  INFO(what);
  using Train = Trainer<Network, Batch<3>, Device<Emulated>, Policies...>;
  using Step = typename Train::Recipe::Step;
  const auto tensors = programs::list_tensors<typename Train::Recipe::Bound>();
  for (const programs::TensorRecord& tensor : tensors) {
    INFO(tensor.name);
    const std::size_t master = tensor.master_offset + tensor.place.master * sizeof(typename Step::Master),
                      gradient = tensor.place.gradient * sizeof(typename Step::Reduce),
                      state = tensor.place.gradient * sizeof(typename Step::Master),
                      next_state = tensor.state_stride * sizeof(typename Step::Master);
    for (const std::size_t at : {tensor.place.values, master, gradient, state, next_state}) CHECK(at % 16 == 0);
    for (const std::size_t at : {tensor.unit.parameters, tensor.unit.gradients, tensor.unit.states})
      CHECK(at % 16 == 0);
  }
  const Asked asked({.alignment = 16});
  const ::test::Directory folder;
  Train trainer;
  trainer.fit(fake_data(), {.steps = 3, .progress = false});
  trainer.save(folder / "state");
  Inference<Network, Precision<typename Train::Recipe::Roles::computed>, Batch<2>, Device<Emulated>> model(folder /
                                                                                                           "state");
  CHECK(model.predict(std::vector<typename decltype(model)::Input>(decltype(model)::input_size)).size() ==
        decltype(model)::output_size);
}

template <class Network, class... Policies>
void trains_as_if_packed(const char* what) {
  INFO(what);
  const ::test::Directory folder;
  Trainer<Network, Batch<3>, Policies..., Device<Emulated>> apart;
  Trainer<Network, Batch<3>, Policies..., Device<Packed>> packed;
  CHECK(regimen::test::train(apart, folder / "apart") == regimen::test::train(packed, folder / "packed"));
  CHECK(apart.used().operations == packed.used().operations);
  CHECK(apart.plan().parameters == packed.plan().parameters);
  CHECK(apart.plan().trained == packed.plan().trained);
  CHECK(packed.plan().gaps == 0);
}

}  // namespace

TEST_CASE("parameters of odd sizes begin at multiples of 16 bytes, and every product promises it") {
  begins_at_16_bytes<UnevenGpt>("fp32");
  begins_at_16_bytes<UnevenGpt, Precision<bf16, fp32, bf16>, Optimizer<Sgd>>("bf16, also the gradients");
  begins_at_16_bytes<UnevenMlp, Precision<bf16, fp32>, Freeze<LayerNorm>>("an MLP in bf16 and fp32, in part frozen");
}

TEST_CASE("without the gaps products promise less") {
  const Asked asked({.alignment = 16});
  const std::string error = ::test::error_of([] { Trainer<UnevenGpt, Batch<3>, Device<Packed>>(); });
  INFO(error);
  CHECK(::test::says(error, "matrices at multiples of 16 bytes, found one at a multiple of "));
}

TEST_CASE("parameters with gaps train the bits of parameters without") {
  trains_as_if_packed<UnevenGpt, Clip<Norm<Ratio<1>>>>("fp32");
  trains_as_if_packed<UnevenGpt, Precision<bf16, fp32, bf16>, Accumulate<2>, Checkpoint<Every<2>>>(
      "bf16, also the gradients");
  trains_as_if_packed<UnevenMlp, Precision<bf16, fp32>, Freeze<Linear<9>>, Steps<3>>("bf16 and fp32, in part frozen");
}

TEST_CASE("a plan counts the gaps") {
  // Of fp32, with gradients and two states: 4 arrays. A tensor of n numbers is filled up to a multiple of 4.
  const auto filled = [](std::size_t numbers) { return (4 - numbers % 4) % 4; };
  const std::size_t norm = 2 * filled(9),
                    block = 2 * norm + filled(27 * 9) + filled(27) + filled(9 * 27) + filled(9) + filled(15 * 9) +
                            filled(15) + filled(9 * 15) + filled(9),
                    all = filled(5 * 9) + 3 * block + norm + filled(13 * 9);
  using Train = Trainer<UnevenGpt, Device<Emulated>>;
  CHECK(Train::plan().gaps == 4 * 4 * all);
  CHECK(Train::plan(1).gaps == Train::plan().gaps);
  CHECK(Train::plan().table().find(std::to_string(16 * all) + " bytes lie between parameters") != std::string::npos);
  CHECK(Inference<UnevenGpt, Device<Emulated>>::plan().gaps == 4 * all);
  // In bf16 tensors are filled up to a multiple of 8: 2 bytes of values, 4 of each of master weights, gradients,
  // states.
  CHECK(Trainer<Model<Input<Vector<3>>, Linear<5>>, Precision<bf16, fp32>, Device<Emulated>>::plan().gaps ==
        (1 + 3) * (2 + 4 * 4));
  CHECK(Trainer<UnevenGpt>::plan().gaps == 0);
  CHECK(Trainer<Gpt<3>, Precision<bf16, fp32>, Device<Emulated>>::plan().table().find(" between ") !=
        std::string::npos);  // the last bias has 11 numbers
  CHECK(Trainer<Model<Input<Vector<8>>, Linear<16>>, Device<Emulated>>::plan().table().find(" between ") ==
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
