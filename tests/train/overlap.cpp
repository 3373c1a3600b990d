// Overlap is shown, not assumed: what a rank computes between the start of a collective and the wait for it, and what
// the link does then.
#include <regimen/comm/tracing.hpp>
#include <regimen/engine/rank_trace.hpp>

#include "../../bench/delayed.hpp"
#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include "train/collectives.hpp"
#include "train/ranks.hpp"

#include <nlohmann/json.hpp>

#include <map>

using namespace regimen;
using namespace regimen::test;

namespace {

constexpr std::size_t ranks = 2, steps = 3, blocks = 4;
template <class Stage>
using Sharded = Trainer<Gpt<blocks>, Batch<2>, Communicator<Threads>, Shard<Stage>, Debug<Profile>>;

/// What each rank has recorded of its steps.
struct Record {
  OperationTimes times;
  std::vector<comm::Span> spans;
  std::vector<float> weights;

  std::vector<CollectiveTime> of(CollectiveTime::Kind kind, op::Phase phase) const {
    return collectives_of(times, kind, phase);
  }
  const comm::Span& span_of(const CollectiveTime& one) const { return spans.at(one.ticket - 1); }
};
double seconds(comm::Span::Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

template <class Train>
Record record(auto& communicator, const auto& traced) {
  Train trainer(communicator);
  trainer.profile().clear();
  trainer.fit(Fake({.samples = 43, .classes = 11, .seed = 3}), {.steps = steps, .progress = false});
  return {trainer.profile(), traced.spans(), support::weights_of(trainer)};
}

/// One of the ranks behind a link of 20 ms; all do the same.
template <class Train>
Record recorded(bool overlaps) {
  std::vector<Record> found(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    bench::Delayed slow(communicator, {.latency = 0.02});
    comm::Tracing traced(slow);
    bench::WaitedFor waited_for(traced);
    found[communicator.rank()] = overlaps ? record<Train>(traced, traced) : record<Train>(waited_for, traced);
  });
  return found[1];
}

}  // namespace

TEST_CASE(
    "ZeRO-3 gathers the next unit while this one computes, and reduces a unit while the next one's backward runs") {
  const Record record = recorded<Sharded<ZeRO3>>(true);
  constexpr std::size_t units = 2 + blocks + 2;  // two embeddings, the blocks, norm, output

  const auto forward = record.of(CollectiveTime::Kind::gather, op::Phase::forward);
  REQUIRE(forward.size() == steps * units);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    INFO(forward[i].path.text());
    if (i % units == 0) {
      CHECK(forward[i].operations_beside() == 0);  // of the first unit, before which nothing computes
      continue;
    }
    // Started as soon as the unit before it is whole, and before that one computes; awaited after it has computed.
    CHECK(forward[i].before == forward[i - 1].before_wait);
    CHECK(forward[i].operations_beside() > 0);
  }

  const auto backward = record.of(CollectiveTime::Kind::gather, op::Phase::backward);
  REQUIRE(backward.size() == steps * (blocks + 1));  // the last unit stays from forward, embeddings read no weights
  for (const CollectiveTime& one : backward) {
    INFO(one.path.text());
    CHECK(one.operations_beside() > 0);
  }

  const auto reduced = record.of(CollectiveTime::Kind::reduce, op::Phase::backward);
  REQUIRE(reduced.size() == steps * units);
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    INFO(reduced[i].path.text());
    if (i % units == units - 1) continue;  // behind the last one, no backward runs
    CHECK(reduced[i].operations_beside() > 0);
    CHECK(reduced[i].before_wait <= reduced[i + 1].before);
  }
}

TEST_CASE(
    "operations run while the link is busy; waited for at its start, it is idle then, and the bits are the same") {
  const Record with = recorded<Sharded<ZeRO3>>(true), without = recorded<Sharded<ZeRO3>>(false);
  CHECK(with.weights.size() > 1000);
  CHECK(with.weights == without.weights);
  const auto busy =
      [](const Record& record) {  // operations that began between the start of a collective and its end on the link
        const auto events = record.times.events();
        std::size_t count = 0;
        for (const CollectiveTime& one : record.times.collectives()) {
          if (one.ticket == 0) continue;
          const double end = seconds(record.span_of(one).end);
          CHECK(seconds(record.span_of(one).begin) >= one.started);
          CHECK(end - one.started >= 0.02);
          CHECK(end <= one.ended);
          for (const auto& event : events) count += event.began > one.started && event.began < end;
        }
        return count;
      };
  CHECK(busy(with) > 100);  // 627 where 20 ms are enough for all of them
  CHECK(busy(without) == 0);
}

TEST_CASE("Replicated and ZeRO-2 reduce a unit while the next one's backward runs") {
  const auto check = [](const Record& record) {
    const auto reduced = record.of(CollectiveTime::Kind::reduce, op::Phase::backward);
    REQUIRE(reduced.size() % steps == 0);
    const std::size_t units = reduced.size() / steps;
    CHECK(units == 2 + blocks + 2);
    for (std::size_t i = 0; i < reduced.size(); ++i)
      if (i % units != units - 1) CHECK(reduced[i].operations_beside() > 0);
  };
  check(recorded<Sharded<Replicated>>(true));
  check(recorded<Sharded<ZeRO2>>(true));
}

TEST_CASE("the trace of all ranks is JSON that Chrome reads: operations, waits and collectives, each with its unit") {
  std::vector<Record> found(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    comm::Tracing traced(communicator);
    found[communicator.rank()] = record<Sharded<ZeRO3>>(traced, traced);
  });
  RankTrace trace;
  for (std::size_t rank = 0; rank < ranks; ++rank) trace.add(rank, found[rank].times, found[rank].spans);
  const ::test::Directory directory;
  trace.write(directory / "trace.json");
  const auto events = nlohmann::json::parse(::test::get(directory / "trace.json")).at("traceEvents");
  std::map<std::string, std::size_t> count;
  for (const auto& event : events) {
    if (event.at("ph") != "X" || event.at("pid") != 1) continue;
    CHECK(event.at("dur").get<double>() >= 0);
    if (event.at("tid") == 2) ++count["link"];
    else ++count[event.at("cat") == "wait" ? "wait" : "operation"];
    if (event.at("tid") == 2) ++count[event.at("name")];
  }
  CHECK(count["operation"] == found[1].times.operations());
  CHECK(count["wait"] > 0);
  CHECK(count["gather 0 (embedding)"] == steps);
  CHECK(count["gather 3 (repeat), iteration 2"] == 2 * steps);  // for forward, and for backward
  CHECK(count["reduce 3 (repeat), iteration 2"] == steps);
  CHECK(count["all_gather_small"] >= steps);
}
// SPDX-License-Identifier: Apache-2.0
