// examples/tokens.cpp — text to tokens: files of text become a file of ids, which regimen::TokenFile reads, or several.
//
//   tokens --tokenizer tokenizer.json --output train.bin book.txt          with a vocabulary that there is
//   tokens --train 8192 --tokenizer mine.json --output train.bin *.txt     with one that is learned from the same texts, and saved
//   tokens --tokenizer tokenizer.json --output train --shard-tokens 1000000000 *.txt     train-00000-of-00003.bin and so on
#include <regimen/core/threads.hpp>
#include <regimen/data/token_writer.hpp>
#include <regimen/data/train_tokenizer.hpp>

#include "program.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace regimen;

namespace {

struct Arguments {
  std::string tokenizer, output, pattern, separator;
  std::vector<std::string> inputs, specials;
  std::uint64_t train = 0, threads = 0, shard_tokens = 0;
  bool raw = false, replace = false, specials_in_text = false, replace_invalid = false, text_is_nfc = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

const char* pattern_of(const std::string& name) { return name == "gpt2" || name.empty() ? data::patterns::gpt2 : data::patterns::cl100k; }   // llama3 is cl100k

data::Tokenizer tokenizer_of(const Arguments& arguments, const std::vector<std::string_view>& texts, program::Progress& progress) {
  const bool is_tiktoken = arguments.train == 0 && arguments.tokenizer.ends_with(".tiktoken");
  if (is_tiktoken && arguments.pattern.empty())
    throw Error("--pattern", "the pattern of " + arguments.tokenizer + ", which the file does not say", "none", "write --pattern cl100k, say");
  if (arguments.train == 0 && !arguments.specials.empty())
    throw Error("--special", "--train, which learns a vocabulary with it", "a vocabulary that is read", "leave it out");
  if (!is_tiktoken && arguments.train == 0 && !arguments.pattern.empty())
    throw Error("--pattern", "--train, or a file of tiktoken", "tokenizer.json, which has its own", "leave it out");
  if (arguments.text_is_nfc && (is_tiktoken || arguments.train != 0))
    throw Error("--text-is-nfc", "a tokenizer.json that asks for it", is_tiktoken ? "a file of tiktoken" : "--train", "leave it out");
  if (arguments.train == 0) {
    if (!arguments.tokenizer.ends_with(".tiktoken")) return data::Tokenizer(arguments.tokenizer, {.text_is_nfc = arguments.text_is_nfc});
    return data::Tokenizer::tiktoken(arguments.tokenizer, pattern_of(arguments.pattern));
  }
  data::TokenizerTraining training{.vocabulary = arguments.train, .pattern = pattern_of(arguments.pattern), .specials = arguments.specials};
  training.report = [&](const char* what, std::size_t done, std::size_t all) { progress(what, done, all); };
  const double begun = now();
  const data::Tokenizer tokenizer = data::train_tokenizer(texts, training);
  tokenizer.save(arguments.tokenizer);
  std::printf("%s: %zu tokens, learned in %.1f s\n", arguments.tokenizer.c_str(), tokenizer.vocabulary(), now() - begun);
  return tokenizer;
}

/// Whether two paths lead to one file, also to one that is not there yet.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto whole = [&](const std::string& path) { return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error); };
  return whole(a) == whole(b);
}

/// How the names of shards begin: --output without .bin.
std::string prefix_of(const Arguments& arguments) {
  const std::string& output = arguments.output;
  return output.ends_with(".bin") ? output.substr(0, output.size() - 4) : output;
}

data::TokenShards::Options shards_of(const Arguments& arguments) {
  return {arguments.shard_tokens, arguments.raw ? data::TokenWriter::Raw : data::TokenWriter::Auto,
          arguments.replace ? data::TokenShards::Replace : data::TokenShards::Refuse};
}

/// A file of tokens, or several.
class Output {
 public:
  Output(const Arguments& arguments, std::size_t vocabulary) {
    const data::TokenShards::Options options = shards_of(arguments);
    if (arguments.shard_tokens == 0) {
      file_.emplace(arguments.output, vocabulary, options.layout);
      return;
    }
    ::rlimit files{};   // a shard is an open file until it is committed
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
      files.rlim_cur = files.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &files);
    }
    shards_.emplace(prefix_of(arguments), vocabulary, options);
  }
  void write(std::span<const std::int32_t> ids) { file_ ? file_->write(ids) : shards_->write(ids); }
  void commit() { file_ ? file_->commit() : shards_->commit(); }
  std::size_t count() const { return file_ ? file_->count() : shards_->count(); }
  /// The end of the summary: how many shards there are.
  std::string words() const {
    if (file_) return "";
    return ", in " + std::to_string(shards_->shards()) + (shards_->shards() == 1 ? " shard" : " shards");
  }

 private:
  std::optional<data::TokenWriter> file_;
  std::optional<data::TokenShards> shards_;
};

/// What is written must be no other file of the command: it would be lost.
void refuse_overwriting(const Arguments& arguments) {
  const auto apart = [](const char* option, const std::string& written, const std::string& other, const char* what) {
    if (same_file(written, other)) throw Error(std::string(option) + " " + written, "a file of its own", what, "give it another name");
  };
  const auto apart_from_output = [&](const std::string& other, const char* what) {
    if (arguments.shard_tokens == 0) return apart("--output", arguments.output, other, what);
    const std::string prefix = prefix_of(arguments);
    const std::filesystem::path path(other), whole(prefix);
    const auto folder = [](const std::filesystem::path& of) { return of.has_parent_path() ? of.parent_path().string() : "."; };
    if (data::TokenShards::is_shard(prefix, path.filename().string()) && same_file(folder(path), folder(whole))) apart("--output", other, other, what);
    for (const std::string& shard : data::TokenShards::found(prefix)) apart("--output", shard, other, what);   // also behind a link
  };
  apart_from_output(arguments.tokenizer, "the file of --tokenizer");
  for (const std::string& input : arguments.inputs) {
    apart_from_output(input, "an input");
    if (arguments.train != 0) apart("--tokenizer", arguments.tokenizer, input, "an input");
  }
}

int convert(const Arguments& arguments) {
  refuse_overwriting(arguments);
  if (arguments.shard_tokens != 0) data::TokenShards::check(prefix_of(arguments), shards_of(arguments));   // before a vocabulary is learned
  std::vector<MappedFile> files;
  std::vector<std::string_view> texts;
  std::size_t bytes = 0;
  for (const std::string& input : arguments.inputs) {
    files.emplace_back(input);
    const auto content = files.back().bytes();
    if (content.empty()) throw Error(input, "text", "an empty file", "leave it out");
    texts.emplace_back(reinterpret_cast<const char*>(content.data()), content.size());
    bytes += content.size();
  }
  program::Progress progress;
  program::catch_interrupt();
  const data::Tokenizer tokenizer = tokenizer_of(arguments, texts, progress);
  std::optional<std::int32_t> separator;
  if (!arguments.separator.empty()) {
    separator = tokenizer.find(arguments.separator);
    if (!separator) throw Error("--separator", "a token of " + tokenizer.name(), "'" + arguments.separator + "'");
  }
  Output writer(arguments, tokenizer.vocabulary());
  data::EncodeOptions options{.threads = static_cast<int>(arguments.threads)};
  options.specials = arguments.specials_in_text ? data::Specials::Recognize : data::Specials::AsText;
  const double begun = now();
  std::size_t done = 0;
  for (const std::string_view text : texts) {
    const std::string replaced = arguments.replace_invalid ? data::replace_invalid_utf8(text) : "";
    tokenizer.encode(arguments.replace_invalid ? std::string_view(replaced) : text, options, [&](std::span<const std::int32_t> ids) {
      writer.write(ids);
      progress("tokens so far", writer.count(), 0);
    });
    if (separator) writer.write({&*separator, 1});
    done += text.size();
    progress("bytes", done, bytes);
  }
  const double seconds = now() - begun;
  writer.commit();
  std::printf("%s: %zu tokens of %zu bytes, %.2f bytes each, in %.2f s, %.1f MB/s%s\n", arguments.output.c_str(), writer.count(), bytes,
              static_cast<double>(bytes) / static_cast<double>(writer.count()), seconds, static_cast<double>(bytes) / seconds / 1e6, writer.words().c_str());
  return program::ok;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  program::CommandLine line("Text to tokens: files of text become one file of ids, which regimen::TokenFile reads, or, with --shard-tokens, several, named "
                            "OUTPUT-00000-of-00003.bin, say, which regimen::data::TokenFiles reads as one stream.");
  line.add("--tokenizer", arguments.tokenizer, "tokenizer.json of Hugging Face, or a file FILE.tiktoken; with --train the file to write");
  line.add("--output", arguments.output, "The file of tokens to write: llm.c's layout, of 16 bits if they suffice");
  line.add("--shard-tokens", arguments.shard_tokens, "Write files of N tokens each, the last one of the rest; 0: one file, of at most 2147483647 tokens without --raw. "
                                                     "They appear when all are written; shards of this name must not be there");
  line.add("--replace", arguments.replace, "Remove the shards of this name that are there, whatever their number, when the new ones are written");
  line.add("--raw", arguments.raw, "Write nanoGPT's layout: 16 bits a token, and nothing else");
  line.add("--train", arguments.train, "Learn a vocabulary of N tokens from the inputs; 0: read it");
  line.add("--pattern", arguments.pattern, "Cuts text into words: with --train (gpt2 if not given) and for tiktoken's files, which do not say theirs", {"gpt2", "cl100k", "llama3"});
  line.add("--special", arguments.specials, "A special token of the vocabulary to learn; may be given again");
  line.add("--separator", arguments.separator, "A token that is written behind each input, such as <|endoftext|>");
  line.add("--specials-in-text", arguments.specials_in_text, "The text of a special token in an input is that token, not text");
  line.add("--replace-invalid", arguments.replace_invalid, "U+FFFD for what is no UTF-8; otherwise its bytes are kept");
  line.add("--text-is-nfc", arguments.text_is_nfc, "Read a tokenizer.json that asks for the form NFC: the inputs have it");
  line.add("--threads", arguments.threads, "0: OMP_NUM_THREADS, else the processors");
  line.add("inputs", arguments.inputs, "Files of text, one document each");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (arguments.tokenizer.empty() || arguments.output.empty() || arguments.inputs.empty() || arguments.threads > 4096 || (arguments.replace && arguments.shard_tokens == 0)) {
    std::fprintf(stderr, "tokens: expected --tokenizer FILE, --output FILE, at least one input, at most 4096 threads, and --replace with --shard-tokens alone\nsee tokens --help\n");
    return program::bad_arguments;
  }
  return program::run([&] {
    try {
      return convert(arguments);
    } catch (const program::Interrupted&) {
      std::fprintf(stderr, "stopped; %s is as it was\n", arguments.output.c_str());
      return static_cast<int>(program::interrupted);
    }
  });
}
// SPDX-License-Identifier: Apache-2.0
