// tests/comm/wrappers.hpp — what Background, Counting and Tracing must do around every communicator; run by each rank.
#pragma once

#include <regimen/comm/background.hpp>
#include <regimen/comm/counting.hpp>
#include <regimen/comm/tracing.hpp>

#include "comm/conformance.hpp"

#include <vector>

namespace conformance {

/// Many reductions and gathers are under way at once, and end as if each had been waited for.
template <class C>
void in_background(C& ranks) {
  using regimen::PendingCollective;
  constexpr std::size_t units = 300, count = 65;  // more than fit its queue
  const std::size_t n = ranks.size(), me = ranks.rank();
  std::vector<std::vector<float>> gradients(units), values(units);
  const std::size_t lane = C::staging_bytes(n, count * sizeof(float));
  Staging staging(lane);
  std::vector<PendingCollective> sums, wholes;
  {
    regimen::comm::Background<C> behind(ranks);
    check(behind.rank() == me && behind.size() == n, "Background is the rank that it stands for");
    for (std::size_t u = 0; u < units; ++u) {
      gradients[u].resize(n * count);
      for (std::size_t i = 0; i < n * count; ++i) gradients[u][i] = value<float>(me, i, u);
      values[u].resize(n * count);
    }
    for (std::size_t u = 0; u < units; ++u) {
      float* const own = values[u].data() + me * count;
      sums.push_back(behind.reduce_scatter(static_cast<const float*>(gradients[u].data()), own, count, staging.data()));
      auto* const bytes = reinterpret_cast<std::byte*>(values[u].data());
      wholes.push_back(behind.all_gather(bytes + me * count * sizeof(float), bytes, count * sizeof(float)));
    }
    for (std::size_t u = 0; u < units; ++u) {
      sums[u].wait();
      wholes[u].wait();
      wholes[u].wait();  // again is allowed
      for (std::size_t i = 0; i < n * count; ++i)
        check(same_bits(values[u][i], expected_sum<float>(n, i, u)), "Background equals blocking");
    }
    const std::byte message{static_cast<unsigned char>(me)};
    std::vector<std::byte> all(n);
    const PendingCollective small = behind.all_gather_small(&message, all.data(), 1);
    behind.barrier().wait();
    small.wait();
    for (std::size_t r = 0; r < n; ++r)
      check(all[r] == std::byte{static_cast<unsigned char>(r)}, "a small gather in the background");
    behind.wait_for_all();
  }
  ranks.barrier();  // the communicator is this thread's again
}

template <class C>
void counts(C& ranks) {
  using regimen::comm::CollectiveKind;
  using regimen::comm::Count;
  const std::size_t n = ranks.size(), me = ranks.rank(), others = n - 1;
  regimen::comm::Counting<C> counted(ranks);
  regimen::comm::Tracing<regimen::comm::Counting<C>> traced(counted, 4);
  static_assert(regimen::comm::Collectives<decltype(traced)>);
  std::vector<float> values(10 * n);
  std::vector<regimen::bf16> halves(10 * n);
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  Staging staging(C::staging_bytes(n, 40));
  traced.all_gather(bytes + 12 * me, bytes, 12);
  traced.all_gather(bytes + 4 * me, bytes, 4);
  traced.all_gather_small(bytes + 8 * me, bytes, 8);
  traced.reduce_scatter(static_cast<const regimen::bf16*>(halves.data()), halves.data() + 10 * me, 10, staging.data());
  traced.barrier();
  check(counted.count(CollectiveKind::AllGather) == Count{2, 16 * others}, "count of all_gather");
  check(counted.count(CollectiveKind::AllGatherSmall) == Count{1, 8 * others}, "count of all_gather_small");
  check(counted.count(CollectiveKind::ReduceScatter) == Count{1, 20 * others}, "count of reduce_scatter");
  check(counted.count(CollectiveKind::Barrier) == Count{1, 0}, "count of barrier");
  check(counted.total().calls == 5, "total of calls");
  const auto spans = traced.spans();
  check(traced.seen() == 5 && spans.size() == 4, "a trace keeps as many as it was told to, and knows of the rest");
  for (std::size_t i = 0; i < spans.size(); ++i) {
    check(spans[i].number == i && spans[i].begin <= spans[i].end && (i == 0 || spans[i - 1].end <= spans[i].begin),
          "spans follow one another");
  }
  check(spans[3].kind == CollectiveKind::ReduceScatter && spans[3].bytes == 20 * others, "a span knows what it was");
  const regimen::comm::Teams alone{1, 1};
  traced.all_gather(bytes, bytes, 4, alone);
  traced.reduce_scatter(static_cast<const float*>(values.data()), values.data(), 10, staging.data(), alone);
  if (n % 2 == 0) {
    traced.all_gather(bytes, bytes, 0, {2, n / 2});
    traced.reduce_scatter(static_cast<const float*>(values.data()), values.data() + 10 * (me / (n / 2)), 10,
                          staging.data(), {2, n / 2});
  }
  check(counted.count(CollectiveKind::ReduceScatter).bytes == 20 * others + (n % 2 == 0 ? 40 : 0),
        "a team's reduce_scatter sends to the team");
  check(counted.count(CollectiveKind::AllGather).bytes == 16 * others, "a team of one sends nothing");
  counted.reset();
  check(counted.total() == Count{}, "reset");
}

}  // namespace conformance
