// The programs, as their users and other tools meet them: exit codes, the log, resumed runs, a clean standard output.
#include "gpt.hpp"

#include "../temporary.hpp"

#include "../support/catch.hpp"
#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

using namespace regimen;
using nlohmann::json;

namespace {

struct Tiny : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, PositionEmbedding,
                    Residual<LayerNorm, SelfAttention<Heads<2>, Causal>, Dropout<Ratio<1, 10>>>, LayerNorm, Linear<16>> {};
constexpr auto lesson = gpt<Tiny, Batch<4>>;
constexpr auto checked_lesson = gpt<Tiny, Batch<4>, Debug<Anomaly>>;

struct Outcome {
  int code;
  std::string out, err;
};

/// Runs a lesson with arguments; its standard output and error go to files.
Outcome run(int (*program)(int, char**), std::vector<std::string> arguments) {
  const ::test::Directory folder;
  arguments.insert(arguments.begin(), "/somewhere/lesson");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int kept[2];
  for (int fd : {1, 2}) {
    std::fflush(nullptr);
    kept[fd - 1] = ::dup(fd);
    std::FILE* const file = std::fopen((folder / std::to_string(fd)).c_str(), "w");
    REQUIRE(file != nullptr);
    ::dup2(::fileno(file), fd);
    std::fclose(file);
  }
  const int code = program(static_cast<int>(arguments.size()), argv.data());
  std::fflush(nullptr);
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

/// What a step must repeat in a resumed run: everything but times.
json repeatable(json step) {
  for (const char* key : {"milliseconds", "tokens_per_second", "samples_per_second"}) step.erase(key);
  return step;
}

}  // namespace

TEST_CASE("--help names every option and the exit codes, and ends with 0") {
  const Outcome outcome = run(lesson, {"--help"});
  CHECK(outcome.code == 0);
  for (const char* option : {"--data", "--steps", "--seed", "--threads", "--log", "--save", "--save-every", "--resume", "--validate-every", "--verbose",
                             "--help", "--learning-rate", "--alphabet", "--sample", "Exit codes"})
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

TEST_CASE("the log is one JSON object a line, with the names that other tools read") {
  const ::test::Directory folder;
  const Outcome outcome = run(lesson, {"--steps", "7", "--validate-every", "3", "--log", folder / "log"});
  REQUIRE(outcome.code == 0);
  const std::vector<json> events = log(folder / "log");
  REQUIRE(events.size() == 1 + 7 + 3 + 1);
  const json &plan = events.front(), &end = events.back();

  CHECK(plan["event"] == "plan");
  std::size_t sum = 0;
  for (const char* kind : {"parameter", "gradient", "optimizer", "saved", "transient", "scratch", "communication", "input"}) sum += plan["kinds"][kind].get<std::size_t>();
  CHECK(plan["kinds"].size() == 8);
  CHECK(plan["peak"] == sum);
  CHECK_FALSE(plan.contains("debug"));

  std::uint64_t steps = 0;
  std::vector<std::uint64_t> validated;
  for (const json& event : events) {
    if (event["event"] == "step") {
      CHECK(event["step"] == ++steps);
      for (const char* key : {"loss", "milliseconds", "tokens_per_second", "gradient_norm"}) CHECK(event[key].is_number());
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
  CHECK(has(outcome.out, "planned " + std::to_string(sum) + " bytes, used " + std::to_string(sum) + " bytes"));
}

TEST_CASE("numbers that are not finite are null") {
  const program::Event event = program::Event("step").add("loss", std::numeric_limits<double>::quiet_NaN()).add("norm", -std::numeric_limits<double>::infinity());
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
    for (std::size_t bytes = 0; bytes < 4000 && !over; std::this_thread::yield()) bytes = std::filesystem::exists(cut) ? ::test::get(cut).size() : 0;
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
// SPDX-License-Identifier: Apache-2.0
