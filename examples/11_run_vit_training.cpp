// examples/11_run_vit_training.cpp — lesson 11: a choice of policies on the command line: each is a Trainer of its own.
//
//   run_vit_training --fake_data                                            a small vision transformer of small images, alone
//   torchrun --no-python --nproc-per-node 8 -- run_vit_training --embed_dim 2048 --num_heads 16 --num_blocks 16
//       --batch_size 256 --log_step_interval 1 --fake_data                  800 million parameters on eight ranks
//   REGIMEN_USE_BF16=1 run_vit_training --fake_data --no_grad_ckpt
//
// The flags are those of PyTorch/XLA's example of ViT with FSDP. What they choose is decided when this is compiled: two
// sizes by eight combinations of policies, and the command line picks one of these sixteen programs. Numbers of the training
// (--lr, --num_epochs, --weight_decay, --warmup_steps, --num_workers) are no types: any will do.
//
// Flags of that example that are not here:
//   --mlp_ratio, --pos_dropout, --att_dropout, --mlp_dropout   parts of a Size: write Of::MlpRatio, or a Block with Dropout, there
//   --clip_grad_norm, --no_reshard_after_forward               policies: Clip<Norm<Ratio<1>>>; Shard<ZeRO2>, not Shard<ZeRO3>
//   --shard_on_cpu, --flatten_parameters                       always so: weights are drawn and cut on the host, tensor by tensor, and
//                                                              slices of a unit are flat
//   --ckpt_dir, --ckpt_epoch_interval, --resume_epoch          --save DIR, --save-every STEPS, --resume DIR: the last state, of any step
//   --data_dir, --test_epoch_interval                          lesson 12 reads and validates folders of images
#include "vit.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

using namespace regimen;

/// A size that is compiled in, with the samples of a rank. Another size is another line in Sizes.
template <std::size_t Width, std::size_t HeadCount, std::size_t Blocks, std::size_t Samples, std::size_t Side = 224, std::size_t Patch = 14, std::size_t Classes = 1000>
struct Size {
  struct Of : Vit800M::Of { static constexpr std::size_t image = Side, patch = Patch, width = Width, heads = HeadCount, depth = Blocks, classes = Classes; };
  struct Network : VitModel<Of> {};
  static constexpr std::size_t samples = Samples;
};
using Sizes = std::tuple<Size<64, 4, 2, 8, 56>, Size<2048, 16, 16, 32>>;

/// The size that flags name; 0: whatever is compiled in with the others.
struct SizeFlag { const char* name; std::uint64_t value; const char* text; };
using SizeFlags = std::array<SizeFlag, 7>;

struct Flags {
  SizeFlags size{{{"--embed_dim", 64, "Channels of a position"},
                  {"--num_heads", 4, "Heads of attention"},
                  {"--num_blocks", 2, "Blocks"},
                  {"--batch_size", 0, "Samples of a step, on all ranks together; 0: those of the size that is compiled in"},
                  {"--image_size", 0, "Height and width of an image; 0: likewise"},
                  {"--patch_size", 0, "Height and width of a patch; 0: likewise"},
                  {"--num_classes", 0, "Classes; 0: likewise"}}};
  std::uint64_t num_epochs = 0, num_images = 1'000'000, warmup_steps = 10'000, num_workers = 1, log_step_interval = 20;
  double weight_decay = 0.1;
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
    settings.optimizer.weight_decay = flags.weight_decay;
    settings.schedule = Schedule::warmup_cosine(std::min(flags.warmup_steps, options.steps / 10), options.steps);
    return vit_lesson::timed<Train>(ranks, options, settings, flags.log_step_interval, flags.num_images, flags.num_workers);
  }
}

/// "--embed_dim 64 --num_heads 4", without those of 0.
std::string words(const SizeFlags& size) {
  std::string all;
  for (const auto& [name, value, text] : size)
    if (value != 0) all += (all.empty() ? "" : " ") + std::string(name) + " " + std::to_string(value);
  return all;
}

/// The size that the flags name, if it is one of Sizes.
int dispatch(const program::TcpRanks& ranks, const program::Options& options, const Flags& flags) {
  const std::size_t world = comm::world_of_environment().size;
  if (flags.size[3].value % world != 0) throw Error("--batch_size", "samples that divide evenly among the " + std::to_string(world) + " ranks", std::to_string(flags.size[3].value));
  std::string sizes;
  SizeFlags missing = flags.size;   // the line that would compile it: what no flag says, as in the first of Sizes
  int code = -1;
  const auto try_size = [&]<class One>(One) {
    using Of = typename One::Of;
    const std::size_t batch = One::samples * world;
    const std::uint64_t compiled[] = {Of::width, Of::heads, Of::depth, batch, Of::image, Of::patch, Of::classes};
    SizeFlags own = flags.size;
    bool is_named = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
      is_named = is_named && (own[i].value == 0 || own[i].value == compiled[i]);
      own[i].value = compiled[i];
      if (missing[i].value == 0) missing[i].value = compiled[i];
    }
    sizes += (sizes.empty() ? "" : ", or ") + words(own);
    if (code >= 0 || !is_named) return;
    program::Options run = options;
    if (flags.num_epochs != 0) run.steps = flags.num_epochs * ((flags.num_images + batch - 1) / batch);   // each epoch ends with what is left
    code = learn<One>(ranks, run, flags);
  };
  std::apply([&](auto... each) { (try_size(each), ...); }, Sizes{});
  if (code >= 0) return code;
  std::string line;
  for (const SizeFlag& flag : missing) line += (line.empty() ? "" : ", ") + std::to_string(&flag == &missing[3] ? flag.value / world : flag.value);
  throw Error("the size", "one that is compiled in, which on " + std::to_string(world) + (world == 1 ? " rank is " : " ranks is ") + sizes, words(flags.size),
              "add Size<" + line + "> to Sizes in examples/11_run_vit_training.cpp, and build it again");
}

int main(int argc, char** argv) {
  program::Options options{.steps = 40};
  Flags flags;
  program::CommandLine line("A vision transformer learns made-up images, with the policies that flags choose. With REGIMEN_USE_BF16=1 in the environment "
                            "activations and gradients are in bf16; weights and the optimizer's state stay in fp32. Of PyTorch/XLA's example some flags are not "
                            "here: dropouts, MLP ratio, clipping and resharding, which are compiled in; shard_on_cpu and flatten_parameters, as weights "
                            "are always cut on the host, and flat; states of epochs, for which --save and --resume stand.", options, nullptr);
  for (auto& [name, value, text] : flags.size) line.add(name, value, text, value == 0 ? 0 : 1);
  line.add("--lr", options.learning_rate, "As --learning-rate", 0)
      .add("--num_epochs", flags.num_epochs, "End after so many epochs, not after --steps; 0: after --steps")
      .add("--num_images", flags.num_images, "Made-up images of an epoch", 1)
      .add("--weight_decay", flags.weight_decay, "Of AdamW", 0)
      .add("--warmup_steps", flags.warmup_steps, "In which the learning rate grows; of fewer than ten times as many steps a tenth")
      .add("--num_workers", flags.num_workers, "Threads that make images ready; 0: the one that trains")
      .add("--log_step_interval", flags.log_step_interval, "Steps from one printed time to the next", 1)
      .add("--fake_data", flags.fake_data, "Made-up images. Required: folders of images are not read")
      .add("--run_without_fsdp", flags.run_without_fsdp, "Every rank keeps all weights and states, in place of a slice (Shard<Replicated>, not Shard<ZeRO3>)")
      .add("--no_grad_ckpt", flags.no_grad_ckpt, "Keep all activations, in place of computing blocks again in backward (Checkpoint<None>, not Checkpoint<Every<1>>)")
      .either("--lr", "--learning-rate")
      .either("--num_epochs", "--steps");
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
