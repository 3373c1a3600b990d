// The programs, as their users and other tools meet them: exit codes, the log, resumed runs, a clean standard output.
#include "gpt.hpp"
#include "vit.hpp"

#include "../temporary.hpp"

#include <nlohmann/json.hpp>
#include "../support/catch.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

using namespace regimen;
using nlohmann::json;

namespace {

struct Tiny
    : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, PositionEmbedding,
            Residual<LayerNorm, SelfAttention<Heads<2>, Causal>, Dropout<Ratio<1, 10>>>, LayerNorm, Linear<16>> {};
constexpr auto lesson = gpt<Tiny, Batch<4>>;
constexpr auto checked_lesson = gpt<Tiny, Batch<4>, Debug<Anomaly>>;

struct Outcome {
  int code;
  std::string out, err;
};

/// Runs a lesson with arguments; its standard output (but for one that is given) and error go to files.
Outcome run(int (*program)(int, char**), std::vector<std::string> arguments, const std::string& output = "") {
  const ::test::Directory folder;
  arguments.insert(arguments.begin(), "/somewhere/lesson");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int kept[2];
  for (int fd : {1, 2}) {
    std::fflush(nullptr);
    kept[fd - 1] = ::dup(fd);
    std::FILE* const file =
        std::fopen(fd == 1 && !output.empty() ? output.c_str() : (folder / std::to_string(fd)).c_str(), "w");
    REQUIRE(file != nullptr);
    ::dup2(::fileno(file), fd);
    std::fclose(file);
  }
  const int code = program(static_cast<int>(arguments.size()), argv.data());
  std::fflush(nullptr);
  std::clearerr(stdout);
  for (int fd : {1, 2}) {
    ::dup2(kept[fd - 1], fd);
    ::close(kept[fd - 1]);
  }
  const auto text = [&](const char* name) {
    const ::test::Bytes bytes = ::test::get(folder / name);
    return std::string(bytes.begin(), bytes.end());
  };
  return {code, text("1"), text("2")};
}

std::vector<json> lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(json::parse(line));
  return result;
}
std::vector<json> log(const std::string& path) {
  const ::test::Bytes bytes = ::test::get(path);
  return lines(std::string(bytes.begin(), bytes.end()));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A pipe as a log, with room for a page, and a thread that reads it as `reader(descriptor)` says.
template <class Reader>
std::thread read_pipe(const std::string& path, Reader reader) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return std::thread([path, reader] {
    const int file = ::open(path.c_str(), O_RDONLY);
    ::fcntl(file, F_SETPIPE_SZ, 4096);
    reader(file);
    ::close(file);
  });
}

/// What a step must repeat in a resumed run: everything but times.
json repeatable(json step) {
  for (const char* key : {"milliseconds", "tokens_per_second", "samples_per_second"}) step.erase(key);
  return step;
}

}  // namespace

TEST_CASE("--help names every option and the exit codes, and ends with 0") {
  const Outcome outcome = run(lesson, {"--help"});
  CHECK(outcome.code == 0);
  for (const char* option :
       {"--data", "--steps", "--seed", "--threads", "--log", "--save", "--save-every", "--resume", "--validate-every",
        "--verbose", "--help", "--learning-rate", "--alphabet", "--sample", "Exit codes"})
    CHECK(has(outcome.out, option));
  CHECK(outcome.err.empty());
}

TEST_CASE("arguments that cannot be meant are refused with 2, and say what was expected and found") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& words) {
    const Outcome outcome = run(lesson, arguments);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(has(outcome.err, words));
    CHECK(has(outcome.err, "see lesson --help"));
  };
  refused({"--steps", "many"}, "--steps: expected a whole number of at least 1, found 'many'");
  refused({"--steps", "-1"}, "--steps");
  refused({"--steps", "0"}, "at least 1, found '0'");
  refused({"--steps", "3x"}, "found '3x'");
  refused({"--steps", "99999999999999999999999"}, "--steps");
  refused({"--steps", "3", "--steps", "4"}, "--steps");
  refused({"--steps"}, "--steps");
  refused({"--threads", "0"}, "--threads: expected a whole number of at least 1, found '0'");
  refused({"--threads", "1e3"}, "--threads");
  refused({"--seed", "0"}, "--seed");
  refused({"--learning-rate", "nan"}, "--learning-rate: expected a number of at least 0, found 'nan'");
  refused({"--prompt", ""}, "--prompt: expected at least one character, found ''");
  refused({"--alphabet", "words"}, "--alphabet: expected bytes|characters, found 'words'");
  refused({"--save-every", "3"}, "--save-every requires --save");
  refused({"--resume", "x", "--seed", "3"}, "--resume");
  refused({"--dropout", "3"}, "--dropout");
  refused({"input.txt"}, "input.txt");
}

TEST_CASE("what goes wrong at run time ends with 1 and one line") {
  const Outcome absent = run(lesson, {"--data", "/nowhere/text"});
  CHECK(absent.code == 1);
  CHECK(has(absent.err, "/nowhere/text: expected"));
  CHECK(run(lesson, {"--resume", "/nowhere"}).code == 1);
  CHECK(run(lesson, {"--log", "/nowhere/log", "--steps", "1"}).code == 1);
  CHECK(run(lesson, {"--save", "/dev/null/x", "--steps", "1"}).code == 1);
}

TEST_CASE("a folder that cannot hold the state is refused before anything runs, and before a log is begun") {
  const ::test::Directory folder;
  ::test::put(folder / "log", "another run's\n");
  std::filesystem::create_directories(folder / "taken/state.safetensors");
  for (const std::string& unwritable : {std::string("/proc"), folder / "log", folder / "taken"}) {
    const Outcome outcome = run(lesson, {"--save", unwritable, "--steps", "1", "--log", folder / "log"});
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(has(outcome.err, unwritable));
    CHECK(::test::get(folder / "log").size() == 14);
  }
  CHECK(run(lesson, {"--save", folder / "made/for/it", "--steps", "1"}).code == 0);
  CHECK(std::filesystem::exists(folder / "made/for/it/state.safetensors"));
}

TEST_CASE("standard output that cannot be written ends with 1") {
  CHECK(run(lesson, {"--help"}, "/dev/full").code == 1);
  const Outcome full = run(lesson, {"--steps", "1"}, "/dev/full");
  CHECK(full.code == 1);
  CHECK(has(full.err, "standard output: expected room for what the program says, found No space left on device"));
  CHECK(run(lesson, {"--steps", "1", "--log", "-"}, "/dev/full").code == 1);
}

TEST_CASE("the sample has no characters but the text's, and comes after the state is saved and the log has ended") {
  const ::test::Directory folder;
  std::string text;
  for (int i = 0; i < 500; ++i) text += "abcde"[i * i % 5];
  ::test::put(folder / "text", text);
  const auto sample = [&](std::vector<std::string> more) {
    for (const char* argument : {"--alphabet", "characters", "--prompt", "a", "--steps", "2", "--sample", "300",
                                 "--temperature", "100", "--top-k", "0"})
      more.emplace_back(argument);
    more.insert(more.end(), {"--data", folder / "text", "--save", folder / "state", "--log", folder / "log"});
    std::filesystem::remove_all(folder / "state");
    return run(lesson, more);
  };
  const Outcome drawn = sample({});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  const std::size_t begin = drawn.out.find("after the prompt\n") + 17, end = drawn.out.find("\n----", begin);
  CHECK(drawn.out.substr(begin, end - begin).size() == 301);
  CHECK(drawn.out.substr(begin, end - begin).find_first_not_of("abcde") == std::string::npos);

  // The weights have become infinite: nothing can be drawn, which is said, and nothing else is lost.
  const Outcome not_finite = sample({"--learning-rate", "1e38"});
  CHECK(not_finite.code == 1);
  CHECK(has(not_finite.err, "the loss is not finite after 2 steps: training diverged"));
  CHECK(has(not_finite.out, "planned "));
  CHECK(std::filesystem::exists(folder / "state/state.safetensors"));
  CHECK(log(folder / "log").back()["event"] == "end");
}

TEST_CASE("the log is one JSON object a line, with the names that other tools read") {
  const ::test::Directory folder;
  const Outcome outcome = run(lesson, {"--steps", "7", "--validate-every", "3", "--log", folder / "log"});
  REQUIRE(outcome.code == 0);
  const std::vector<json> events = log(folder / "log");
  REQUIRE(events.size() == 1 + 7 + 3 + 1);
  const json &plan = events.front(), &end = events.back();

  CHECK(plan["event"] == "plan");
  std::size_t sum = 0;
  for (const char* kind :
       {"parameter", "gradient", "optimizer", "saved", "transient", "scratch", "communication", "input"})
    sum += plan["kinds"][kind].get<std::size_t>();
  CHECK(plan["kinds"].size() == memory_kinds);
  CHECK(plan["peak"] == sum);
  CHECK_FALSE(plan.contains("debug"));

  std::uint64_t steps = 0;
  std::vector<std::uint64_t> validated;
  for (const json& event : events) {
    if (event["event"] == "step") {
      CHECK(event["step"] == ++steps);
      for (const char* key : {"loss", "milliseconds", "tokens_per_second", "gradient_norm"})
        CHECK(event[key].is_number());
      CHECK(event["tokens_per_second"].get<double>() == Approx(4 * 8 / (event["milliseconds"].get<double>() * 1e-3)));
    } else if (event["event"] == "validation") {
      CHECK(event["loss"].is_number());
      validated.push_back(event["step"].get<std::uint64_t>());
    }
  }
  CHECK(steps == 7);
  CHECK(validated == std::vector<std::uint64_t>{3, 6, 7});

  CHECK(end["event"] == "end");
  CHECK(end["used"] == plan["peak"]);
  CHECK(end["steps"] == 7);
  CHECK(end["peak_rss_bytes"].get<std::size_t>() > end["used"].get<std::size_t>());
  CHECK(end["library"].is_number_unsigned());
  CHECK(has(outcome.out, " MiB (" + std::to_string(sum) + " bytes), used " + std::to_string(sum) + " bytes"));
}

TEST_CASE("numbers that are not finite are null") {
  const program::Event event = program::Event("step")
                                   .add("loss", std::numeric_limits<double>::quiet_NaN())
                                   .add("norm", -std::numeric_limits<double>::infinity());
  CHECK(event.text() == R"({"event":"step","loss":null,"norm":null})");
  CHECK(json::parse(program::Event("x").add("loss", 0.1).text())["loss"].get<double>() == 0.1);
}

TEST_CASE("with --log - nothing but the log goes to standard output") {
  const Outcome outcome = run(lesson, {"--steps", "3", "--log", "-", "--verbose"});
  CHECK(outcome.code == 0);
  CHECK(lines(outcome.out).size() == 1 + 3 + 1 + 1);
  CHECK(has(outcome.err, "largest at the peak"));
  CHECK(has(outcome.err, "products: "));
}

TEST_CASE("a program built with Debug says so in its log") {
  const Outcome outcome = run(checked_lesson, {"--steps", "2", "--log", "-"});
  const std::vector<json> events = lines(outcome.out);
  CHECK(events.front()["debug"] == true);
  CHECK(events.back()["debug"] == true);
  CHECK(has(outcome.err, "Debug<...> is on"));
}

TEST_CASE("a run stopped by Ctrl-C and resumed logs the losses of one that went through") {
  const ::test::Directory folder;
  const std::vector<std::string> common{"--steps", "2000", "--validate-every", "0", "--threads", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    return run(lesson, more);
  };
  REQUIRE(with({"--log", folder / "whole", "--save", folder / "whole_state"}).code == 0);

  const std::string cut = folder / "cut", state = folder / "state";
  std::atomic<bool> over = false;
  std::thread stopper([&] {
    for (std::size_t bytes = 0; bytes < 4000 && !over; std::this_thread::yield())
      bytes = std::filesystem::exists(cut) ? ::test::get(cut).size() : 0;
    if (!over) std::raise(SIGINT);
  });
  const Outcome stopped = with({"--log", cut, "--save", state, "--save-every", "50"});
  over = true;
  stopper.join();
  REQUIRE(stopped.code == 130);
  CHECK(log(cut).back()["interrupted"] == true);

  // As a kill would leave it: half a line. Resuming goes on behind the last whole one.
  std::FILE* const file = std::fopen(cut.c_str(), "a");
  std::fputs("{\"event\":\"st", file);
  std::fclose(file);
  REQUIRE(with({"--log", cut, "--resume", state, "--save", state}).code == 0);

  const auto steps_of = [](const std::string& path) {
    std::vector<json> result;
    for (const json& event : log(path))
      if (event["event"] == "step") result.push_back(repeatable(event));
    return result;
  };
  CHECK(steps_of(folder / "whole") == steps_of(cut));
  CHECK(::test::get(folder / "whole_state/state.safetensors") == ::test::get(folder / "state/state.safetensors"));
  CHECK(log(folder / "whole").back()["validation_loss"] == log(cut).back()["validation_loss"]);

  const Outcome done = with({"--resume", state});
  CHECK(done.code == 1);
  CHECK(has(done.err, "--steps: expected more than the 2000 steps"));
}

TEST_CASE("Ctrl-C while the log waits for a slow reader: 130, the state saved, the log whole") {
  const ::test::Directory folder;
  const pthread_t program = ::pthread_self();
  std::string read;
  std::thread reader = read_pipe(folder / "log", [&](int file) {
    for (int before = -1, waiting = 0;
         waiting < 2000 || waiting != before;) {  // until it is full, so that the program waits
      before = waiting;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (::ioctl(file, FIONREAD, &waiting) != 0) break;
    }
    ::pthread_kill(program, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    char bytes[4096];
    for (::ssize_t count; (count = ::read(file, bytes, sizeof bytes)) > 0;)
      read.append(bytes, static_cast<std::size_t>(count));
  });
  const Outcome outcome = run(lesson, {"--steps", "1000000", "--log", folder / "log", "--save", folder / "state"});
  reader.join();
  INFO(outcome.err);
  CHECK(outcome.code == 130);
  CHECK(lines(read).back()["interrupted"] == true);
  CHECK(std::filesystem::exists(folder / "state/state.safetensors"));
}

TEST_CASE("a log that fails ends the training with 1 after saving, and resuming goes on from there") {
  const ::test::Directory folder;
  std::thread reader = read_pipe(folder / "log", [](int file) {
    char bytes[4096];
    if (::read(file, bytes, sizeof bytes) <= 0) std::fputs("nothing was logged\n", stderr);
  });
  const Outcome outcome = run(lesson, {"--steps", "1000000", "--log", folder / "log", "--save", folder / "state"});
  reader.join();
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "room for another line, found Broken pipe"));
  CHECK(has(outcome.out, " steps, loss"));
  const Outcome resumed = run(lesson, {"--steps", "1000001", "--resume", folder / "state", "--log", "/dev/full"});
  CHECK(resumed.code == 1);  // its log fails at once; but it was loaded
  CHECK(has(resumed.err, "/dev/full"));
  CHECK(has(run(lesson, {"--steps", "1", "--resume", folder / "state"}).err, "expected more than the "));
}

namespace {

/// A lesson in a process of its own, whose standard output and error go through a pipe to a reader that leaves after
/// the first bytes.
int run_and_leave(int (*program)(int, char**), std::vector<std::string> arguments, bool error_too,
                  const std::string& error = "/dev/null") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);  // as a shell leaves it
    ::dup2(ends[1], 1);
    const int file = error_too ? ends[1] : ::open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, 2);
    ::close(ends[0]);
    ::close(ends[1]);
    arguments.insert(arguments.begin(), "lesson");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::exit(program(static_cast<int>(argv.size()) - 1, argv.data()));
  }
  ::close(ends[1]);
  char bytes[64];
  REQUIRE(::read(ends[0], bytes, sizeof bytes) > 0);
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::test::reap(child, &status));
  INFO("status " << status);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("an output whose reader leaves ends the training with 1 after saving, without a log, too") {
  for (const bool error_too : {false, true}) {
    INFO((error_too ? "2>&1 | head" : "| head"));
    const ::test::Directory folder;
    const std::vector<std::string> arguments{"--steps", "100000000", "--threads", "1", "--save", folder / "state"};
    CHECK(run_and_leave(lesson, arguments, error_too, folder / "error") == 1);
    CHECK(std::filesystem::exists(folder / "state/state.safetensors"));
    if (!error_too) {
      const ::test::Bytes said = ::test::get(folder / "error");
      CHECK(has(std::string(said.begin(), said.end()),
                "standard output: expected room for what the program says, found Broken pipe"));
    }
  }
}

TEST_CASE("a training that diverged ends with 1, and says so") {
  const ::test::Directory folder;
  const Outcome outcome = run(lesson, {"--steps", "5", "--learning-rate", "1e38", "--save", folder / "state"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "training diverged"));
  CHECK(std::filesystem::exists(folder / "state/state.safetensors"));
  CHECK(run(lesson, {"--steps", "5"}).code == 0);
}

TEST_CASE("the first step is told apart from the average of the others, and one rank tells") {
  const ::test::Directory folder;
  for (const bool tells : {true, false}) {
    std::FILE* const file = std::fopen((folder / "times").c_str(), "w");
    vit_lesson::StepTimes times(file, tells, 2, 100);
    times.step(1, 105);
    times.step(2, 105.5);
    times.step(3, 107);
    times.step(4, 109);
    times.finish(0.25, 8);
    std::fclose(file);
    const ::test::Bytes said = ::test::get(folder / "times");
    CHECK(std::string(said.begin(), said.end()) ==
          (tells ? "step: 2: step time is 0.500000\nstep: 4: step time is 2.000000\naverage step time: 1.333333\n"
                   "6.00 samples/s; built in 0.250 s, first step 5.000 s\n"
                 : ""));
  }
}

TEST_CASE("a plan that the machine has no memory for is refused") {
  program::expect_memory("a network", 4096);
  try {
    program::expect_memory("a network", std::size_t{1} << 60);
    FAIL("nothing is refused");
  } catch (const Error& error) {
    CHECK(has(error.what(), "a network: expected 1073741824.0 GiB of free memory for its plan, found "));
  }
}
// SPDX-License-Identifier: Apache-2.0
