// examples/program.cpp — the parts of program.hpp that need no model: compiled once for all lessons and benchmarks.
#include "program.hpp"

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

namespace program {

// ---- command line

namespace {

[[noreturn]] void refuse(const std::string& expected, const std::string& found) {
  throw CLI::ValidationError("expected " + expected + ", found '" + found + "'");
}

std::uint64_t whole_number(const std::string& text, std::uint64_t least) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) refuse("a whole number of at least " + std::to_string(least), text);
  return value;
}

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

struct CommandLine::Parser : CLI::App {
  using CLI::App::App;

  template <class Read>
  CLI::Option* value(const std::string& name, const std::string& text, const std::string& type, const std::string& preset, const Read& read) {
    const auto with_name = [name, read](const std::string& given) {
      try {
        read(given);
      } catch (const CLI::ValidationError& error) {
        throw CLI::ValidationError(name, error.what());
      }
    };
    CLI::Option* const option = add_option_function<std::string>(name, with_name, text)->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (!preset.empty()) option->default_str(preset);
    return option;
  }
  CLI::Option* whole(const std::string& name, std::uint64_t& to, const std::string& text, std::uint64_t least, const std::string& preset) {
    return value(name, text, "N", preset, [&to, least](const std::string& given) { to = whole_number(given, least); });
  }
  CLI::Option* path(const std::string& name, std::string& to, const std::string& text, const std::string& type) {
    return value(name, text, type, "", [&to](const std::string& given) {
      if (given.empty()) refuse("a name", given);
      to = given;
    });
  }
};

CommandLine::CommandLine(const char* purpose) : parser_(std::make_unique<Parser>(purpose)) {
  parser_->get_formatter()->column_width(32);
  parser_->set_help_flag("-h,--help", "Show this and stop");
  parser_->footer("Exit codes: 0 done, 1 failed at run time, 2 bad arguments, 130 stopped by Ctrl-C (after the step, and after saving).");
}
CommandLine::~CommandLine() = default;

CommandLine::CommandLine(const char* purpose, Options& options, const char* data) : CommandLine(purpose) {
  Parser& parser = *parser_;
  if (data != nullptr) parser.path("--data", options.data, data, "PATH");
  parser.whole("--steps", options.steps, "Optimizer steps, those of a resumed run included", 1, std::to_string(options.steps));
  CLI::Option* const seed = parser.whole("--seed", options.seed, "Of initial weights, dropout and the order of the data (default: the Seed policy's)", 1, "");
  add("--learning-rate", options.learning_rate, "The largest of the schedule", 0);
  parser.value("--threads", "Of the computation (default: OMP_NUM_THREADS, else a rank's share of the processors)", "N", "", [&options](const std::string& given) {
    const std::uint64_t threads = whole_number(given, 1);
    if (threads > 4096) refuse("at most 4096", given);
    options.threads = static_cast<int>(threads);
  });
  const bool five = options.validate_every == Options::five_times;
  parser.whole("--validate-every", options.validate_every, std::string("Steps between validations; 0: at the end only") + (five ? " (default: five times in all)" : ""), 0,
               five ? "" : std::to_string(options.validate_every));
  parser.path("--log", options.log, "Write one JSON object per line: plan, every step, validations, end. '-': to standard output, and nothing else there", "FILE");
  CLI::Option* const save = parser.path("--save", options.save, "Write DIR/state.safetensors at the end (atomically)", "DIR");
  parser.whole("--save-every", options.save_every, "And after every N steps", 1, "")->needs(save);
  parser.path("--resume", options.resume, "Go on from DIR/state.safetensors, exactly as if the run had not stopped; --log FILE is appended to", "DIR")->excludes(seed);
  parser.add_flag("--verbose", options.verbose, "Say how products are computed");
}

CommandLine& CommandLine::add(const char* name, std::uint64_t& to, const char* text, std::uint64_t least) {
  parser_->whole(name, to, text, least, std::to_string(to));
  return *this;
}
CommandLine& CommandLine::add(const char* name, double& to, const char* text, double least, double most) {
  parser_->value(name, text, "X", short_text(to), [&to, least, most](const std::string& given) {
    double value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error != std::errc() || end != given.data() + given.size() || !(value >= least && value <= most)) {
      const bool open = most == std::numeric_limits<double>::max();
      refuse("a number " + (open ? "of at least " + short_text(least) : "from " + short_text(least) + " to " + short_text(most)), given);
    }
    to = value;
  });
  return *this;
}
CommandLine& CommandLine::add(const char* name, std::string& to, const char* text, std::initializer_list<const char*> choices) {
  std::string all;
  for (const char* const choice : choices) all += (all.empty() ? "" : "|") + std::string(choice);
  parser_->value(name, text, all.empty() ? "TEXT" : all, to, [&to, all](const std::string& given) {
    if (given.empty() && all.empty()) refuse("at least one character", given);
    if (!all.empty() && ("|" + all + "|").find("|" + given + "|") == std::string::npos) refuse(all, given);
    to = given;
  });
  return *this;
}
CommandLine& CommandLine::add(const char* name, bool& to, const char* text) {
  parser_->add_flag(name, to, text);
  return *this;
}

CommandLine& CommandLine::add(const char* name, std::vector<std::string>& values, const char* text) {
  parser_->add_option(name, values, text)->type_name("TEXT")->allow_extra_args(name[0] != '-');
  return *this;
}

CommandLine& CommandLine::either(const char* first, const char* second) {
  parser_->get_option(first)->excludes(parser_->get_option(second));
  return *this;
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "program";
  parser_->name(name);
  try {
    parser_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(parser_->help().c_str(), stdout);
    return finished(ok);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s\nsee %s --help\n", name.c_str(), error.what(), name.c_str());
    return bad_arguments;
  }
  return {};
}

// ---- standard output

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw regimen::Error("standard output", "room for what the program says", errno != 0 ? std::strerror(errno) : "an earlier line that was not written");
}
bool is_output_closed() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}
void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }
int finished(int code) {
  try {
    flush_output();
    return code;
  } catch (const regimen::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return code == ok ? failed : code;
  }
}

// ---- log

Event::Event(const char* name) : text_("{\"event\":\"" + std::string(name) + "\"") {}
Event& Event::key(const char* name) {
  if (text_.size() > 1) text_ += ",";
  text_ += "\"" + std::string(name) + "\":";
  return *this;
}
Event& Event::add(const char* name, double value) {
  char text[32] = "null";
  if (std::isfinite(value)) std::snprintf(text, sizeof text, "%.17g", value);
  key(name).text_ += text;
  return *this;
}
Event& Event::add(const char* name, std::uint64_t value) {
  key(name).text_ += std::to_string(value);
  return *this;
}
Event& Event::add(const char* name, bool value) {
  key(name).text_ += value ? "true" : "false";
  return *this;
}
Event& Event::add(const char* name, const Event& value) {
  key(name).text_ += value.text();
  return *this;
}

Log::Log(const std::string& name, bool append) : name_(name) {
  if (name.empty()) return;
  if (name == "-") {
    file_ = stdout;
    return;
  }
  append = append && std::filesystem::is_regular_file(name);  // a pipe has no lines to continue, and reading it would block
  file_ = append ? std::fopen(name.c_str(), "r+") : nullptr;
  if (file_ == nullptr) file_ = std::fopen(name.c_str(), "w");
  if (file_ == nullptr) throw regimen::Error("--log " + name, "a file that can be written", std::strerror(errno));
  long end = 0;  // after the last complete line
  for (int character = 0; (character = std::fgetc(file_)) != EOF;)
    if (character == '\n') end = std::ftell(file_);
  std::clearerr(file_);
  if (std::fseek(file_, end, SEEK_SET) != 0 || ftruncate(fileno(file_), end) != 0)
    if (append) throw regimen::Error("--log " + name, "a file that can be appended to", std::strerror(errno));
}
Log::~Log() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}
void Log::write(const Event& event) {
  if (file_ == nullptr) return;
  const std::string line = event.text() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0)
    throw regimen::Error("--log " + name_, "room for another line", std::strerror(errno));
}

// ---- the rest

void make_folder(const std::string& path, const std::string& file) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path)) throw regimen::Error("--save " + path, "a folder, or a place for one", error ? error.message() : "a file");
  const std::string whole = path + "/" + file;
  if (std::filesystem::is_directory(whole)) throw regimen::Error("--save " + path, "a folder in which " + file + " is a file", "a folder of that name");
  const regimen::detail::AtomicFile trial(whole);  // removed again without commit()
}

std::size_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

namespace {
/// The number in a file, behind a word if one is given; the largest if there is none.
std::size_t number_in(const char* path, const std::string& word = "") {
  std::ifstream file(path);
  std::string before;
  while (!word.empty() && file >> before && before != word) {}
  std::size_t number = 0;
  return file >> number ? number : std::numeric_limits<std::size_t>::max();
}
}  // namespace
void expect_memory(const std::string& what, std::size_t bytes) {
  const std::size_t kib = number_in("/proc/meminfo", "MemAvailable:"), most = number_in("/sys/fs/cgroup/memory.max");
  const std::size_t found = std::min(kib == std::numeric_limits<std::size_t>::max() ? kib : kib * 1024, most);
  if (bytes <= found) return;
  char expected[64], has[64];
  std::snprintf(expected, sizeof expected, "%.1f GiB of free memory for its plan", double(bytes) / 0x1p30);
  std::snprintf(has, sizeof has, "%.1f GiB", double(found) / 0x1p30);
  throw regimen::Error(what, expected, has);
}

namespace {
std::atomic<bool> interrupt_seen = false;  // ranks that are threads read it
static_assert(std::atomic<bool>::is_always_lock_free, "a signal sets it");
}
void catch_interrupt() {
  interrupt_seen = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // a log that waits for a slow pipe continues to wait
  sigaction(SIGINT, &action, nullptr);
}
void release_interrupt() { std::signal(SIGINT, SIG_DFL); }
bool is_interrupted() { return interrupt_seen; }

void Progress::operator()(const char* what, std::size_t done, std::size_t all) {
  if (is_interrupted()) throw Interrupted{};
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(5)) return;
  last_ = now;
  if (all == 0) std::printf("%s: %zu\n", what, done);
  else std::printf("%s: %zu of %zu\n", what, done, all);
  flush_output();
}

}  // namespace program
// SPDX-License-Identifier: Apache-2.0
