// examples/program.hpp — what programs share that knows no model: command line, log, Ctrl-C. The rest is session.hpp.
#pragma once

#include <regimen/train/options.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace program {

/// How a program ends.
enum Exit : int { ok = 0, failed = 1, bad_arguments = 2, interrupted = 130 };

/// What the common options say. A lesson gives its own defaults.
struct Options {
  std::string data{}, log{}, log_of = "first", save{}, resume{};   // log_of: among ranks, whose
  std::uint64_t steps = 1000, seed = 0, save_every = 0, validate_every = 0;
  int threads = 0;
  double learning_rate = 1e-3;
  bool verbose = false;

  /// The part that the constructor of any Trainer takes.
  template <class Train>
  typename Train::Options trainer() const {
    typename Train::Options result{.seed = seed, .threads = threads, .verbose = verbose};
    result.optimizer.learning_rate = learning_rate;
    return result;
  }
  /// The part that fit takes.
  regimen::FitOptions run() const { return {.steps = steps, .validate_every = validate_every}; }
};

/// The command line: the common options, and those that a lesson adds. (program.cpp; the parser costs seconds to compile.)
class CommandLine {
 public:
  /// `data` says what --data names; nullptr: the program takes no data.
  CommandLine(const char* purpose, Options& options, const char* data);
  CommandLine(const char* purpose);  // a program without options
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  CommandLine& add(const char* name, std::uint64_t& value, const char* text, std::uint64_t least = 0);
  CommandLine& add(const char* name, double& value, const char* text, double least, double most = std::numeric_limits<double>::max());
  CommandLine& add(const char* name, std::string& value, const char* text, std::initializer_list<const char*> choices = {});

  /// Nothing: go on. Otherwise the exit code of a program that has shown its help, or what is wrong with its arguments.
  std::optional<int> parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Throws when something that was printed did not arrive.
void flush_output();
/// Has the reader of standard output left (`| head`)? Asked between steps, also when nothing was printed since.
bool is_output_closed();
/// The exit code of a program that is done with printing: `code`, or, where the output did not arrive, a line that says so and 1.
int finished(int code);

/// From now on a pipe whose reader has left is an error of the next write and not, as SIGPIPE would have it, the end of the program.
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

/// One JSON object. Numbers keep all their digits; one that is not finite is null.
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

/// Writes one JSON object a line: to a file, to standard output (`-`), or nowhere (an empty name). `append` goes on with
/// a file that is there, without the half line that a killed program may have left.
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

/// Makes the folder where it is absent, and writes `file` into it on trial: one that cannot be written is refused now, not after
/// the training. A file of that name that is there stays as it is.
void make_folder(const std::string& path, const std::string& file);
std::size_t peak_resident_bytes();   // of the whole process, so far
void catch_interrupt();              // from now on the first Ctrl-C is noticed, the second ends the program
void release_interrupt();            // from now on the first one ends it
bool is_interrupted();               // since catch_interrupt

}  // namespace program
// SPDX-License-Identifier: Apache-2.0
