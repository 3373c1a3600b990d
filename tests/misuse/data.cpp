// Data: files, and the stages of a pipeline.
#include <regimen/data/cache.hpp>
#include <regimen/data/choose.hpp>
#include <regimen/data/csv.hpp>
#include <regimen/data/example.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/join.hpp>
#include <regimen/data/json_lines.hpp>
#include <regimen/data/mix.hpp>
#include <regimen/data/samples.hpp>
#include <regimen/data/stage.hpp>
#include <regimen/data/text.hpp>

#include <cstdio>
#include <vector>

using namespace regimen;

// ---- map_takes_value ------------------------------------------------------------------------------------------------
// A stage whose function takes another type than the stage before it gives.
// expect: map\(f\) calls f\(value\) or f\(value, key\), const; let f take what the stage before it gives
// names: Numbers
namespace map_takes_value {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
#ifndef REGIMEN_MISUSE
  auto lengths = Numbers{} | data::map([](int number) { return number % 7; });
#else
  auto lengths = Numbers{} | data::map([](const std::string& text) { return int(text.size()); });
#endif
  return lengths.at({}) == 0 ? 0 : 1;
}
}  // namespace map_takes_value

// ---- stage_stands_on_dataset ----------------------------------------------------------------------------------------
// A stage on a file of text, which gives windows of tokens, not values.
// expect: a stage stands on a dataset; give it size\(\) const, at\(data::Key\) const and name\(\) const
// names: Text
namespace stage_stands_on_dataset {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
  const auto square = data::map([](int number) { return number * number; });
#ifndef REGIMEN_MISUSE
  auto squares = Numbers{} | square;
#else
  auto squares = Text("input.txt") | square;
#endif
  return squares.name().empty() ? 1 : 0;
}
}  // namespace stage_stands_on_dataset

// ---- stage_stands_on_dataset_mixture --------------------------------------------------------------------------------
// A mixture of a list of shards, whose number only the run knows, with one weight.
// expect: a stage stands on a dataset; give it size\(\) const, at\(data::Key\) const and name\(\) const
// names: vector
namespace stage_stands_on_dataset_mixture {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
  const std::vector<Numbers> shards(2);
#ifndef REGIMEN_MISUSE
  const auto mixed = data::mixture({3, 1}, shards[0], shards[1]);
  mixed.size();
#else
  data::mixture({3}, shards);
#endif
}
}  // namespace stage_stands_on_dataset_mixture

// ---- pipeline_has_an_end --------------------------------------------------------------------------------------------
// A pipeline that repeats its data: fit does that, in another order each epoch.
// expect: a dataset has an end, and fit repeats it; leave repeat out, or write {\.epochs = N}
namespace pipeline_has_an_end {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{};
  numbers.size();
#else
  data::repeat(Numbers{}, 3);
#endif
}
}  // namespace pipeline_has_an_end

// ---- writer_takes_sample --------------------------------------------------------------------------------------------
// A function that writes samples of doubles, for a model in float.
// expect: samples\(write\) calls write\(value, sample\), const; let it take the model's Sample<Input, Label>
// names: Sample<float, float>
namespace writer_takes_sample {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
#ifndef REGIMEN_MISUSE
  const auto write = [](int number, Sample<float, float> sample) {
#else
  const auto write = [](int number, Sample<double, double> sample) {
#endif
    data::put(sample.input, number);
    data::put(sample.target, number * 2);
  };
  const auto source = Numbers{} | data::samples(write);
  float input[1], target[1];
  source.read(data::Key{}, Sample<float, float>{input, target});
}
}  // namespace writer_takes_sample

// ---- cache_stands_before_random -------------------------------------------------------------------------------------
// A cache behind a stage that draws: every epoch would have the numbers of the first.
// expect: cache\(\) would freeze what changes with the epoch; put it before the random stage
// names: Numbers
namespace cache_stands_before_random {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
  const auto noise = data::map([](int number, const data::Key& key) { return number + int(key.bits(0) % 5); });
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{} | data::cache() | noise;
#else
  auto numbers = Numbers{} | noise | data::cache();
#endif
  return numbers.size() == 100 ? 0 : 1;
}
}  // namespace cache_stands_before_random

// ---- cached_bytes_are_known -----------------------------------------------------------------------------------------
// A cache of values that own memory and do not say how much.
// expect: cache\(\) states its bytes; give the value bytes\(\) const, the memory that it owns
// names: Picture
namespace cached_bytes_are_known {
#ifndef REGIMEN_MISUSE
struct Picture {
  std::vector<unsigned char> pixels;
  int label = 0;
  std::size_t bytes() const { return pixels.capacity(); }
};
#else
struct Picture {
  std::vector<unsigned char> pixels;
  int label = 0;
};
#endif
struct Pictures {
  std::size_t size() const { return 100; }
  Picture at(const data::Key&) const { return {std::vector<unsigned char>(27), 3}; }
  std::string name() const { return "pictures"; }
};

int program() {
  auto kept = Pictures{} | data::cache();
  return kept.at({}).label == 3 ? 0 : 1;
}
}  // namespace cached_bytes_are_known

// ---- choice_stands_before_random ------------------------------------------------------------------------------------
// A filter behind a stage that draws: what it chooses would hold for one epoch alone.
// expect: filter, by_length and split choose once; put them before a random stage, or before mixture
// names: Numbers
namespace choice_stands_before_random {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
  const auto noise = data::map([](int number, const data::Key& key) { return number + int(key.bits(0) % 5); });
  const auto small = data::filter([](int number) { return number < 50; });
#ifndef REGIMEN_MISUSE
  auto numbers = Numbers{} | small | noise;
#else
  auto numbers = Numbers{} | noise | small;
#endif
  return numbers.size() == 50 ? 0 : 1;
}
}  // namespace choice_stands_before_random

// ---- predicate_takes_value ------------------------------------------------------------------------------------------
// A filter that draws: it would be asked once for all epochs.
// expect: filter, by_length and split\(by\) call f\(value\), const, once; let f take no key, and not draw
// names: Numbers
namespace predicate_takes_value {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
#ifndef REGIMEN_MISUSE
  auto half = Numbers{} | data::filter([](int number) { return number % 2 == 0; });
#else
  auto half = Numbers{} | data::filter([](int, const data::Key& key) { return key.bits(0) % 2 == 0; });
#endif
  return half.size() == 50 ? 0 : 1;
}
}  // namespace predicate_takes_value

// ---- predicate_gives_result -----------------------------------------------------------------------------------------
// A filter that says it in words.
// expect: filter wants a bool of f, by_length a number, split\(by\) a string or an integer; return that
// names: string
namespace predicate_gives_result {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
#ifndef REGIMEN_MISUSE
  auto half = Numbers{} | data::filter([](int number) { return number % 2 == 0; });
#else
  auto half = Numbers{} | data::filter([](int number) { return std::string(number % 2 == 0 ? "yes" : "no"); });
#endif
  return half.size() != 0 ? 0 : 1;
}
}  // namespace predicate_gives_result

// ---- predicate_gives_result_length ----------------------------------------------------------------------------------
// A length in words.
// expect: filter wants a bool of f, by_length a number, split\(by\) a string or an integer; return that
// names: string
namespace predicate_gives_result_length {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
#ifndef REGIMEN_MISUSE
  auto sorted = Numbers{} | data::by_length([](int number) { return number; });
#else
  auto sorted = Numbers{} | data::by_length([](int number) { return std::to_string(number); });
#endif
  return sorted.size() == 100 ? 0 : 1;
}
}  // namespace predicate_gives_result_length

// ---- predicate_gives_result_split -----------------------------------------------------------------------------------
// A split by fractions, of which two are hardly ever the same.
// expect: filter wants a bool of f, by_length a number, split\(by\) a string or an integer; return that
// names: double
namespace predicate_gives_result_split {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int program() {
#ifndef REGIMEN_MISUSE
  auto parts = Numbers{} | data::split(0.5, [](int number) { return number / 10; });
#else
  auto parts = Numbers{} | data::split(0.5, [](int number) { return 0.1 * number; });
#endif
  return sizeof parts != 0 ? 0 : 1;
}
}  // namespace predicate_gives_result_split

// ---- joined_values_agree --------------------------------------------------------------------------------------------
// Two datasets of unlike values, one behind the other.
// expect: concatenate, interleave and mixture join values of one type; map them to one before
// names: int
namespace joined_values_agree {
template <class T>
struct Numbers {
  std::size_t size() const { return 100; }
  T at(const data::Key& key) const { return T(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
#ifndef REGIMEN_MISUSE
  auto both = data::concatenate(Numbers<int>{}, Numbers<float>{} | data::map([](float x) { return int(x); }));
  both.size();
#else
  data::concatenate(Numbers<int>{}, Numbers<float>{});
#endif
}
}  // namespace joined_values_agree

// ---- weights_match_datasets -----------------------------------------------------------------------------------------
// A mixture with one weight for two datasets.
// expect: mixture takes one weight for each dataset; write mixture\({3, 1}, a, b\)
// names: Numbers
namespace weights_match_datasets {
struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

void program() {
#ifndef REGIMEN_MISUSE
  const auto both = data::mixture({3, 1}, Numbers{}, Numbers{});
  both.size();
#else
  data::mixture({3}, Numbers{}, Numbers{});
#endif
}
}  // namespace weights_match_datasets

// ---- mixed_takes_images ---------------------------------------------------------------------------------------------
// Files that are mixed before they are decoded.
// expect: mixed takes values of data::LabelledImage; decode files before, in a map
// names: EncodedImage
namespace mixed_takes_images {
int program() {
  const data::ImageFolder folder("photos");
#ifndef REGIMEN_MISUSE
  const auto decode = [](const data::EncodedImage& file) {
    return data::LabelledImage{data::decode(file), file.label};
  };
  const auto mixed = folder | data::map(decode) | data::mixed(data::Mixup{.classes = 2});
#else
  const auto mixed = folder | data::mixed(data::Mixup{.classes = 2});
#endif
  return mixed.size() != 0 ? 0 : 1;
}
}  // namespace mixed_takes_images

// ---- column_takes_type ----------------------------------------------------------------------------------------------
// A column as a view of text that nobody owns.
// expect: Csv reads std::string, bool, numbers, or std::optional of these; name one of them
// names: string_view
namespace column_takes_type {
int program() {
#ifndef REGIMEN_MISUSE
  const data::Csv<std::string> table("houses.csv", {"street"});
#else
  const data::Csv<std::string_view> table("houses.csv", {"street"});
#endif
  return table.size() != 0 ? 0 : 1;
}
}  // namespace column_takes_type

// ---- field_takes_type -----------------------------------------------------------------------------------------------
// A field as a view of text that nobody owns.
// expect: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; name one of them
// names: string_view
namespace field_takes_type {
int program() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<std::string> lines("reviews.jsonl", {"text"});
#else
  const data::JsonLines<std::string_view> lines("reviews.jsonl", {"text"});
#endif
  return lines.size() != 0 ? 0 : 1;
}
}  // namespace field_takes_type

// ---- field_takes_type_list ------------------------------------------------------------------------------------------
// Characters, of which JSON has none, in a list beside a field that is right.
// expect: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; name one of them
// names: char
namespace field_takes_type_list {
int program() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<int, std::string> lines("reviews.jsonl", {"stars", "text"});
#else
  const data::JsonLines<int, std::vector<char>> lines("reviews.jsonl", {"stars", "text"});
#endif
  return std::get<0>(lines.at({.index = 0})) != 0 ? 0 : 1;
}
}  // namespace field_takes_type_list

// ---- names_match_types ----------------------------------------------------------------------------------------------
// A type without a name: the file of pandas has a column named "".
// expect: Csv and JsonLines read one name as each type; give as many names as types, in their order
// names: float, int
namespace names_match_types {
int program() {
#ifndef REGIMEN_MISUSE
  const data::Csv<float, int> table("houses.csv", {"price", "rooms"});
#else
  const data::Csv<float, int> table("houses.csv", {"price"});
#endif
  return table.size() != 0 ? 0 : 1;
}
}  // namespace names_match_types

// ---- names_match_types_json -----------------------------------------------------------------------------------------
// A name too many.
// expect: Csv and JsonLines read one name as each type; give as many names as types, in their order
// names: int
namespace names_match_types_json {
int program() {
#ifndef REGIMEN_MISUSE
  const data::JsonLines<int> lines("reviews.jsonl", {"stars"});
#else
  const data::JsonLines<int> lines("reviews.jsonl", {"stars", "text"});
#endif
  return lines.size() != 0 ? 0 : 1;
}
}  // namespace names_match_types_json
// SPDX-License-Identifier: Apache-2.0
