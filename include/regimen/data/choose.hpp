// regimen/data/choose.hpp — stages that choose or order values: take, skip, shuffle, filter, by_length, split.
#pragma once

#include <regimen/core/threads.hpp>
#include <regimen/data/batching.hpp>  // automatic
#include <regimen/data/on_threads.hpp>
#include <regimen/data/report.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/stage.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

/// Options of a stage that reads all values once, when it is made.
///
///   workers   threads; 0, and data::automatic: as many as processors
///   report    is called with the progress
struct Opening final {
  std::size_t workers = 0;
  Report report{};
};

namespace detail {

/// Calls visit(i) for every i below size, from several threads, for neighbours from one thread. Throws the exception of
/// the lowest i.
[[gnu::noinline]] inline void scan(std::size_t size, const Opening& opening, const char* what,
                                   const std::function<void(std::size_t)>& visit) {
  constexpr std::size_t piece = 256;
  std::mutex mutex;
  std::size_t done = 0;  // guarded
  const bool chooses = opening.workers == 0 || opening.workers == automatic;
  const std::size_t workers = chooses ? static_cast<std::size_t>(processor_count()) : opening.workers;
  on_threads(size / piece + (size % piece != 0), workers, [&](std::size_t, std::size_t number) {
    const std::size_t first = number * piece, last = (std::min)(size - first, piece) + first;
    for (std::size_t i = first; i < last; ++i) visit(i);
    const std::lock_guard lock(mutex);
    done += last - first;
    if (opening.report) opening.report(what, done, size);
  });
}

/// A hash that does not change with the library or the machine.   source   FNV-1a, 64 bits
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3u;
  return Philox::mix(hash);
}
template <class T>
  requires std::is_integral_v<T>
std::uint64_t hash_of(T number) {
  return Philox::mix(static_cast<std::uint64_t>(number));
}

}  // namespace detail

/// Values of D under other indices: the value at an index is the value of D at the place that Find gives.
template <class D, class Find>
class Choice final : public detail::Underlying<D> {
  using Lower = detail::Underlying<D>;

 public:
  static constexpr bool varies = data::varies<D>;
  static constexpr std::size_t height = detail::height<D>;

  Choice(Lower below, Find find, std::size_t size, std::string label)
      : Lower(std::move(below)), find_(std::move(find)), size_(size), label_(std::move(label)) {}
  std::size_t size() const { return size_; }
  std::string name() const { return Lower::name() + label_; }
  decltype(auto) at(const Key& key) const { return Lower::at({find_(key.index), key.epoch, key.seed}); }
  std::string place(const Key& key) const { return Lower::place({find_(key.index), key.epoch, key.seed}); }
  std::size_t bytes() const { return Lower::bytes() + data::bytes(find_); }

 private:
  Find find_;
  std::size_t size_;
  std::string label_;
};

namespace detail {

struct From final {
  std::size_t first;
  std::size_t operator()(std::size_t index) const { return first + index; }
};
struct Permutation final {
  std::uint64_t key, size;
  std::size_t operator()(std::size_t index) const {
    return size < 2 ? index : static_cast<std::size_t>(regimen::detail::permute(key, index, size));
  }
};
struct IndexList final {
  std::shared_ptr<const std::vector<std::size_t>> index;
  std::size_t operator()(std::size_t place) const { return (*index)[place]; }
  std::size_t bytes() const { return index->capacity() * sizeof(std::size_t); }
};

template <class D>
auto slice(Underlying<D> below, std::size_t first, std::size_t count, std::string label) {
  return Choice<D, From>(std::move(below), {first}, count, std::move(label));
}
template <class D>
auto listed(Underlying<D> below, std::vector<std::size_t> index, std::string label) {
  index.shrink_to_fit();
  const std::size_t size = index.size();
  return Choice<D, IndexList>(std::move(below), {std::make_shared<const std::vector<std::size_t>>(std::move(index))},
                              size, std::move(label));
}
inline void expect_as_many(const std::string& name, const char* stage, std::size_t size, std::size_t count) {
  if (count <= size) return;
  throw Error(name + " | " + stage, "at least " + regimen::detail::counted(count, "value"), std::to_string(size),
              "write fewer, or give more data");
}

/// F's result for a value of D; if F does not take one, int, which suits every stage.
template <class F, class D, class Takes = rule::predicate_takes_value<F, D>>
using result_of = typename std::conditional_t<Takes::holds, std::invoke_result<const F&, typename Takes::Value>,
                                              std::type_identity<int>>::type;

template <class T>
concept Hashed = requires(T value) { detail::hash_of(static_cast<T&&>(value)); };
template <class F, class D>
using GivesBool = rule::predicate_gives_result<result_of<F, D>, std::is_constructible_v<bool, result_of<F, D>>>;
template <class F, class D>
using GivesNumber = rule::predicate_gives_result<result_of<F, D>, std::is_constructible_v<double, result_of<F, D>>>;
template <class F, class D>
using GivesHashed = rule::predicate_gives_result<result_of<F, D>, Hashed<result_of<F, D>>>;

/// A stage that asks f about all values, when it is made, by several threads: then(below, all) makes the dataset;
/// all(convert) gives convert(f(value)) of each value.
template <template <class, class> class Gives, class F, class Then>
auto choice(F f, Opening opening, const char* label, Then then) {
  return Pipe{[f = std::move(f), opening = std::move(opening), label, then = std::move(then)]<class D>(D dataset) {
    static_assert(sizeof(typename rule::choice_stands_before_random<D>::must_hold));
    static_assert(sizeof(typename rule::predicate_takes_value<F, D>::must_hold));
    static_assert(sizeof(typename Gives<F, D>::must_hold));
    if constexpr (!varies<D> && rule::predicate_takes_value<F, D>::holds && Gives<F, D>::holds) {
      const Underlying<D> below(std::move(dataset));
      return then(below, [&]<class Convert>(const Convert& convert) {
        std::vector<std::invoke_result_t<const Convert&, result_of<F, D>>> results(below.size());
        scan(below.size(), opening, label + 3, [&](std::size_t i) {
          decltype(auto) value = below.at(Key{.index = i});
          try {
            results[i] = convert(f(static_cast<decltype(value)&&>(value)));
          } catch (...) { refuse_value(below, below.name() + label, Key{.index = i}); }
        });
        return results;
      });
    } else {
      return dataset;
    }
  }};
}

}  // namespace detail

/// The first n values.   failure   Error if there are fewer
inline auto take(std::size_t n) {
  return detail::Pipe{[n]<class D>(D dataset) {
    detail::expect_as_many(dataset.name(), "take", dataset.size(), n);
    return detail::slice(detail::Underlying<D>(std::move(dataset)), 0, n, " | take " + std::to_string(n));
  }};
}
template <class D>
auto take(D dataset, std::size_t n) {
  return std::move(dataset) | take(n);
}

/// All values after the first n.   failure   Error if there are fewer
inline auto skip(std::size_t n) {
  return detail::Pipe{[n]<class D>(D dataset) {
    const std::size_t size = dataset.size();
    detail::expect_as_many(dataset.name(), "skip", size, n);
    return detail::slice(detail::Underlying<D>(std::move(dataset)), n, size - n, " | skip " + std::to_string(n));
  }};
}
template <class D>
auto skip(D dataset, std::size_t n) {
  return std::move(dataset) | skip(n);
}

/// All values in another order, which is the same in every epoch. Training needs no shuffle: the Loader reads in
/// Order::Shuffled. A shuffle is for a later take or split of a file that is sorted (by class, by date).
///
///   cost   no memory and no reading: a permutation of indices, as Order::Shuffled is one. So it shuffles a whole file;
///          a buffer of n values would shuffle only within n values
inline auto shuffle(std::uint64_t seed) {
  return detail::Pipe{[seed]<class D>(D dataset) {
    const std::size_t size = dataset.size();
    return Choice<D, detail::Permutation>(detail::Underlying<D>(std::move(dataset)), {Philox::mix(seed, 0x5F), size},
                                          size, " | shuffle");
  }};
}
template <class D>
auto shuffle(D dataset, std::uint64_t seed) {
  return std::move(dataset) | shuffle(seed);
}

/// The values of which p is true. All values are read once, here, by several threads.
///
///   p      p(value) -> bool: const, and called from several threads; does not draw
///   cost   8 bytes for each value that stays
template <class P>
  requires(!Dataset<P>)
auto filter(P p, Opening opening = {}) {
  return detail::choice<detail::GivesBool>(
      std::move(p), std::move(opening), " | filter", [](const auto& below, const auto& all) {
        const auto stays = all([](auto&& result) { return std::uint8_t{static_cast<bool>(result)}; });
        std::vector<std::size_t> index;
        index.reserve(static_cast<std::size_t>(std::count(stays.begin(), stays.end(), std::uint8_t{1})));
        for (std::size_t i = 0; i < stays.size(); ++i)
          if (stays[i] != 0) index.push_back(i);
        return detail::listed(below, std::move(index), " | filter");
      });
}
template <class D, class P>
  requires(!std::is_convertible_v<P, Opening>)
auto filter(D dataset, P p, Opening opening = {}) {
  return std::move(dataset) | filter(std::move(p), std::move(opening));
}

/// The values sorted by length; values of equal length keep their order. With Order::Runs a batch has values of similar
/// lengths, and the batches come in another order each epoch. All values are read once, here, by several threads.
///
///   length   length(value) -> a number, compared in fp64: const, and called from several threads; does not draw
///   failure  Error for a length that is NaN
///   cost     8 bytes for each value
template <class Length>
  requires(!Dataset<Length>)
auto by_length(Length length, Opening opening = {}) {
  return detail::choice<detail::GivesNumber>(
      std::move(length), std::move(opening), " | by_length", [](const auto& below, const auto& all) {
        const auto lengths = all([](auto&& result) { return static_cast<double>(result); });
        for (std::size_t i = 0; i < lengths.size(); ++i)
          if (std::isnan(lengths[i]))
            throw Error(detail::value_text(below.name() + " | by_length", i, below.place(Key{.index = i})), "a length",
                        "NaN");
        std::vector<std::size_t> index(lengths.size());
        std::iota(index.begin(), index.end(), std::size_t{0});
        std::sort(index.begin(), index.end(), [&](std::size_t a, std::size_t b) {
          return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b;
        });
        return detail::listed(below, std::move(index), " | by_length");
      });
}
template <class D, class Length>
  requires(!std::is_convertible_v<Length, Opening>)
auto by_length(D dataset, Length length, Opening opening = {}) {
  return std::move(dataset) | by_length(std::move(length), std::move(opening));
}

/// The first ⌊fraction · size⌋ values are .train, the rest is .validation, as with Keras' validation_split. A sorted
/// file needs shuffle(seed) before.
inline auto split(double fraction) {
  return detail::Pipe{[fraction]<class D>(D dataset) {
    static_assert(sizeof(typename rule::choice_stands_before_random<D>::must_hold));
    regimen::detail::expect_fraction(dataset.name(), fraction);
    const std::size_t size = dataset.size(), first = static_cast<std::size_t>(std::floor(double(size) * fraction));
    const detail::Underlying<D> below(std::move(dataset));
    return Split<Choice<D, detail::From>>{detail::slice(below, 0, first, " | train"),
                                          detail::slice(below, first, size - first, " | validation")};
  }};
}

/// A split by content: all values with one `by(value)`, a string or an integer (a patient, a file), are in the same
/// part, and stay there when the dataset grows. The hash of `by(value)` decides: about `fraction` of the strings or
/// integers are in .train. All values are read once, here, by several threads.
template <class By>
  requires(!Dataset<By>)
auto split(double fraction, By by, Opening opening = {}) {
  return detail::choice<detail::GivesHashed>(
      std::move(by), std::move(opening), " | split", [fraction](const auto& below, const auto& all) {
        regimen::detail::expect_fraction(below.name(), fraction);
        const auto hashes = all([](auto&& result) { return detail::hash_of(result); });
        std::vector<std::size_t> index[2];
        for (std::size_t i = 0; i < hashes.size(); ++i)
          index[double(hashes[i] >> 11) * 0x1p-53 < fraction ? 0 : 1].push_back(i);
        auto train = detail::listed(below, std::move(index[0]), " | train");
        return Split<decltype(train)>{std::move(train), detail::listed(below, std::move(index[1]), " | validation")};
      });
}
template <class D, class... Arguments>
  requires Dataset<D>
auto split(D dataset, double fraction, Arguments... arguments) {
  return std::move(dataset) | split(fraction, std::move(arguments)...);
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
