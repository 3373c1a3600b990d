// examples/11_run_vit_training.cpp — lesson 11: a choice of policies on the command line: each is a Trainer of its own.
//
//   run_vit_training --fake_data                                            a small vision transformer of small images, alone
//   torchrun --no-python --nproc-per-node 8 -- run_vit_training --embed_dim 2048 --num_heads 16 --num_blocks 16
//       --batch_size 256 --log_step_interval 1 --fake_data                  800 million parameters on eight ranks
//   REGIMEN_USE_BF16=1 run_vit_training --fake_data --no_grad_ckpt
//
// The flags are those of PyTorch/XLA's example of ViT with FSDP. What they choose is decided when this is compiled: two
// sizes by eight combinations of policies, and the command line picks one of these sixteen programs.
#include "vit.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

using namespace regimen;

/// A size that is compiled in, with the samples of a rank. Another size is another line in Sizes.
template <std::size_t Width, std::size_t HeadCount, std::size_t Blocks, std::size_t Samples, std::size_t Side = 224>
struct Size {
  struct Of : Vit800M::Of { static constexpr std::size_t image = Side, width = Width, heads = HeadCount, depth = Blocks; };
  struct Network : VitModel<Of> {};
  static constexpr std::size_t samples = Samples;
};
using Sizes = std::tuple<Size<64, 4, 2, 8, 56>, Size<2048, 16, 16, 32>>;

struct Flags {
  std::uint64_t embed_dim = 64, num_heads = 4, num_blocks = 2, batch_size = 0, log_step_interval = 20;
  bool fake_data = false, run_without_fsdp = false, no_grad_ckpt = false, bf16 = false;
};

/// Each call chooses one more policy by its flag. The last one trains, with AdamW, decay and clipping as in that example.
template <class One, class... Chosen>
int learn(const program::TcpRanks& ranks, const program::Options& options, const Flags& flags) {
  constexpr std::size_t chosen = sizeof...(Chosen);
  if constexpr (chosen == 0)
    return flags.bf16 ? learn<One, Precision<bf16, fp32, bf16>>(ranks, options, flags) : learn<One, Precision<fp32>>(ranks, options, flags);
  else if constexpr (chosen == 1)
    return flags.no_grad_ckpt ? learn<One, Chosen..., Checkpoint<None>>(ranks, options, flags) : learn<One, Chosen..., Checkpoint<Every<1>>>(ranks, options, flags);
  else if constexpr (chosen == 2)
    return flags.run_without_fsdp ? learn<One, Chosen..., Shard<Replicated>>(ranks, options, flags) : learn<One, Chosen..., Shard<ZeRO3>>(ranks, options, flags);
  else {
    using Train = Trainer<typename One::Network, Batch<One::samples>, Optimizer<AdamW>, Clip<Norm<Ratio<1>>>, Communicator<Tcp>, Chosen...>;
    auto settings = options.trainer<Train>();
    settings.optimizer.weight_decay = 0.1;
    settings.schedule = Schedule::warmup_cosine(std::min<std::uint64_t>(10'000, options.steps / 10), options.steps);
    return vit_lesson::timed<Train>(ranks, options, settings, flags.log_step_interval);
  }
}

/// The size that the flags name, if it is one of Sizes.
int dispatch(const program::TcpRanks& ranks, const program::Options& options, const Flags& flags) {
  const std::size_t world = comm::world_of_environment().size;
  std::string sizes;
  int code = -1;
  const auto try_size = [&]<class One>(One) {
    using Of = typename One::Of;
    const std::size_t batch = One::samples * world;
    sizes += (sizes.empty() ? "" : ", or ") + ("--embed_dim " + std::to_string(Of::width)) + " --num_heads " + std::to_string(Of::heads) + " --num_blocks " +
             std::to_string(Of::depth) + " --batch_size " + std::to_string(batch);
    if (code >= 0 || flags.embed_dim != Of::width || flags.num_heads != Of::heads || flags.num_blocks != Of::depth) return;
    if (flags.batch_size != 0 && flags.batch_size != batch) return;
    code = learn<One>(ranks, options, flags);
  };
  std::apply([&](auto... each) { (try_size(each), ...); }, Sizes{});
  if (code >= 0) return code;
  throw Error("the size", "one that is compiled in, which on " + std::to_string(world) + (world == 1 ? " rank is " : " ranks is ") + sizes,
              "--embed_dim " + std::to_string(flags.embed_dim) + " --num_heads " + std::to_string(flags.num_heads) + " --num_blocks " +
                  std::to_string(flags.num_blocks) + (flags.batch_size == 0 ? "" : " --batch_size " + std::to_string(flags.batch_size)),
              "add a line to Sizes in examples/11_run_vit_training.cpp");
}

int main(int argc, char** argv) {
  program::Options options{.steps = 40};
  Flags flags;
  program::CommandLine line("A vision transformer learns made-up images, with the policies that flags choose. With REGIMEN_USE_BF16=1 in the environment "
                            "activations and gradients are in bf16; weights and the optimizer's state stay in fp32.", options, nullptr);
  line.add("--embed_dim", flags.embed_dim, "Channels of a position", 1)
      .add("--num_heads", flags.num_heads, "Heads of attention", 1)
      .add("--num_blocks", flags.num_blocks, "Blocks", 1)
      .add("--batch_size", flags.batch_size, "Samples of a step, on all ranks together; 0: those of the size that is compiled in")
      .add("--log_step_interval", flags.log_step_interval, "Steps from one printed time to the next", 1)
      .add("--fake_data", flags.fake_data, "Made-up images. Required: folders of images are not read")
      .add("--run_without_fsdp", flags.run_without_fsdp, "Every rank keeps all weights and states, in place of a slice (Shard<Replicated>, not Shard<ZeRO3>)")
      .add("--no_grad_ckpt", flags.no_grad_ckpt, "Keep all activations, in place of computing blocks again in backward (Checkpoint<None>, not Checkpoint<Every<1>>)");
  const program::TcpRanks ranks(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  return program::run([&] {
    if (!flags.fake_data) throw Error("--fake_data", "made-up images", "none", "folders of images are not read; add --fake_data");
    const char* const bf16 = std::getenv("REGIMEN_USE_BF16");
    const std::string asked = bf16 == nullptr ? "0" : bf16;
    if (asked != "0" && asked != "1") throw Error("REGIMEN_USE_BF16", "0 or 1", "'" + asked + "'");
    flags.bf16 = asked == "1";
    return dispatch(ranks, options, flags);
  });
}
// SPDX-License-Identifier: Apache-2.0
