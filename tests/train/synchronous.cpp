// Debug<Synchronous> and Debug<Profile> on a device that works late: each operation and each copy is waited for, named,
// and measured.
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

#include "support/on_runtime.hpp"

#include <array>
#include <span>
#include <string>

namespace {

/// Loses its device in a copy of so many bytes, when it is done.
struct Loses : regimen::emulated::Runtime {
  static constexpr std::size_t unlucky = 52;

  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    Runtime::upload(to, from, bytes, stream);
    if (bytes == unlucky) lose(stream);
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    Runtime::download(to, from, bytes, stream);
    if (bytes == unlucky) lose(stream);
  }

 private:
  void lose(Stream stream) {
    enqueue(stream, [] { throw regimen::Error("the device", "to be there", "no answer"); });
  }
};

/// Writes behind its memory.
struct Stray final {
  static constexpr const char* name = "stray";
  regimen::View<float> at;

  constexpr regimen::Cost cost() const { return {0, 4, 1}; }
};

}  // namespace

template <>
struct regimen::kernel::Kernel<Stray> final {
  static constexpr unsigned threads = warp_lanes;
  Stray o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }
  template <class Block>
  void operator()(const Block& block) const {
    if (block.thread() == 0) *at(o.at) = 1;
  }
};

using namespace regimen;
using namespace regimen::test;

TEST_CASE("an engine that waits names the operation and the layer of an error") {
  using Engine = engines::OfConfiguration<ConfigurationOf<Device<Emulated>>>::type;
  const auto error = [](bool waits) {
    Engine engine({.bytes = 100, .captures = false, .waits = waits});
    engine.name_layer(LayerPath::outside(1, "input"));
    return ::test::error_of([&] {
      engine.run(Stray{{0}});
      engine.run(Stray{{104}});
      engine.run(Stray{{4}});
      engine.download(0, {}).wait();
    });
  };
  INFO(error(true));
  CHECK(::test::says(error(true), "the operation stray, at or after layer"));
  CHECK(::test::says(error(true), "input"));
  INFO(error(false));
  CHECK(error(false).find("the operation") == std::string::npos);
  CHECK(::test::says(error(false), "no write behind the end"));
}

TEST_CASE("an engine that waits names the copy of an error") {
  using Engine = engines::OfConfiguration<ConfigurationOf<Device<OnRuntime<Loses>>>>::type;
  std::array<std::byte, Loses::unlucky> here{};
  const auto error = [&](bool waits, auto&& copy) {
    Engine engine({.bytes = 256, .captures = false, .waits = waits, .host_bytes = 128});
    std::string found = "nothing";
    try {
      copy(engine);
      found = "late";
      engine.download(0, {}).wait();
    } catch (const Error& caught) { found = waits || found == "late" ? caught.what() : "too early"; }
    return found;
  };
  const auto check = [&](const char* name, auto&& copy) {
    INFO(name << ": " << error(true, copy));
    CHECK(::test::says(error(true, copy), std::string(name) + ", of 52 bytes: expected its end without an error"));
    CHECK(::test::says(error(true, copy), "no answer"));
    CHECK(::test::says(error(false, copy), "no answer"));
    CHECK_FALSE(::test::says(error(false, copy), name));
  };
  check("a copy to the device", [&](Engine& engine) { engine.upload(0, here); });
  check("a copy from the device", [&](Engine& engine) { engine.download(0, here); });
  check("a copy of inputs to the device",
        [&](Engine& engine) { engine.feed(0, 0, here.size(), [](std::span<std::byte>) {}); });
  const engines::HostCopy moved{.at = 0, .host = 0, .bytes = here.size()};
  check("a copy of saved tensors to the host", [&](Engine& engine) { engine.await_copy(engine.offload(moved)); });
  check("a copy of saved tensors from the host", [&](Engine& engine) { engine.await_copy(engine.fetch(moved)); });
}

TEST_CASE("a run that waits for each operation has the same bits, and a profile has every operation") {
  using Quick = Trainer<Gpt<2>, Batch<4>, Device<Emulated>>;
  using Slow = Trainer<Gpt<2>, Batch<4>, Device<Emulated>, Debug<Profile, Synchronous>>;
  Quick quick;
  Slow slow;
  const FitOptions run{.steps = 4, .remainder = Remainder::Wrap, .progress = false};
  quick.fit(fake_data(), run);
  slow.fit(fake_data(), run);
  CHECK(support::weights_of<double>(quick) == support::weights_of<double>(slow));
  CHECK(slow.profile().operations() == 4 * Slow::plan().operations());
  std::size_t fed = 0, read = 0;
  for (const CopyTime& copy : slow.profile().copies()) {
    if (copy.kind == CopyTime::Kind::feed) {
      fed = copy.calls;
      CHECK(copy.bytes == 4 * (256 + 256 + 256));  // 64 bytes, 4 * 8 tokens, and as many targets, in whole 256
    }
    if (copy.kind == CopyTime::Kind::download) read = copy.calls;
  }
  CHECK(fed == 4);
  CHECK(read >= 4);  // the numbers of each step, and weights
}
