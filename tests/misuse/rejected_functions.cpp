// All that takes a Trainer beside its members, around a recipe that does not compose: one error, whatever else the program
// contains.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
#include <regimen/regimen.hpp>

#include <regimen/models/gpt2.hpp>
#include <regimen/models/names.hpp>
#include <regimen/tune/search.hpp>
#include <regimen/watch/checkpoints.hpp>
#include <regimen/watch/find_rate.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/keep_best.hpp>
#include <regimen/watch/metrics.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/run_text.hpp>
#include <regimen/watch/tensorboard.hpp>

using namespace regimen;

struct Gpt : Gpt2Model<16, 8, 8, 2, 1> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Gpt, Precision<fp16, fp32>>;
#endif

constexpr auto of_gpt = names::list(
    names::layer("wpe"), names::repeat(1, "h.{}.", names::layer("ln_1"), names::layer("qkv"), names::layer("out"),
                                       names::layer("ln_2"), names::layer("up"), names::layer("down")),
    names::layer("ln_f"), names::tensor("wte.weight"));

int main() {
  Train trainer;
  names::load<of_gpt>(trainer, "gpt.safetensors");
  names::save<of_gpt>(trainer, "gpt.safetensors");
  names::save<of_gpt>(trainer, "gpt.safetensors", {.largest_file = 1'000'000});
  hugging_face::load(trainer, "gpt2.safetensors");
  hugging_face::save(trainer, "gpt2.safetensors");

  const Text data("text");
  const RateSweep sweep = find_rate(trainer, data, {.from = 1e-6});
  std::printf("%f %f\n", sweep.steepest(), find_rate(trainer, data).steepest());

  History history;
  KeepBest<Train> best;
  Checkpoints checkpoints("states", {.every = 10});
  TensorBoard board("runs");
  HtmlReport report("report.html");
  trainer.fit(data, data.blocks(), {.steps = 3}, history, best, checkpoints, board, report,
              [](auto& now, const Evaluation& found) { std::printf("%f %s\n", found.loss, run_text(now).c_str()); });
  best.restore(trainer);
  Perplexity perplexity;
  trainer.evaluate(data, perplexity);
  const std::string page = report_html(trainer, history), note = run_text(trainer, "a note");
  std::printf("%s\n%s\n", page.c_str(), note.c_str());

  const std::vector<std::int32_t> prompt{1};
  std::vector<std::int32_t> text = generate(trainer, prompt, 3);
  text = generate(trainer, prompt, 3, {.temperature = 0});

  tune::Search<tune::Recipes<Train>> search(
      "search", tune::Random{.trials = 20}, {tune::log_uniform("learning_rate", 1e-4, 1e-1)},
      [](auto& options, const tune::Values& values) { options.optimizer.learning_rate = values["learning_rate"]; },
      {.run = {.steps = 1000}, .at_once = 2});
  const tune::Found found = search.run(data, data.blocks());
  const tune::Tested tested = search.test(data);
  std::printf("%s\n%s %zu %f\n", found.table().c_str(), search.state_of(found.best()).c_str(), search.trials().axes().size(),
              tested.found.loss);
}
