// Gradients that travel together: as many collectives as buckets, the same bits, the planned memory.
#include <regimen/comm/tracing.hpp>

#include "train/processes.hpp"
#include "train/wire.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

template <class Network, std::size_t Bytes, class... Policies>
using Bucketed = Trainer<Network, Batch<2>, Communicator<Threads>, Shard<Replicated, Bucket<Bytes>>, Policies...>;
template <class Network, class... Policies>
using Alone = Trainer<Network, Batch<2>, Communicator<Threads>, Shard<Replicated>, Policies...>;

/// Bytes of each reduction of a step that a rank of two sends, in order; and the step's in all, as planned and as
/// counted.
template <class Train>
std::vector<std::size_t> reductions() {
  static const Fake data({.samples = 64, .classes = 11, .seed = 3});
  std::vector<std::size_t> bytes;
  std::size_t all = 0;
  launch(2, [&](comm::Threads& communicator) {
    comm::Tracing<comm::Threads> tracing(communicator);
    Train trainer(tracing);
    trainer.fit(data, {.steps = 1, .progress = false});
    tracing.reset();
    trainer.fit(data, {.steps = 2, .progress = false});
    if (communicator.rank() != 0) return;
    for (const comm::Span& span : tracing.spans()) {
      if (span.kind == comm::CollectiveKind::ReduceScatter) bytes.push_back(span.bytes);
      if (span.kind != comm::CollectiveKind::AllGatherSmall) all += span.bytes;
    }
  });
  CHECK(all == Train::plan(Train::batch, 2).wire());
  return bytes;
}

/// Bytes that a rank of two sends when it reduces so many elements.
constexpr std::size_t norm = 4 * sent_once(norm_elements, 2, 4), block = 4 * sent_once(block_elements, 2, 4),
                      table = 4 * sent_once(table_elements, 2, 4), places = 4 * sent_once(position_elements, 2, 4),
                      head = 4 * sent_once(16 * 11 + 11, 2, 4);

}  // namespace

TEST_CASE("a bucket closes when it holds its bytes, and takes what lies side by side") {
  using Each = std::vector<std::size_t>;
  const Each one_by_one{head, norm, block, block, block, places, table};
  CHECK(reductions<Alone<Gpt<3>>>() == one_by_one);
  CHECK(reductions<Bucketed<Gpt<3>, 1>>() == one_by_one);
  CHECK(reductions<Bucketed<Gpt<3>, 2 * (block + norm + head)>>() ==
        Each{head + norm + block, 2 * block, places + table});
  CHECK(reductions<Bucketed<Gpt<3>, 2 * (block + norm + head) + 1>>() ==
        Each{head + norm + 2 * block, block + places + table});
  CHECK(reductions<Bucketed<Gpt<3>, 1_MiB>>() == Each{head + norm + 3 * block + places + table});
  // The table that two layers share ends last, and lies behind all others.
  CHECK(reductions<Bucketed<Tied<2>, 1_MiB>>() == Each{norm + 2 * block + places, table});
}

TEST_CASE("buckets change no bit") {
  for (const std::size_t ranks : {1u, 2u, 3u}) {
    const Outcome alone = train_on<Alone<Tied<3>, Clip<Norm<Ratio<1, 4>>>, Accumulate<2>>>(ranks);
    CHECK(train_on<Bucketed<Tied<3>, 1, Clip<Norm<Ratio<1, 4>>>, Accumulate<2>>>(ranks, true) == alone);
    CHECK(train_on<Bucketed<Tied<3>, 20_KiB, Clip<Norm<Ratio<1, 4>>>, Accumulate<2>>>(ranks, true) == alone);
    CHECK(train_on<Bucketed<Tied<3>, 1_MiB, Clip<Norm<Ratio<1, 4>>>, Accumulate<2>>>(ranks, true) == alone);
  }
  CHECK(train_on<Bucketed<Gpt<4>, 30_KiB, Checkpoint<Every<2>>, Precision<bf16, fp32>>>(4, true) ==
        train_on<Alone<Gpt<4>, Checkpoint<Every<2>>, Precision<bf16, fp32>>>(4));
}

TEST_CASE("frozen layers have nothing to send, and lie between those that have") {
  using Frozen = Freeze<LayerNorm, PositionEmbedding>;
  CHECK(reductions<Bucketed<Gpt<3>, 1_MiB, Frozen>>().size() == 1);
  CHECK(train_on<Bucketed<Gpt<3>, 1_MiB, Frozen>>(3, true) == train_on<Alone<Gpt<3>, Frozen>>(3));
}

TEST_CASE("a transport that needs room beside a bucket has it, as planned") {
  processes_agree<Trainer<Tied<3>, Batch<2>, Communicator<Tcp>, Shard<Replicated, Bucket<20_KiB>>>, Alone<Tied<3>>>(
      3, true);
}
// SPDX-License-Identifier: Apache-2.0
