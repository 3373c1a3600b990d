// A Trainer and an Inference work from any thread, whatever its current device: every member makes its own device
// current, and leaves the thread's as it was.
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

using Runtime = emulated::Runtime;

/// The error of body() on a thread of its own, whose device is number 0.
template <class Body>
std::string elsewhere(const Body& body) {
  std::string error;
  std::thread([&] {
    error = ::test::error_of(body);
    if (Runtime::current != 0) error += "; the thread's device has changed";
  }).join();
  return error;
}
/// Made where device number 1 is the thread's.
template <class T, class... Args>
std::unique_ptr<T> made_on_another(const Args&... args) {
  Runtime::current = 1;
  auto made = std::make_unique<T>(args...);
  Runtime::current = 0;
  return made;
}

using Train = Trainer<Gpt<2>, Batch<4>, Precision<bf16, fp32>, Device<Emulated>>;

}  // namespace

TEST_CASE("every member of a Trainer works from a thread of another device") {
  const ::test::Directory folder;
  auto trainer = made_on_another<Train>();
  std::vector<std::int32_t> tokens(8 * 4), targets(8 * 4);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = targets[i] = static_cast<std::int32_t>(i % 11);
  CHECK(elsewhere([&] { trainer->fit(fake_data(), {.steps = 3, .progress = false}); }) == "");
  CHECK(elsewhere([&] { (void)trainer->step(tokens, targets); }) == "");
  CHECK(elsewhere([&] {
          const auto loss = trainer->forward(tokens, targets);
          (void)trainer->gradient_divisor();
          auto gradients = trainer->backward(loss);
          (void)trainer->gradients();
          (void)trainer->apply(std::move(gradients));
        }) == "");
  CHECK(elsewhere([&] { (void)trainer->evaluate(fake_data()); }) == "");
  CHECK(elsewhere([&] { (void)trainer->predict(tokens); }) == "");
  CHECK(elsewhere([&] { (void)trainer->parameters(); }) == "");
  CHECK(elsewhere([&] { trainer->parameters_changed(); }) == "");
  CHECK(elsewhere([&] { trainer->save(folder / "state"); }) == "");
  CHECK(elsewhere([&] { trainer->save_whole(folder / "whole"); }) == "");
  CHECK(elsewhere([&] { trainer->save_in_background(folder / "later"); }) == "");
  CHECK(elsewhere([&] { trainer->fit(fake_data(), {.steps = 6, .progress = false}); }) == "");
  CHECK(elsewhere([&] { trainer->load(folder / "state"); }) == "");
  CHECK(elsewhere([&] { trainer->load_weights(folder / "whole"); }) == "");
  CHECK(elsewhere([&] { (void)trainer->used(); }) == "");
  CHECK(elsewhere([&] { trainer.reset(); }) == "");

  auto model = made_on_another<Inference<Gpt<2>, Batch<2>, Device<Emulated>>>();
  CHECK(elsewhere([&] { model->load(folder / "state"); }) == "");
  CHECK(elsewhere([&] { (void)model->predict(tokens); }) == "");
  CHECK(elsewhere([&] { (void)model->start(std::vector<std::int32_t>{1, 2}); }) == "");
  CHECK(elsewhere([&] { (void)model->next(3); }) == "");
  CHECK(elsewhere([&] { (void)model->parameters(); }) == "");
  CHECK(elsewhere([&] { model->parameters_changed(); }) == "");
  CHECK(elsewhere([&] { model.reset(); }) == "");
}

TEST_CASE("a stream or an event of another device than the thread's is refused") {
  Runtime device;
  const auto stream = device.make_stream();
  const auto event = device.make_event();
  Runtime::current = 1;
  ::test::refuses([&] { device.record(event, stream); }, "cudaErrorInvalidResourceHandle");
  ::test::refuses([&] { (void)device.make_event(); }, "cudaErrorInvalidResourceHandle");
  Runtime::current = 0;
}
