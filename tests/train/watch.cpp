// What watches a run: its history, its best weights, its saved states, the learning rates that it could have.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/lamb.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/watch/chart.hpp>
#include <regimen/watch/checkpoints.hpp>
#include <regimen/watch/find_rate.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/keep_best.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/tensorboard.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace regimen;
using support::weights_of;

namespace {

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
using Alone = Trainer<Net, Batch<10>>;
using Ranks = Trainer<Net, Batch<5>, Communicator<Threads>, Shard<ZeRO1>>;

const Fake& samples() {
  static const Fake of({.samples = 43, .classes = 4});
  return of;
}
/// Other labels than the model learns: its loss rises as training goes on.
struct Wrong {
  std::size_t size(const SampleShape& shape) const { return samples().size(shape); }
  void read(std::size_t index, Sample<float, std::int32_t> sample) const {
    samples().read(index, sample);
    sample.target[0] = (sample.target[0] + 1) % 4;
  }
};

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found.insert(entry.path().filename().string());
  return found;
}
std::string text_in(const std::string& path) {
  const ::test::Bytes bytes = ::test::get(path);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a history has what fit tells, and its table gives the numbers back") {
  Alone trainer({.threads = 1});
  History history;
  std::vector<double> losses;
  const Fitted fitted = trainer.fit(samples(), samples(), {.epochs = 2, .validate_every = 4, .progress = false},
                                    history, [&](auto&, const StepResult& step) { losses.push_back(step.loss); });
  REQUIRE(history.steps.size() == 10);
  REQUIRE(history.epochs.size() == 2);
  REQUIRE(history.evaluations.size() == 3);
  CHECK(history.evaluations[0].step == 4);
  CHECK(history.evaluations[2].evaluation.loss == fitted.validation_loss);
  for (std::size_t i = 0; i < 10; ++i) CHECK(history.steps[i].loss == losses[i]);
  history.steps[3].loss = no_value;
  const ::test::Directory folder;
  history.save_csv(folder / "run.csv");
  const std::string text = text_in(folder / "run.csv");
  std::size_t line = 0, at = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1, ++line) {
    std::vector<std::string> cells(1);
    for (const char letter : text.substr(at, end - at))
      if (letter == ',') cells.emplace_back();
      else cells.back() += letter;
    REQUIRE(cells.size() == 12);
    if (line == 0) CHECK(cells[3] == "loss");
    if (line == 4) CHECK(cells[3] == "nan");
    if (line >= 1 && line <= 10 && line != 4) CHECK(std::stod(cells[3]) == losses[line - 1]);
    if (line == 10) CHECK(cells[5] == "3");
    if (line == 12) CHECK(cells[0] + cells[1] + cells[2] == "epoch101");
    if (line == 12) CHECK(std::stod(cells[3]) == history.epochs[1].loss);
    if (line == 15) CHECK(std::stod(cells[4]) == history.evaluations[2].evaluation.accuracy);
  }
  CHECK(line == 16);
  CHECK(at == text.size());
}

TEST_CASE("a run ends with the weights of its best evaluation") {
  Alone trainer({.optimizer = {.learning_rate = 0.1}, .threads = 1});
  KeepBest<Alone> best;
  std::map<std::uint64_t, std::vector<float>> weights;
  std::map<double, std::uint64_t> losses;
  const auto note = [&](Alone& of, const Evaluation& found) {
    weights[of.steps_done()] = weights_of(of);
    losses.emplace(found.loss, of.steps_done());
  };
  const FitOptions run{.steps = 8, .validate_every = 2, .patience = 2, .progress = false};
  const Fitted fitted = trainer.fit(samples(), Wrong{}, run, note, best);
  CHECK(fitted.stopped_early);
  CHECK(fitted.steps == 6);
  REQUIRE(best.step() == 2);
  CHECK(best.step() == losses.begin()->second);
  CHECK(weights_of(trainer) == weights[2]);
  CHECK(weights[6] != weights[2]);
  CHECK(trainer.evaluate(Wrong{}).loss == best.loss());
}

TEST_CASE("ranks that keep slices end with the best weights") {
  std::vector<std::vector<float>> first(2), last(2), end(2);
  launch(2, [&](comm::Threads& communicator) {
    Ranks trainer(communicator, {.optimizer = {.learning_rate = 0.1}});
    KeepBest<Ranks> best;
    const std::size_t rank = trainer.rank();
    trainer.fit(
        samples(), Wrong{}, {.steps = 6, .validate_every = 2, .progress = false},
        [&](Ranks& of, const Evaluation&) {
          last[rank] = weights_of(of);
          if (of.steps_done() == 2) first[rank] = last[rank];
        },
        best);
    end[rank] = weights_of(trainer);
  });
  CHECK(first[0] != last[0]);
  CHECK(end[0] == first[0]);
  CHECK(end[1] == first[0]);
}

TEST_CASE("the last states and the best one are kept, and a run goes on from them") {
  const ::test::Directory folder;
  const std::string path = folder / "run";
  const CheckpointsOptions options{.every = 2, .keep = 2, .best = true, .note = "of a test"};
  const auto run = [](std::uint64_t steps) {
    return FitOptions{.steps = steps, .validate_every = 3, .progress = false};
  };
  const typename Alone::Options rate{.optimizer = {.learning_rate = 0.1}, .threads = 1};
  Alone whole(rate), trainer(rate);
  whole.fit(samples(), {.steps = 11, .progress = false});
  Checkpoints checkpoints(path, options);
  CHECK(Checkpoints::newest(path).empty());
  std::size_t fewest = 9;
  trainer.fit(samples(), Wrong{}, run(7), checkpoints, [&](auto&, const StepResult& step) {
    std::size_t states = 0;
    for (const std::string& name : names_in(path)) states += name.starts_with("step-") && name.ends_with("tensors");
    if (step.step > 6) fewest = states;
  });
  CHECK(fewest >= 2);  // the one that replaces an older one may not be in place yet
  CHECK(names_in(path) ==
        std::set<std::string>{"best.safetensors", "best.txt", "run.txt", "step-6.safetensors", "step-7.safetensors"});
  CHECK(::test::says(text_in(path + "/run.txt"), "note: of a test\n"));
  CHECK(::test::says(text_in(path + "/run.txt"), Alone::plan().table()));
  CHECK(Checkpoints::newest(path) == path + "/step-7.safetensors");

  Alone best({.threads = 1});
  best.load(checkpoints.best_file());
  CHECK(best.steps_done() == 3);
  CHECK(best.evaluate(Wrong{}).loss == checkpoints.best_loss());

  Alone fresh({.threads = 1});
  Checkpoints other(path, options);
  ::test::refuses([&] { fresh.fit(samples(), Wrong{}, run(7), other); },
                  "expected a folder without states, for a run that begins anew, found a state of step 7; load it");

  Alone resumed(rate);
  resumed.load(Checkpoints::newest(path));
  Checkpoints further(path, options);
  resumed.fit(samples(), Wrong{}, run(11), further);
  CHECK(weights_of(resumed) == weights_of(whole));
  CHECK(further.best_loss() == checkpoints.best_loss());  // later ones are worse
  const std::string runs = text_in(path + "/run.txt");
  CHECK(runs.find("begun at step: 0\n") < runs.find("begun at step: 7\n"));
  CHECK(runs.find("begun at step: 7\n") != std::string::npos);
  CHECK(names_in(path) ==
        std::set<std::string>{"best.safetensors", "best.txt", "run.txt", "step-10.safetensors", "step-11.safetensors"});
  best.load(further.best_file());
  CHECK(best.steps_done() == 3);
  CHECK(::test::says(::test::error_of([&] { Checkpoints nothing(path, {}); }), "every of at least 1, or best"));
  ::test::refuses([&] { HtmlReport report(path); }, "expected the name of a file, found a folder");
}

TEST_CASE("the text of a run has the version, and all options of the Trainer, of its rules and of fit") {
  using Train = Trainer<Net, Batch<10>, Optimizer<Split<Matrices<Averaged<Muon>>, Rest<RmsProp>>>>;
  Train trainer({.optimizer = {.first = {.weight_decay = 0.25, .nesterov = false}, .rest = {.alpha = 0.75}},
                 .schedule = Schedule::warmup_cosine(2, 9),
                 .threads = 1});
  CHECK(!::test::says(run_text(trainer), "\nfit: "));
  trainer.fit(samples(), {.steps = 3, .order = Order::Runs, .remainder = Remainder::Wrap, .progress = false});
  const std::string text = run_text(trainer);
  INFO(text);
  for (const std::string& line :
       {std::string("regimen: ") + library_version, std::string("optimizer.first.weight_decay: 0.25"),
        std::string("optimizer.first.nesterov: false"), std::string("optimizer.rest.learning_rate: 0.01"),
        std::string("optimizer.rest.alpha: 0.75"), std::string("optimizer.rest.epsilon: 1e-08"),
        std::string("schedule: cosine warmup 2 decay_from 2 end 9 floor 0"), std::string("threads: 1"),
        std::string("fit: steps 3 epochs 0 validate_every 0 patience 0 order Runs remainder Wrap workers 1 ahead 2 "
                    "validate_average false")})
    CHECK(::test::says(text, "\n" + line + "\n"));
  // Options are doubles, at most one bool, and whether a weight decay was written, as wide as a double.
  const auto lists_all = []<class Rule>(Rule) {
    std::size_t listed = 1;  // the rate
    Rule::list(typename Rule::Options{}, [&](const char*, auto) { ++listed; });
    const std::size_t flags = requires(typename Rule::Options options) { options.weight_decay.is_written(); };
    CHECK(listed + flags == sizeof(typename Rule::Options) / sizeof(double));
  };
  lists_all(Adam{}), lists_all(AdamW{}), lists_all(Lamb{}), lists_all(Muon{}), lists_all(RmsProp{}), lists_all(Sgd{});
}

TEST_CASE("the best state knows its loss: a run that was killed before best.txt goes on with it") {
  const ::test::Directory folder;
  const typename Alone::Options rate{.optimizer = {.learning_rate = 0.1}, .threads = 1};
  const CheckpointsOptions options{.every = 2, .best = true};
  Alone trainer(rate), resumed(rate), other({.threads = 1});
  Checkpoints checkpoints(folder.path(), options);
  trainer.fit(samples(), Wrong{}, {.steps = 6, .validate_every = 2, .progress = false}, checkpoints);
  const std::string text = text_in(folder / "best.txt"), best = folder / "best.safetensors";
  const ::test::Bytes bytes = ::test::get(best);
  std::filesystem::remove(folder / "best.txt");
  resumed.load(Checkpoints::newest(folder.path()));
  Checkpoints further(folder.path(), options);
  resumed.fit(samples(), Wrong{}, {.steps = 10, .validate_every = 2, .progress = false}, further);
  CHECK(further.best_loss() == checkpoints.best_loss());
  CHECK(::test::get(best) == bytes);
  CHECK(text_in(folder / "best.txt") == text);
  other.load(best);
  CHECK(text == detail::text_of(other.evaluate(Wrong{}).loss) + " 2\n");
  other.save(best);  // a state as any other, that no evaluation has chosen
  ::test::refuses(
      [&] {
        Checkpoints third(folder.path(), options);
        resumed.fit(samples(), {.steps = 11, .progress = false}, third);
      },
      "expected the state of an evaluation, which Checkpoints has saved, found another file");
}

TEST_CASE("a run that goes on from an older state sets later ones aside") {
  const ::test::Directory folder;
  const std::string path = folder / "run";
  const auto run = [&](std::uint64_t from, std::uint64_t steps, std::uint64_t every) {
    launch(2, [&](comm::Threads& communicator) {
      Ranks trainer(communicator, {});
      if (from > 0) trainer.load(path + "/step-" + std::to_string(from) + ".safetensors");
      Checkpoints checkpoints(path, {.every = every, .keep = 4});
      trainer.fit(samples(), {.steps = steps, .progress = false}, checkpoints);
    });
  };
  const auto states = [](const std::string& in) {
    std::set<std::string> found;
    for (const std::string& name : names_in(in))
      if (name.ends_with("safetensors")) found.insert(name);
    return found;
  };
  using Names = std::set<std::string>;
  run(0, 8, 2);
  run(4, 5, 3);  // another future, of which only the end is saved
  CHECK(states(path) == Names{"step-2.safetensors", "step-4.safetensors", "step-5.safetensors"});
  CHECK(states(path + "/abandoned-1") == Names{"step-6.safetensors", "step-8.safetensors"});
  CHECK(names_in(path + "/abandoned-1").size() == 6);  // each an index and two parts
  CHECK(Checkpoints::newest(path) == path + "/step-5.safetensors");
  run(5, 6, 2);  // nothing lies ahead
  CHECK(!names_in(path).contains("abandoned-2"));
  run(2, 3, 9);
  CHECK(states(path) == Names{"step-2.safetensors", "step-3.safetensors"});
  CHECK(states(path + "/abandoned-2") == Names{"step-4.safetensors", "step-5.safetensors", "step-6.safetensors"});
  Alone alone({.threads = 1}), whole({.threads = 1});  // what was set aside can still be loaded
  alone.load(path + "/abandoned-1/step-8.safetensors");
  whole.fit(samples(), {.steps = 8, .progress = false});
  CHECK(alone.steps_done() == 8);

  // In one program, too: the callback hears that the run has gone back.
  const std::string again = folder / "again";
  Alone trainer({.threads = 1});
  Checkpoints checkpoints(again, {.every = 1});
  trainer.fit(samples(), {.steps = 4, .progress = false}, checkpoints);
  trainer.load(again + "/step-2.safetensors");
  trainer.fit(samples(), {.steps = 3, .progress = false}, checkpoints);
  CHECK(states(again) == Names{"step-2.safetensors", "step-3.safetensors"});
  CHECK(states(again + "/abandoned-1") == Names{"step-3.safetensors", "step-4.safetensors"});
}

TEST_CASE("states of several ranks go with all their parts") {
  const ::test::Directory folder;
  launch(2, [&](comm::Threads& communicator) {
    Ranks trainer(communicator, {});
    Checkpoints checkpoints(folder.path(), {.every = 2, .keep = 1});
    trainer.fit(samples(), {.steps = 6, .progress = false}, checkpoints);
  });
  CHECK(folder.files() == 4);  // the index, two parts, run.txt
  CHECK(Checkpoints::newest(folder.path()) == folder / "step-6.safetensors");
  Alone alone({.threads = 1});
  alone.load(Checkpoints::newest(folder.path()));
  CHECK(alone.steps_done() == 6);
}

namespace {
/// A run of eight steps with a sweep after the third, inside an epoch.
struct Swept {
  RateSweep sweep{};
  bool is_as_before = false;
  double next = 0;  // loss of the step after the sweep
  std::vector<float> weights{};
};
template <class Train>
Swept swept(Train& trainer, const RateOptions& options) {
  Swept found;
  trainer.fit(samples(), {.steps = 3, .progress = false});
  const double rate = trainer.options().optimizer.learning_rate;
  found.sweep = find_rate(trainer, samples(), options);
  found.is_as_before = trainer.steps_done() == 3 && trainer.options().optimizer.learning_rate == rate;
  History history;
  trainer.fit(samples(), {.steps = 8, .progress = false}, history);
  found.next = history.steps[0].loss;
  found.weights = weights_of(trainer);
  return found;
}
}  // namespace

TEST_CASE("a sweep of learning rates leaves a run as it was") {
  Alone whole({.threads = 1}), trainer({.threads = 1}), other({.threads = 1});
  whole.fit(samples(), {.steps = 8, .progress = false});
  const Swept found = swept(trainer, {.from = 1e-4, .to = 1, .steps = 9});
  CHECK(found.is_as_before);
  CHECK(found.weights == weights_of(whole));
  REQUIRE(found.sweep.rates.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(found.sweep.rates[i] == Approx(std::pow(10, -4 + 0.5 * double(i))));
  CHECK(found.sweep.losses[0] == found.next);  // the same samples and weights
  CHECK(found.sweep.steepest() > 1e-4);

  const Swept diverging = swept(other, {.from = 1e-2, .to = 1e6, .steps = 50});
  CHECK(diverging.is_as_before);
  CHECK(diverging.weights == weights_of(whole));
  const std::vector<double>& losses = diverging.sweep.losses;
  REQUIRE(losses.size() > 2);
  CHECK(losses.size() < 50);
  const double least = *std::min_element(losses.begin(), losses.end());
  CHECK(losses.back() > 4 * least);
  CHECK(losses[losses.size() - 2] <= 4 * least);
  ::test::refuses([&] { find_rate(other, samples(), {.from = 1, .to = 1}); }, "find_rate: expected 0 < from < to");
}

TEST_CASE("a sweep leaves ranks and their slices as they were") {
  std::vector<Swept> found(2);
  std::vector<std::vector<float>> whole(2);
  launch(2, [&](comm::Threads& communicator) {
    Ranks trainer(communicator, {});
    found[trainer.rank()] = swept(trainer, {.from = 1e-4, .to = 1, .steps = 5});
  });
  launch(2, [&](comm::Threads& communicator) {
    Ranks trainer(communicator, {});
    trainer.fit(samples(), {.steps = 8, .progress = false});
    whole[trainer.rank()] = weights_of(trainer);
  });
  for (const Swept& rank : found) {
    CHECK(rank.is_as_before);
    CHECK(rank.weights == whole[0]);
    CHECK(rank.sweep.losses.size() == 5);
    CHECK(rank.sweep.losses == found[0].sweep.losses);
  }
}

TEST_CASE("steepest is where the smoothed loss falls fastest by the logarithm of the rate") {
  RateSweep sweep;
  for (int i = 0; i < 40; ++i) {
    sweep.rates.push_back(std::pow(10, -4 + 0.1 * i));
    sweep.losses.push_back(2 - std::tanh((i - 20) / 4.0));
  }
  CHECK(sweep.steepest() > sweep.rates[20]);  // the average comes after
  CHECK(sweep.steepest() < sweep.rates[26]);
  for (int i = 0; i < 40; ++i) sweep.losses[std::size_t(i)] = i;
  CHECK(std::isnan(sweep.steepest()));
  sweep.losses.assign(40, 1.5);
  CHECK(RateSweep{}.smoothed().empty());
  CHECK(sweep.smoothed()[7] == Approx(1.5));
  sweep.losses[5] = std::nan("");  // a step without valid targets
  CHECK(std::isnan(sweep.smoothed()[5]));
  CHECK(sweep.smoothed()[7] == Approx(1.5));
}

TEST_CASE("TensorBoard hears the run: a record for each event") {
  const ::test::Directory folder;
  double time = 1700000000;
  Alone trainer({.threads = 1});
  TensorBoard board(folder / "runs",
                    {.every = 2, .histograms = 5, .file = "tfevents", .clock = [&] { return time++; }});
  trainer.fit(samples(), samples(), {.epochs = 1, .validate_every = 3, .progress = false}, board);
  const std::string bytes = text_in(folder / "runs/tfevents");
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= std::size_t{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
    REQUIRE(at + 16 + length <= bytes.size());
    records.push_back(bytes.substr(at + 12, length));
    at += 16 + length;
  }
  REQUIRE(records.size() == 8);  // version, run, steps 2 and 4, evaluation at 3, histograms, epoch, evaluation at 5
  CHECK(::test::says(records[0], "brain.Event:2"));
  CHECK(::test::says(records[1], "run/text_summary"));
  CHECK(::test::says(records[2], "train/loss"));
  CHECK(::test::says(records[3], "validation/accuracy"));
  CHECK(::test::says(records[5], "weights/" + trainer.parameters()[0].name));
  CHECK(::test::says(records[5], "gradients/" + trainer.parameters()[1].name));
  CHECK(::test::says(records[6], "epoch/loss"));
  CHECK(::test::says(records[7], "validation/loss"));
  Alone second({.threads = 1});
  TensorBoard again(folder / "runs", {.file = "tfevents"});
  ::test::refuses([&] { second.fit(samples(), {.steps = 1, .progress = false}, again); },
                  "to create it, found File exists");
}

TEST_CASE("a report refers to nothing outside itself, and draws what the run had") {
  const ::test::Directory folder;
  Alone trainer({.threads = 1});
  HtmlReport report(folder / "run.html", "A <run> & more");
  trainer.fit(samples(), samples(), {.epochs = 2, .validate_every = 4, .progress = false}, report);
  const std::string page = text_in(folder / "run.html");
  for (const char* outside : {"src=", "href", "url(", "<script", "@import", "<link", "<iframe", "<img", "<object"})
    CHECK_FALSE(::test::says(page, outside));
  const std::string drawn = page.substr(0, page.find("<h2>Recipe"));  // the names of a recipe may say anything
  CHECK_FALSE(::test::says(drawn, "//"));
  CHECK_FALSE(::test::says(drawn, "nan"));
  CHECK(::test::says(page, "<title>A &lt;run&gt; &amp; more</title>"));
  CHECK(::test::says(page, detail::escaped(Alone::plan().table())));
  const auto& evaluations = report.history().evaluations;
  std::size_t drawings = 0;
  for (std::size_t at = 0; (at = page.find("<svg", at)) != std::string::npos; ++at) ++drawings;
  CHECK(drawings == 6);
  CHECK(::test::says(page, "<tr><th>steps</th><td>10</td></tr>"));
  const double best = std::min_element(evaluations.begin(), evaluations.end(), [](const auto& a, const auto& b) {
                        return a.evaluation.loss < b.evaluation.loss;
                      })->evaluation.loss;
  CHECK(::test::says(page, "<tr><th>best validation loss</th><td>" + detail::short_text(best) + "</td></tr>"));
  CHECK(!::test::says(page, "begun at step"));  // a report is of what its history has
  const std::vector<std::size_t> memory = detail::memory_of_step(trainer);
  CHECK(*std::max_element(memory.begin(), memory.end()) == Alone::plan().peak_of_live);
}

TEST_CASE("a chart draws points that stand alone, and gaps where nothing is finite") {
  const auto path_of = [](std::vector<std::pair<double, double>> points) {
    const std::string svg = detail::chart("t", "x", {{"c", std::move(points)}}), mark = "class=\"curve ";
    const std::size_t begin = svg.find(" d=\"", svg.find(mark)) + 4;
    return svg.substr(begin, svg.find('"', begin) - begin);
  };
  const auto count = [](const std::string& in, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = in.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const double none = no_value;
  CHECK(path_of({{1, 5}}) == " M414.0,115.0 h2");
  CHECK(path_of({{0, 0}, {1, none}, {2, 1}, {3, none}, {4, 0}}) == " M84.0,220.0 h2 M414.0,10.0 h2 M744.0,220.0 h2");
  CHECK(path_of({{0, 0}, {1, 1}, {2, none}, {3, none}, {4, 1}}) == " M84.0,220.0 L249.0,10.0 M744.0,10.0 h2");
  // Of five together the least and the largest, in their order; a NaN among them hides neither.
  std::vector<std::pair<double, double>> many;
  for (int i = 0; i < 6000; ++i) many.emplace_back(i, i % 5 == 0 ? none : i % 5 == 2 ? 2 : i % 5 == 4 ? 0 : 1);
  const std::string path = path_of(many);
  CHECK(count(path, " M") == 1);
  CHECK(count(path, " L") == 2 * 6000 / 5 - 1);
  CHECK(count(path, ",220.0") == 6000 / 5);
}

TEST_CASE("a report's numbers are short") {
  CHECK(detail::short_text(9999) == "9999");
  CHECK(detail::short_text(10000) == "10 k");
  CHECK(detail::short_text(-137849.5) == "-137.8 k");
  CHECK(detail::short_text(2e9) == "2 G");
  CHECK(detail::short_text(3e38) == "3e+38");
  CHECK(detail::short_text(0.00211437) == "0.002114");
}

TEST_CASE("an axis has round numbers, few of them whatever the range") {
  const auto ticks = [](double least, double most) {
    detail::Axis axis;
    axis.add(most), axis.add(no_value), axis.add(least);
    return axis.ticks(5);
  };
  const std::vector<double> found = ticks(0.13, 0.87);
  REQUIRE(found.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == Approx(0.2 * double(i + 1)));
  CHECK(ticks(0, 10) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks(-3, 400) == std::vector<double>{0, 100, 200, 300, 400});
  CHECK(ticks(7, 7) == std::vector<double>{7});
  for (const double scale : {1e-30, 1.0, 1e30})
    for (const double wide : {1e-15, 1e-6, 1.0, 17.0, 1e9}) {
      const std::vector<double> some = ticks(scale, scale + scale * wide);
      CHECK(some.size() <= 12);
      CHECK(std::is_sorted(some.begin(), some.end()));
    }
}
// SPDX-License-Identifier: Apache-2.0
