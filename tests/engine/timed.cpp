// The measuring engine: the same bits, every operation of the plan, a table and a trace.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>

using namespace regimen;

namespace {
using Plain = Trainer<tiny::Gpt, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>>;
using Profiled =
    Trainer<tiny::Gpt, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>, Debug<Profile>>;
static_assert(Plain::plan().peak == Profiled::plan().peak);

template <class Train>
void run(Train& trainer, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) trainer.step(tiny::tokens(8, i), tiny::tokens(8, 100 + i));
}
}  // namespace

TEST_CASE("a timed engine computes the same bits") {
  Plain plain;
  Profiled profiled;
  run(plain, 3);
  run(profiled, 3);
  const auto a = tiny::weights(plain), b = tiny::weights(profiled);
  CHECK(tiny::same_bits(std::span<const float>(a), std::span<const float>(b)));
  CHECK(plain.used().peak == profiled.used().peak);
}

TEST_CASE("a profile tells convolutions of different shapes apart") {
  const op::Convolution o{.samples = 2,
                          .height = 5,
                          .width = 7,
                          .channels = 6,
                          .out_channels = 8,
                          .window_height = 3,
                          .window_width = 3,
                          .stride = 2,
                          .padding = 1,
                          .groups = 2};
  CHECK(OperationShape::of(op::Conv<float>{{0}, {0}, {0}, o}).text() == "24x8x9x3");  // pixels, outputs, window, inputs
}

TEST_CASE("a profile has every operation of the plan, phase by phase") {
  Profiled trainer;
  CHECK(trainer.profile().operations() == 0);
  run(trainer, 2);
  trainer.profile().clear();
  run(trainer, 3);
  const MemoryPlan& plan = Profiled::plan();
  const OperationTimes& times = trainer.profile();
  CHECK(times.operations() == 3 * plan.operations());
  std::array<Cost, 3> found{};
  double seconds = 0;
  for (const OperationTime& row : times.rows()) {
    found[static_cast<std::size_t>(row.phase)] += {row.flops, row.bytes, row.calls};
    seconds += row.seconds;
    CHECK(row.calls % 3 == 0);
    CHECK(row.fastest * double(row.calls) <= row.seconds * (1 + 1e-12));
  }
  CHECK(seconds == Approx(times.seconds()));
  for (std::size_t phase = 0; phase < 3; ++phase) {
    const Cost& planned = phase == 0 ? plan.forward : phase == 1 ? plan.backward : plan.update;
    CHECK(found[phase].operations == 3 * planned.operations);
    CHECK(found[phase].flops == Approx(3 * planned.flops));
    CHECK(found[phase].bytes == Approx(3 * planned.bytes));
  }
  const std::string table = times.table();
  for (const OperationTime& row : times.rows()) CHECK(table.find(std::string(row.phase_name())) != std::string::npos);
  CHECK(table.find("product 24x8x32 NT") != std::string::npos);
  CHECK(table.find("attention 4x6x2x4 causal") != std::string::npos);
}

TEST_CASE("a trace is JSON that Chrome reads") {
  Profiled trainer;
  run(trainer, 2);
  test::Directory directory;
  trainer.profile().write_trace(directory / "trace.json");
  const test::Bytes text = test::get(directory / "trace.json");
  const nlohmann::json trace = nlohmann::json::parse(text);
  const auto& events = trace.at("traceEvents");
  REQUIRE(events.size() == 2 * Profiled::plan().operations());
  double ended = 0;
  for (const auto& event : events) {
    CHECK(event.at("ph") == "X");
    CHECK(event.at("ts").get<double>() >= ended - 2e-3);  // one behind the other; three digits are written
    CHECK(event.at("dur").get<double>() >= 0);
    ended = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  CHECK(events.front().at("name") == "begin_step");
  CHECK(events.back().at("name") == "update");
}

TEST_CASE("a trace keeps the latest operations, the table all") {
  OperationTimes times;
  const std::size_t count = OperationTimes::trace_limit + 5;
  for (std::size_t i = 0; i < count; ++i) times.add("add", op::Phase::forward, {}, {1, 2, 1}, double(i), 0.5);
  CHECK(times.operations() == count);
  CHECK(times.rows().front().flops == double(count));
  const nlohmann::json trace = nlohmann::json::parse(times.trace());
  CHECK(trace.at("traceEvents").size() == OperationTimes::trace_limit);
  CHECK(trace.at("traceEvents").front().at("ts").get<double>() == 5e6);
  CHECK(trace.at("traceEvents").back().at("ts").get<double>() == double(count - 1) * 1e6);
}
