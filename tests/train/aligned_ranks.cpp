// Gaps between parameters reach neither another rank nor a file, and ranks with gaps train the bits of ranks without.
#include "train/aligned.hpp"

#include <regimen/saves/safetensors.hpp>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

/// Weights and optimizer state, as a file has them.
std::map<std::string, std::string> tensors_of_file(const std::string& path) {
  const safetensors::File file(path);
  std::map<std::string, std::string> all;
  for (const safetensors::Tensor& tensor : file.tensors())
    all[tensor.name] = std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return all;
}

/// What every rank's weights and losses are; rank 0 leaves the state of the eighth step in `file`.
template <class Network, class... Policies>
std::vector<std::vector<double>> on_uneven_ranks(std::size_t ranks, const std::string& file) {
  std::vector<std::vector<double>> found(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    Trainer<Network, Batch<2>, Communicator<Threads>, Policies...> trainer(communicator);
    trainer.poison_dead_memory();
    trainer.fit(fake_data(), {.steps = 4, .progress = false});
    trainer.save(file);
    const double loss = trainer.evaluate(fake_data()).loss;
    trainer.load(file);
    const double last = trainer.fit(fake_data(), {.steps = 8, .progress = false}).loss;
    trainer.save_whole(file + ".whole");
    trainer.save(file);
    std::vector<double>& own = found[communicator.rank()];
    own = support::weights_of<double>(trainer);
    own.insert(own.end(), {loss, last});
    if (trainer.used().peak != trainer.planned().peak) throw std::logic_error("used is not what was planned");
  });
  return found;
}

template <class Format, class... Policies>
void shards_without_the_gaps(const char* what) {
  INFO(what);
  const ::test::Directory folder;
  const auto replicated = on_uneven_ranks<UnevenGpt, Format, Policies..., Device<Packed>>(2, folder / "packed");
  const auto whole = tensors_of_file(folder / "packed.whole");
  const auto trains_the_same = [&]<class... Sharding>(const char* sharding, std::type_identity<Sharding>...) {
    INFO(sharding);
    CHECK(on_uneven_ranks<UnevenGpt, Format, Policies..., Sharding..., Device<Emulated>>(2, folder / "state") ==
          replicated);
    CHECK(tensors_of_file(folder / "state.whole") == whole);
    // One rank on the CPU reads the parts of both, and what it writes is read on the device.
    Trainer<UnevenGpt, Batch<4>, Format> here;
    here.load(folder / "state");
    here.save(folder / "here");
    CHECK(tensors_of_file(folder / "here") == whole);
    Trainer<UnevenGpt, Batch<4>, Format, Device<Emulated>> there;
    there.load(folder / "here");
    there.save(folder / "there");
    CHECK(tensors_of_file(folder / "there") == whole);
  };
  trains_the_same("Replicated", std::type_identity<Shard<Replicated>>{});
  trains_the_same("ZeRO1", std::type_identity<Shard<ZeRO1>>{});
  trains_the_same("ZeRO2", std::type_identity<Shard<ZeRO2>>{});
  trains_the_same("ZeRO3", std::type_identity<Shard<ZeRO3>>{}, std::type_identity<Checkpoint<Every<2>>>{});
}

}  // namespace

TEST_CASE("ranks share parameters with gaps, and save and load them without") {
  shards_without_the_gaps<Precision<fp32>>("fp32");
  shards_without_the_gaps<Precision<bf16, fp32>, Accumulate<2, ReduceEach>>("bf16, reduced each time");
  const ::test::Directory folder;
  CHECK(on_uneven_ranks<UnevenGpt, Shard<Hybrid<2>>, Device<Emulated>>(4, folder / "hybrid") ==
        on_uneven_ranks<UnevenGpt, Shard<Replicated, Bucket<1_KiB>>, Device<Packed>>(4, folder / "buckets"));
  CHECK(tensors_of_file(folder / "hybrid.whole") == tensors_of_file(folder / "buckets.whole"));
}
// SPDX-License-Identifier: Apache-2.0
