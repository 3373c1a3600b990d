// Trials of plain functions: what a plan draws, what a rung keeps, and that nothing that a trial does ends the search.
#include <regimen/core/threads.hpp>
#include <regimen/tune/trials.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"
#include "tune/same.hpp"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace regimen;
using regimen::test::same;

namespace {

const tune::Running quiet{.progress = false};

std::vector<std::string> lines(const std::string& path) { return tune::detail::lines_of(path); }
/// How often a body has run, over all processes: each run appends a line.
void count(const std::string& path, const std::string& what) { std::ofstream(path, std::ios::app) << what + "\n"; }

double bowl(const tune::Trial& trial) {
  const double x = trial.values["x"] - 0.3, y = std::log10(trial.values["y"]) + 2;
  return x * x + y * y;
}
const std::vector<tune::Axis> plane{tune::uniform("x", -1, 1), tune::log_uniform("y", 1e-4, 1)};

}  // namespace

TEST_CASE("a grid is every combination, the last axis first, recipe by recipe") {
  const std::vector<tune::Axis> axes{tune::choice("a", {1, 2}), tune::choice("b", {10, 20, 30})};
  const std::vector<tune::Candidate> all = tune::candidates(tune::Grid{}, axes, 2);
  REQUIRE(all.size() == 12);
  CHECK(all[0].values == std::vector<double>{1, 10});
  CHECK(all[1].values == std::vector<double>{1, 20});
  CHECK(all[5].values == std::vector<double>{2, 30});
  CHECK(all[5].recipe == 0);
  CHECK(all[6].recipe == 1);
  CHECK(all[6].values == std::vector<double>{1, 10});
  CHECK(tune::candidates(tune::Grid{}, {}, 3).size() == 3);  // recipes alone
}

TEST_CASE("random draws depend on seed, trial and axis, lie in their ranges, and fill them evenly") {
  const std::vector<tune::Axis> axes{tune::uniform("u", -2, 3), tune::log_uniform("l", 1e-5, 1e-1),
                                     tune::choice("c", {5, 6, 7})};
  constexpr std::size_t trials = 3000;
  const auto drawn = tune::candidates(tune::Random{trials, 7}, axes, 3),
             fewer = tune::candidates(tune::Random{10, 7}, axes, 3),
             others = tune::candidates(tune::Random{10, 8}, axes, 3);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(drawn[i].values == fewer[i].values);
    CHECK(drawn[i].values != others[i].values);
    CHECK(drawn[i].recipe == i % 3);
  }
  std::size_t lower_half = 0, small = 0, both = 0, of_choice[3] = {};
  for (const tune::Candidate& one : drawn) {
    REQUIRE((one.values[0] >= -2 && one.values[0] <= 3));
    REQUIRE((one.values[1] >= 1e-5 && one.values[1] <= 1e-1));
    lower_half += one.values[0] < 0.5 ? 1 : 0;
    small += one.values[1] < 1e-3 ? 1 : 0;  // half of the decades
    both += one.values[0] < 0.5 && one.values[1] < 1e-3 ? 1 : 0;
    ++of_choice[static_cast<std::size_t>(one.values[2]) - 5];
  }
  // Binomial: the standard deviation of 3000 draws is below 28, and 26 for a third; 5 of them.
  CHECK(std::abs(double(lower_half) - 1500) < 140);
  CHECK(std::abs(double(small) - 1500) < 140);
  CHECK(std::abs(double(both) - 750) < 120);  // one axis says nothing of another; a standard deviation of 24
  for (const std::size_t times : of_choice) CHECK(std::abs(double(times) - 1000) < 140);
}

TEST_CASE("the rungs of halving are those computed by hand") {
  const auto rungs = [](std::size_t trials, std::uint64_t steps, std::uint64_t eta, std::uint64_t least) {
    std::vector<std::pair<std::size_t, std::uint64_t>> all;
    for (const tune::Rung& rung : tune::rungs(tune::Halving{tune::Grid{}, eta, least}, trials, steps))
      all.emplace_back(rung.trials, rung.steps);
    return all;
  };
  using Rungs = std::vector<std::pair<std::size_t, std::uint64_t>>;
  CHECK(rungs(27, 81, 3, 3) == Rungs{{27, 3}, {9, 9}, {3, 27}, {1, 81}});
  CHECK(rungs(81, 81, 3, 1) == Rungs{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}});  // Hyperband's first bracket
  CHECK(rungs(10, 100, 2, 10) == Rungs{{10, 12}, {5, 25}, {2, 50}, {1, 100}});
  CHECK(rungs(5, 1000, 4, 1) == Rungs{{5, 250}, {1, 1000}});  // no rung without a trial
  CHECK(rungs(27, 81, 3, 81) == Rungs{{27, 81}});
  CHECK(rungs(2, 7, 2, 2) == Rungs{{2, 3}, {1, 7}});
}

TEST_CASE("a search finds the optimum of a quadratic, runs as many trials as asked, and the same for any at_once") {
  const ::test::Directory folder;
  // The share of the plane whose loss is below 0.08 is 0.08 pi / 8 = 0.031: 200 draws miss it with probability 0.2 %.
  std::vector<tune::Found> found;
  for (const std::size_t at_once : {1u, 4u}) {
    const std::string here = folder / std::to_string(at_once), runs = here + ".runs";
    tune::Trials trials(here, tune::Random{200, 3}, plane, 0, {.at_once = at_once, .progress = false});
    found.push_back(trials.run([&](const tune::Trial& trial) {
      count(runs, std::to_string(trial.number));
      return bowl(trial);
    }));
    CHECK(lines(runs).size() == 200);  // the budget
    CHECK(found.back().complete);
  }
  CHECK(same(found[0], found[1]));
  const tune::Trained best = found[0].best();
  CHECK(best.loss() < 0.08);
  for (const tune::Trained& trial : found[0].trials) CHECK(trial.loss() >= best.loss());

  tune::Trials grid(folder / "grid", tune::Grid{},
                    {tune::choice("x", {-0.3, 0, 0.3, 0.6}), tune::choice("y", {0.001, 0.01, 0.1})}, 0, quiet);
  const tune::Trained exact = grid.run(bowl).best();
  CHECK(exact.values == std::vector<double>{0.3, 0.01});
  CHECK(exact.loss() == 0);
}

TEST_CASE("halving promotes the best of each rung, lets them go on in their folder, and spends what its rungs say") {
  const ::test::Directory folder;
  std::vector<double> x(9);
  for (std::size_t i = 0; i < 9; ++i) x[i] = double((i * 4) % 9);  // 0 4 8 3 7 2 6 1 5
  tune::Trials trials(folder / "run", tune::Halving{tune::Grid{}, 3, 10}, {tune::choice("x", x)}, 90,
                      {.at_once = 2, .progress = false});
  const std::string runs = folder / "runs";
  const tune::Found found = trials.run([&](const tune::Trial& trial) {
    // After 10 steps the least x leads; later it is x = 2, in the end x = 1.
    count(runs, std::to_string(trial.number) + " " + std::to_string(trial.steps));
    std::size_t folders = 0;  // of those that were left behind there is none
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run")) folders += entry.is_directory();
    if (trial.steps > 10 && folders != (trial.steps == 30 ? 3u : 1u)) throw std::runtime_error("other folders");
    const std::size_t before = lines(trial.folder + "/state").size();
    count(trial.folder + "/state", "a rung");
    if (before != (trial.steps == 10 ? 0u : trial.steps == 30 ? 1u : 2u)) throw std::runtime_error("not its folder");
    const double at = trial.values["x"];
    return trial.steps == 10 ? at : trial.steps == 30 ? std::abs(at - 2) : at;
  });
  std::multiset<std::string> ran;
  for (const std::string& line : lines(runs)) ran.insert(line);
  std::multiset<std::string> expected;
  for (std::size_t i = 0; i < 9; ++i) expected.insert(std::to_string(i) + " 10");
  for (const char* promoted : {"0 30", "7 30", "5 30"}) expected.insert(promoted);  // x = 0, 1, 2
  expected.insert("5 90");                                                          // x = 2
  CHECK(ran == expected);
  CHECK(found.best().number == 5);
  CHECK(found.best().steps() == 90);
  CHECK(found.complete);
  std::error_code ignored;
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(std::filesystem::exists(folder / ("run/trial-" + std::to_string(i)), ignored) == (i == 5));
}

TEST_CASE("a trial of an earlier rung is not chosen where all finalists fail") {
  const ::test::Directory folder;
  tune::Trials trials(folder / "run", tune::Halving{tune::Grid{}, 3, 10}, {tune::choice("x", {0, 1, 2})}, 30, quiet);
  const tune::Found found = trials.run([](const tune::Trial& trial) {
    if (trial.steps == 30) throw std::runtime_error("too long");
    return trial.values["x"];
  });
  CHECK(found.complete);
  CHECK(found.ranking().size() == 2);  // of the first rung, whose folders are gone
  ::test::refuses([&] { (void)found.best(); },
                  "expected a trial that has ended well, with all steps, found none; trial 0: too long");
}

TEST_CASE("what a trial has started ends with it, and does not hold up the search") {
  const ::test::Directory folder;
  const std::string started = folder / "started";
  tune::Trials trials(folder / "run", tune::Grid{}, {tune::choice("way", {0, 1, 2})}, 0,
                      {.at_once = 3, .limit = 2, .progress = false});
  const tune::Found found = trials.run([&](const tune::Trial& trial) {
    const ::pid_t program = ::fork();  // holds the pipe's other end
    while (program == 0) ::pause();
    count(started, std::to_string(program));
    if (trial.values["way"] == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    if (trial.values["way"] == 2) ::_exit(3);
    return 0.5;
  });
  CHECK(found.trials[0].failure == "");
  CHECK(::test::says(found.trials[1].failure, "not ended after 2 s, its limit"));
  CHECK(::test::says(found.trials[2].failure, "ended with code 3 and without a loss"));
  REQUIRE(lines(started).size() == 3);
  for (const std::string& program : lines(started)) {
    const auto runs = [&] {
      const std::vector<std::string> stat = lines("/proc/" + program + "/stat");  // 12 (name) S ...
      return !stat.empty() && stat[0].find(") Z ") == std::string::npos;
    };
    for (int i = 0; i < 500 && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(!runs());
  }
}

TEST_CASE("whatever a trial does is a failed trial with its reason, and the search goes on") {
  const ::test::Directory folder;
  const auto ways = [] { return tune::choice("way", {0, 1, 2, 3, 4, 5, 6, 7, 8}); };
  tune::Trials trials(folder / "run", tune::Grid{}, {ways()}, 0, {.at_once = 3, .limit = 2, .progress = false});
  const auto body = [](const tune::Trial& trial) -> double {
    std::printf("trial %zu speaks\n", trial.number);
    switch (static_cast<int>(trial.values["way"])) {
      case 0:
        throw std::runtime_error("a mistake of its own, \"quoted\"");
      case 1:
        std::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
        break;
      case 2:
        ::raise(SIGKILL);
        break;
      case 3:
        return std::nan("");
      case 4:
        throw std::bad_alloc();
      case 5:
        std::this_thread::sleep_for(std::chrono::hours(1));
        break;
      case 6:
        ::_exit(3);
      case 7:
        throw 7;
      default:
        break;
    }
    return 0.5;
  };
  const tune::Found found = trials.run(body);
  const char* const reasons[] = {"a mistake of its own, \"quoted\"",
                                 "ended by signal 11 (Segmentation fault)",
                                 "ended by signal 9 (Killed); if nobody killed it, the machine's memory was full",
                                 "its loss is nan",
                                 "no memory left (std::bad_alloc)",
                                 "not ended after 2 s, its limit",
                                 "ended with code 3 and without a loss",
                                 "an exception that is no std::exception"};
  REQUIRE(found.trials.size() == 9);
  for (std::size_t i = 0; i < 8; ++i) {
    INFO(found.trials[i].failure);
    CHECK(::test::says(found.trials[i].failure, reasons[i]));
  }
  CHECK(found.best().number == 8);
  CHECK(found.complete);
  CHECK(lines(folder / "run/trial-2.txt") == std::vector<std::string>{"trial 2 speaks"});  // though it was killed
  CHECK(lines(folder / "run/trial-8.txt") == std::vector<std::string>{"trial 8 speaks"});
  INFO(found.table());
  CHECK(::test::says(found.table(), "failed: its loss is nan"));

  // None of them runs again; one whose line is removed does.
  const auto never = [](const tune::Trial&) -> double { throw std::runtime_error("ran again"); };
  CHECK(same(trials.run(never), found));
  std::vector<std::string> recorded = lines(folder / "run/trials.jsonl");
  REQUIRE(recorded.size() == 9);
  recorded.erase(recorded.begin() + 3);
  std::string text;
  for (const std::string& line : recorded) text += line + "\n";
  ::test::put(folder / "run/trials.jsonl", text);
  CHECK(::test::says(trials.run(never).trials[3].failure, "ran again"));
}

TEST_CASE("an allocation beyond a limit of memory ends one trial") {
  const ::test::Directory folder;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  tune::Trials trials(folder / "run", tune::Grid{}, {tune::choice("large", {0, 1})}, 0, quiet);
  const tune::Found found = trials.run([](const tune::Trial& trial) {
    const ::rlimit most{std::size_t{1} << 32, std::size_t{1} << 32};
    ::setrlimit(RLIMIT_AS, &most);
    ::operator delete(
        ::operator new(trial.values["large"] > 0 ? std::size_t{1} << 34 : 1));  // a vector would be optimised away
    return 0.0;
  });
  CHECK(!found.trials[0].has_failed());
  CHECK(::test::says(found.trials[1].failure, "no memory left"));
#endif
}

TEST_CASE("a search that is killed goes on: finished trials do not run again, and it finds the same") {
  const ::test::Directory folder;
  const tune::Plan plan = tune::Halving{tune::Random{8, 5}, 2, 5};
  const auto search = [&](const std::string& name) {
    return tune::Trials(folder / name, plan, plane, 20, {.at_once = 2, .progress = false});
  };
  const auto body = [&](const std::string& runs, unsigned milliseconds) {
    return [&runs, milliseconds](const tune::Trial& trial) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      count(runs, std::to_string(trial.number) + " " + std::to_string(trial.steps));
      return bowl(trial) + 1.0 / double(trial.steps * (trial.number + 1));
    };
  };
  const std::string whole_runs = folder / "whole.runs", runs = folder / "runs";
  const tune::Found whole = search("whole").run(body(whole_runs, 0));
  REQUIRE(lines(whole_runs).size() == 8 + 4 + 2);
  int kills = 0;
  for (; kills < 60; ++kills) {
    const ::pid_t process = ::fork();
    if (process == 0) {
      tune::Trials trials = search("killed");
      (void)trials.run(body(runs, 30));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 20 * kills));
    ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
    if (WIFEXITED(status)) break;
  }
  CHECK(kills >= 1);
  CHECK(kills < 60);
  tune::Trials trials = search("killed");
  const tune::Found found = trials.run([](const tune::Trial&) -> double { throw std::runtime_error("ran again"); });
  CHECK(same(found, whole));
  CHECK(found.best().number == whole.best().number);
  // Each kill loses at most what ran at that moment.
  CHECK(lines(runs).size() <= 14 + 2 * static_cast<std::size_t>(kills));
}

TEST_CASE("records that cannot be read are an error, and stay: they do not count as none") {
  const ::test::Directory directory;
  const std::string folder = directory / "search";
  const auto search = [&] {
    tune::Trials trials(folder, tune::Random{.trials = 2, .seed = 1}, {tune::uniform("x", -1, 1)}, 0, quiet);
    (void)trials.run([&](const tune::Trial& trial) {
      count(directory / "runs", "x");
      return trial.values["x"];
    });
  };
  search();
  REQUIRE(lines(directory / "runs").size() == 2);
  for (const char* const target : {"/proc/self/mem", "/", "/dev/null"}) {
    std::filesystem::remove(folder + "/trials.jsonl");
    std::filesystem::create_symlink(target, folder + "/trials.jsonl");  // reading the first fails: no memory lies at 0
    const std::string error = ::test::error_of(search);
    CHECK(::test::says(error, "trials.jsonl: expected "));
    CHECK(std::filesystem::is_symlink(folder + "/trials.jsonl"));
  }
  CHECK(lines(directory / "runs").size() == 2);
}

TEST_CASE("of equal losses the first trial is the best") {
  const ::test::Directory folder;
  tune::Trials trials(folder / "run", tune::Halving{tune::Grid{}, 3, 10}, {tune::choice("x", {0, 1, 2, 3, 4, 5})}, 30,
                      {.at_once = 3, .progress = false});
  const tune::Found found = trials.run([](const tune::Trial&) { return 1.0; });
  CHECK(found.best().number == 0);
  for (std::size_t i = 0; i < 6; ++i) CHECK(found.ranking()[i].number == i);
}

TEST_CASE("what a rung promotes does not change by what its trials did later") {
  const ::test::Directory folder;
  const std::string records = folder / "run/trials.jsonl";
  const auto search = [&](bool stopped) {
    const auto second_has_begun = [&] {
      for (const std::string& line : lines(records))
        if (::test::says(line, "\"steps\":20")) return true;
      return false;
    };
    tune::Trials trials(folder / "run", tune::Halving{tune::Grid{}, 2, 10}, {tune::choice("x", {0, 1, 2, 3})}, 40,
                        {.stops = [&] { return stopped && second_has_begun(); }, .progress = false});
    return trials.run([&](const tune::Trial& trial) {  // then worse than those that were left behind
      return trial.steps == 10 ? trial.values["x"] : 100 - trial.values["x"];
    });
  };
  CHECK(!search(true).complete);
  const tune::Found found = search(false);
  CHECK(found.complete);
  CHECK(found.best().number == 1);
  for (const std::size_t left : {2u, 3u}) CHECK(found.trials[left].steps() == 10);
}

TEST_CASE("a search can be stopped, and goes on") {
  const ::test::Directory folder;
  bool stop = false;
  tune::Trials trials(
      folder / "run", tune::Grid{}, {tune::choice("x", {0, 1, 2})}, 0,
      {.stops = [&] { return stop || lines(folder / "run/trials.jsonl").size() == 1; }, .progress = false});
  const auto body = [](const tune::Trial& trial) { return trial.values["x"]; };
  const tune::Found part = trials.run(body);
  CHECK(!part.complete);
  CHECK(part.ranking().size() == 1);
  CHECK(!trials.read().complete);
  tune::Trials rest(folder / "run", tune::Grid{}, {tune::choice("x", {0, 1, 2})}, 0, quiet);
  CHECK(rest.run(body).complete);
}

TEST_CASE("trials share the processors") {
  const ::test::Directory folder;
  for (const std::size_t at_once : {1u, 2u}) {
    tune::Trials trials(folder / std::to_string(at_once), tune::Grid{}, {tune::choice("x", {0, 1})}, 0,
                        {.at_once = at_once, .progress = false});
    ::unsetenv("OMP_NUM_THREADS");
    const tune::Found found = trials.run([](const tune::Trial&) { return double(thread_count()); });
    const double share = double((std::max)(1, processor_count() / static_cast<int>(at_once)));
    for (const tune::Trained& trial : found.trials) CHECK(trial.loss() == share);
  }
}

TEST_CASE("impossible values, and folders of others, are refused") {
  const ::test::Directory folder;
  using ::test::refuses;
  refuses([] { tune::log_uniform("rate", 0, 1); }, "axis rate: expected a range above 0");
  refuses([] { tune::uniform("rate", 2, 1); }, "expected a range from a smaller to a larger number, found 2 to 1");
  refuses([] { tune::uniform("rate", 0, HUGE_VAL); }, "expected finite numbers, found inf");
  refuses([] { tune::choice("rate", {}); }, "expected at least 1 value, found none");
  refuses([] { tune::choice("rate", {1, 2, 1}); }, "found 1 twice");
  refuses([] { tune::choice("", {1}); }, "axis without a name");
  const tune::Axis x = tune::choice("x", {0, 1});
  const auto made = [&](const tune::Plan& plan, const std::vector<tune::Axis>& axes, std::uint64_t steps = 0,
                        const tune::Running& running = {}) {
    return [=, &folder] { (void)tune::Trials(folder / "none", plan, axes, steps, running); };
  };
  refuses(made(tune::Grid{}, {x, tune::uniform("rate", 0, 1)}), "Grid, axis rate: expected a list of values");
  refuses(made(tune::Grid{}, {x, x}), "axis x: expected axes of different names");
  refuses(made(tune::Random{}, {x}), "Random, trials: expected at least 1, found 0");
  refuses(made(tune::Halving{tune::Grid{}, 1, 1}, {x}, 10), "Halving, eta: expected at least 2, found 1");
  refuses(made(tune::Halving{tune::Grid{}, 3, 0}, {x}, 10), "Halving, least_steps: expected 1 to 10");
  refuses(made(tune::Halving{tune::Grid{}, 3, 11}, {x}, 10), "found 11");
  refuses(made(tune::Grid{}, {x}, 0, {.at_once = 0}), "at_once: expected at least 1 trial");
  refuses(made(tune::Grid{}, {x}, 0, {.keep = 0}), "keep: expected at least 1 trial");
  refuses(made(tune::Grid{}, {x}, 0, {.limit = -1}), "limit: expected seconds");
  CHECK(!std::filesystem::exists(folder / "none"));

  const auto zero = [](const tune::Trial& trial) { return trial.values["x"]; };
  tune::Trials first(folder / "run", tune::Grid{}, {x}, 0, quiet);
  refuses([&] { (void)first.read(); }, "expected a folder in which a search has run");
  (void)first.run(zero);
  tune::Trials other(folder / "run", tune::Grid{}, {tune::choice("x", {0, 2})}, 0, quiet);
  refuses([&] { (void)other.run(zero); },
          "search.txt, line 4: expected the search of this program: axis: x, choice 0 2");
  refuses([&] { (void)first.run(zero, "validation data: other\n"); }, "found the end");
  ::test::put(folder / "file", std::string_view("x"));
  tune::Trials beside(folder / "file", tune::Grid{}, {x}, 0, quiet);
  refuses([&] { (void)beside.run(zero); }, "a folder, or a name where one can be made");
  ::test::put(folder / "run/trials.jsonl",
              std::string_view("{\"trial\":0,\"recipe\":0,\"values\":{\"x\":0},\"rungs\":[{\"st"));
  refuses([&] { (void)first.run(zero); }, "trials.jsonl, line 1: expected well-formed JSON");
  ::test::put(folder / "run/trials.jsonl",
              std::string_view("{\"trial\":2,\"recipe\":0,\"values\":{},\"rungs\":[],\"failure\":\"\"}\n"));
  refuses([&] { (void)first.run(zero); }, "expected a trial of this search, found trial 2");

  // Every value of one trial has failed; a name that no axis has.
  tune::Trials failing(folder / "failing", tune::Grid{}, {x}, 0, quiet);
  const tune::Found none = failing.run([](const tune::Trial& trial) { return trial.values["y"]; });
  CHECK(::test::says(none.trials[0].failure, "expected the name of an axis: x, found y"));
  refuses([&] { (void)none.best(); }, "expected a trial that has ended well");

  // A trial of a search that was just killed, which has not yet closed what it inherited.
  tune::Trials after(folder / "run-again", tune::Grid{}, {x}, 0, quiet);
  (void)after.run(zero);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const ::pid_t left = ::fork();
  if (left == 0) {
    const auto lock = after.lock();
    [[maybe_unused]] const ::ssize_t told = ::write(ready[1], "x", 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::_exit(0);
  }
  char told = 0;
  REQUIRE(::read(ready[0], &told, 1) == 1);
  CHECK(after.run(zero).complete);
  ::waitpid(left, nullptr, 0);

  // Two searches in one folder at once.
  tune::Trials slow(folder / "twice", tune::Grid{}, {x}, 0, quiet), too(folder / "twice", tune::Grid{}, {x}, 0, quiet);
  std::string said;
  (void)slow.run([&](const tune::Trial&) {
    (void)too.run(zero);
    return 0.0;
  });
  CHECK(::test::says(slow.read().trials[0].failure, "expected a folder in which nobody searches"));
}
// SPDX-License-Identifier: Apache-2.0
