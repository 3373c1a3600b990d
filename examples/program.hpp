// examples/program.hpp — the parts of all programs that need no model: command line, log,
// Ctrl-C. session.hpp has the others.
#pragma once

#include <regimen/trainers/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// The exit codes of programs.
enum Exit : int { ok = 0, failed = 1, bad_arguments = 2, interrupted = 130 };

/// The values of the common options. A lesson sets its own defaults.
struct Options {
  std::string data{}, log{}, log_of = "first", save{}, resume{};   // log_of: which ranks write a log
  static constexpr std::uint64_t five_times = ~std::uint64_t{0};   // validate_every, as a default: a program that knows its steps later
  std::uint64_t steps = 1000, seed = 0, save_every = 0, validate_every = 0;
  int threads = 0;
  double learning_rate = 1e-3;
  bool verbose = false;

  /// The options for the constructor of any Trainer.
  template <class Train>
  typename Train::Options trainer() const {
    typename Train::Options result{.seed = seed, .threads = threads, .verbose = verbose};
    result.optimizer.learning_rate = learning_rate;
    return result;
  }
  /// The options for fit.
  regimen::FitOptions run() const { return {.steps = steps, .validate_every = validate_every}; }
};

/// The command line: the common options, and those that a lesson adds. (In program.cpp, since the
/// parser takes seconds to compile.)
class CommandLine {
 public:
  /// `data` is the help text of --data; nullptr: the program takes no data.
  CommandLine(const char* purpose, Options& options, const char* data);
  CommandLine(const char* purpose);  // a program without options
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  CommandLine& add(const char* name, std::uint64_t& value, const char* text, std::uint64_t least = 0);
  CommandLine& add(const char* name, double& value, const char* text, double least, double most = std::numeric_limits<double>::max());
  CommandLine& add(const char* name, std::string& value, const char* text, std::initializer_list<const char*> choices = {});
  CommandLine& add(const char* name, bool& value, const char* text);  // true if it is given
  CommandLine& add(const char* name, std::vector<std::string>& values, const char* text);  // one each time; without dashes: what is no option
  CommandLine& either(const char* first, const char* second);  // of these two options one at most may be given

  /// Empty: continue. Otherwise the exit code, after printing the help or an error in the arguments.
  std::optional<int> parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Throws if a part of the output could not be written.
void flush_output();
/// Whether the reader of standard output is gone (`| head`). Checked between steps, also when nothing was printed.
bool is_output_closed();
/// The exit code after all output: `code`, or 1, with a line on standard error, if the output could not be written.
int finished(int code);

/// Ignores SIGPIPE: from now on a write to a pipe without a reader fails, and does not end the program.
void ignore_closed_pipes();

/// Runs the rest of main; an exception becomes one line on standard error and exit code 1.
template <class Body>
int run(const Body& body) {
  ignore_closed_pipes();
  try {
    return finished(body());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return failed;
  }
}

/// One JSON object. Numbers keep all their digits; numbers that are not finite become null.
class Event {
 public:
  explicit Event(const char* name);
  Event& add(const char* key, double value);
  Event& add(const char* key, std::uint64_t value);
  Event& add(const char* key, bool value);
  Event& add(const char* key, const Event& value);
  Event() : text_("{") {}
  std::string text() const { return text_ + "}"; }

 private:
  Event& key(const char* name);
  std::string text_;
};

/// Writes one JSON object per line: to a file, to standard output (`-`), or nowhere (an empty name). `append` continues
/// an existing file, without the incomplete line that a killed program may have left.
class Log {
 public:
  explicit Log(const std::string& name, bool append);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();
  void write(const Event& event);

 private:
  std::string name_;
  std::FILE* file_ = nullptr;
};

/// Creates the folder if it is missing, and checks that `file` can be written there, so that an error comes before the
/// training. An existing file stays as it is.
void make_folder(const std::string& path, const std::string& file);
std::size_t peak_resident_bytes();   // of the whole process, so far
/// Throws if this machine, or the control group of this process, has fewer bytes to give than a plan takes: what, and the plan's bytes. (Linux gives
/// more than there is, and ends the program when it is written.)
void expect_memory(const std::string& what, std::size_t bytes);
void catch_interrupt();              // from now on the first Ctrl-C is noticed, the second ends the program
void release_interrupt();            // from now on the first Ctrl-C ends the program
bool is_interrupted();               // since catch_interrupt

/// Thrown out of long work when Ctrl-C was pressed.
struct Interrupted {};

/// A line every five seconds of what takes long; Ctrl-C ends it. `all` of 0: nobody knows how much there is.
class Progress {
 public:
  void operator()(const char* what, std::size_t done, std::size_t all);

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace program
// SPDX-License-Identifier: Apache-2.0
