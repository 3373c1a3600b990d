// regimen/data/join.hpp — several datasets as one: concatenate, interleave, mixture.
#pragma once

#include <regimen/data/rules.hpp>
#include <regimen/data/stage.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen::data {

namespace detail {

/// Datasets of several types, or a number of one type that the run knows.
template <class... D>
class Parts final {
 public:
  using Value = value_of<std::tuple_element_t<0, std::tuple<D...>>>;
  static constexpr bool agree = rule::joined_values_agree<value_of<D>...>::holds, varies = (data::varies<D> || ...);
  static constexpr std::size_t height = (std::max)({detail::height<D>...});

  explicit Parts(D... datasets) : parts_(Underlying<D>(std::move(datasets))...) {}
  Value at(std::size_t part, const Key& key) const { return at_part<0>(part, key); }
  void for_each(const auto& f) const {
    std::apply([&](const auto&... part) { (f(part), ...); }, parts_);
  }

 private:
  template <std::size_t I>
  Value at_part(std::size_t part, const Key& key) const {
    if constexpr (I + 1 < sizeof...(D))
      if (part != I) return at_part<I + 1>(part, key);
    return std::get<I>(parts_).at(key);
  }
  std::tuple<Underlying<D>...> parts_;
};
template <class D>
class PartsOfOneType final {
 public:
  using Value = value_of<D>;
  static constexpr bool agree = true, varies = data::varies<D>;
  static constexpr std::size_t height = detail::height<D>;

  explicit PartsOfOneType(std::vector<D> datasets) {
    for (D& dataset : datasets) parts_.emplace_back(std::move(dataset));
  }
  Value at(std::size_t part, const Key& key) const { return parts_[part].at(key); }
  void for_each(const auto& f) const {
    for (const Underlying<D>& part : parts_) f(part);
  }

 private:
  std::vector<Underlying<D>> parts_;
};

/// A value of a part; in a mixture also the part's epoch.
struct Place final {
  std::size_t part, index;
  std::uint64_t epoch;
};

struct Concatenation final {
  static constexpr const char* name = "concatenate";
  static constexpr bool varies = false;
  std::size_t size = 0;
  std::vector<std::size_t> ends{};

  explicit Concatenation(const std::vector<std::size_t>& sizes) {
    for (const std::size_t count : sizes) ends.push_back(size += count);
  }
  Place find(std::size_t index, std::uint64_t epoch) const {
    const auto part = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), index) - ends.begin());
    return {part, index - (part == 0 ? 0 : ends[part - 1]), epoch};
  }
  std::size_t bytes() const { return ends.capacity() * sizeof ends[0]; }
};

/// The k-th smallest of some neighbours in a list of the numbers below its size, each once: a wavelet matrix.
///
/// cost     size · log2(size) · 4 bytes; log2(size) steps for a question
/// source   Claude, Navarro, Ordóñez 2015, "The wavelet matrix"
class RankedList final {
 public:
  explicit RankedList(std::vector<std::uint32_t> list) : size_(list.size()) {
    for (bits_ = 0; bits_ < 32 && (size_ - (size_ > 0)) >> bits_ != 0;) ++bits_;
    zeros_.reserve(bits_ * (size_ + 1));
    std::vector<std::uint32_t> ones;
    for (std::size_t bit = bits_; bit-- > 0;) {  // those without the bit go before those with it
      std::uint32_t zeros = 0;
      ones.clear();
      for (const std::uint32_t value : list) {
        zeros_.push_back(zeros);
        if ((value >> bit & 1) != 0) ones.push_back(value);
        else list[zeros++] = value;
      }
      zeros_.push_back(zeros);
      std::copy(ones.begin(), ones.end(), list.begin() + zeros);
    }
  }
  /// Among list[first], ..., the last.
  std::size_t smallest(std::size_t first, std::size_t k) const {
    std::size_t end = size_, value = 0;
    for (std::size_t level = 0; level < bits_; ++level) {
      const std::uint32_t* const zeros = zeros_.data() + level * (size_ + 1);
      const std::size_t count = zeros[end] - zeros[first];
      value <<= 1;
      if (k < count) {
        first = zeros[first], end = zeros[end];
      } else {
        k -= count, value |= 1;
        first += zeros[size_] - zeros[first], end += zeros[size_] - zeros[end];
      }
    }
    return value;
  }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return zeros_.capacity() * sizeof zeros_[0]; }

 private:
  std::size_t size_, bits_ = 0;
  std::vector<std::uint32_t>
      zeros_;  // for each bit, the highest first: of the values before each place those without it
};

struct Interleaving final {
  static constexpr const char* name = "interleave";
  static constexpr bool varies = false;
  /// Rounds in which the same parts still have values.
  struct Stretch {
    std::size_t first = 0, round = 0;  // of its values, and of its rounds
    std::size_t ended = 0;             // parts, the shortest
  };
  std::size_t size = 0;
  std::vector<Stretch> stretches{};
  RankedList parts;  // in order of size

  explicit Interleaving(const std::vector<std::size_t>& sizes) : parts(by_size(sizes)) {
    std::vector<std::size_t> sorted = sizes;
    std::sort(sorted.begin(), sorted.end());
    std::size_t round = 0;
    for (std::size_t ended = 0; ended < sorted.size(); ++ended) {
      if (sorted[ended] == round) continue;
      stretches.push_back({size, round, ended});
      size += (sorted[ended] - round) * (sorted.size() - ended);
      round = sorted[ended];
    }
  }
  Place find(std::size_t index, std::uint64_t epoch) const {
    const auto after = std::ranges::upper_bound(stretches, index, {}, &Stretch::first);
    const Stretch& stretch = *(after - 1);
    const std::size_t within = index - stretch.first, count = parts.size() - stretch.ended;
    return {parts.smallest(stretch.ended, within % count), stretch.round + within / count, epoch};
  }
  std::size_t bytes() const { return stretches.capacity() * sizeof(Stretch) + parts.bytes(); }

 private:
  static std::vector<std::uint32_t> by_size(const std::vector<std::size_t>& sizes) {
    std::vector<std::uint32_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return sizes[a] != sizes[b] ? sizes[a] < sizes[b] : a < b; });
    return order;
  }
};

struct Mixture final {
  static constexpr const char* name = "mixture";
  static constexpr bool varies = true;
  std::size_t size = 0;
  std::vector<std::size_t> weights, sizes;
  std::vector<std::uint32_t> part_of, before;  // of each place of a round: its part, and the part's places before it

  Mixture(std::vector<std::size_t> given, std::vector<std::size_t> counts)
      : weights(std::move(given)), sizes(std::move(counts)) {
    constexpr std::size_t most = std::size_t{1} << 20;
    std::size_t common = 0, round = 0, rounds = 0;
    for (const std::size_t weight : weights) common = std::gcd(common, weight);
    for (std::size_t& weight : weights) {
      if (weight == 0) throw Error("mixture, weights", "whole numbers of at least 1, like {3, 1}", "0");
      weight /= common;
      round += weight;
      if (weight > most || round > most)
        throw Error("mixture, weights", "a sum of at most " + std::to_string(most), std::to_string(round) + " or more",
                    "give smaller numbers of about the same ratio");
    }
    for (std::size_t part = 0; part < sizes.size(); ++part) {
      if (sizes[part] == 0) throw Error("mixture, dataset " + std::to_string(part), "at least one value", "none");
      rounds = (std::max)(rounds, sizes[part] / weights[part] + (sizes[part] % weights[part] != 0));
    }
    if (__builtin_mul_overflow(rounds, round, &size))
      throw Error("mixture", "a number of values that can be counted",
                  std::to_string(rounds) + " rounds of " + std::to_string(round));
    // Each place goes to the part that is furthest behind its share.
    std::vector<std::size_t> done(weights.size(), 0);
    for (std::size_t place = 0; place < round; ++place) {
      std::size_t best = 0;
      double lack = -1e300;
      for (std::size_t part = 0; part < weights.size(); ++part) {
        const double behind = double(weights[part]) * double(place + 1) - double(done[part]) * double(round);
        if (done[part] < weights[part] && behind > lack) {
          best = part;
          lack = behind;
        }
      }
      part_of.push_back(static_cast<std::uint32_t>(best));
      before.push_back(static_cast<std::uint32_t>(done[best]++));
    }
  }
  Place find(std::size_t index, std::uint64_t epoch) const {
    const std::size_t round = part_of.size(), place = index % round, part = part_of[place];
    const std::uint64_t count = size / round * weights[part],  // of an epoch of the mixture
        at = index / round * weights[part] + before[place], rest = epoch * (count % sizes[part]) + at;
    return {part, static_cast<std::size_t>(rest % sizes[part]), epoch * (count / sizes[part]) + rest / sizes[part]};
  }
  std::size_t bytes() const {
    return (weights.capacity() + sizes.capacity()) * sizeof(std::size_t) +
           (part_of.capacity() + before.capacity()) * sizeof(std::uint32_t);
  }
};

template <class All>
std::vector<std::size_t> sizes_of(const All& parts) {
  std::vector<std::size_t> sizes;
  parts.for_each([&](const auto& part) { sizes.push_back(part.size()); });
  return sizes;
}

}  // namespace detail

/// See concatenate, interleave and mixture.
template <class How, class All>
class Join final {
 public:
  static constexpr bool varies = How::varies || All::varies;
  static constexpr std::size_t height = All::height;

  Join(How how, All parts) : how_(std::make_shared<const How>(std::move(how))), parts_(std::move(parts)) {}
  std::size_t size() const { return how_->size; }
  std::string name() const {
    std::string text = std::string(How::name) + "(";
    std::size_t count = 0;
    parts_.for_each([&](const auto& part) {
      if (count++ < 3) text += (count > 1 ? ", " : "") + part.name();
    });
    return text + (count > 3 ? ", ... " + std::to_string(count) + ")" : ")");
  }
  auto at(const Key& key) const {
    const detail::Place place = how_->find(key.index, key.epoch);
    return parts_.at(place.part, {place.index, place.epoch, Philox::mix(key.seed, place.part)});
  }
  std::string place(const Key& key) const {
    const detail::Place place = how_->find(key.index, key.epoch);
    std::string text;
    std::size_t part = 0;
    parts_.for_each([&](const auto& dataset) {
      if (part++ == place.part) text = dataset.place({place.index, place.epoch, Philox::mix(key.seed, place.part)});
    });
    return text;
  }
  void timings(std::vector<Timing>& all) const {
    parts_.for_each([&](const auto& part) { part.timings(all); });
  }
  std::size_t bytes() const {
    std::size_t sum = how_->bytes();
    parts_.for_each([&](const auto& part) { sum += part.bytes(); });
    return sum;
  }

 private:
  std::shared_ptr<const How> how_;
  All parts_;
};

namespace detail {

/// how(sizes)   makes the rule of the order
template <class All>
auto join_parts(const auto& how, All parts) {
  auto rule = how(sizes_of(parts));
  return Join<decltype(rule), All>(std::move(rule), std::move(parts));
}
template <class... D>
auto join(const auto& how, D... datasets) {
  (static_cast<void>(sizeof(typename rule::stage_stands_on_dataset<D>::must_hold)), ...);
  if constexpr ((Dataset<D> && ...)) {
    static_assert(sizeof(typename rule::joined_values_agree<value_of<D>...>::must_hold));
    if constexpr (Parts<D...>::agree) return join_parts(how, Parts<D...>(std::move(datasets)...));
  }
}
template <class D>
auto join_list(const auto& how, std::vector<D> datasets) {
  static_assert(sizeof(typename rule::stage_stands_on_dataset<D>::must_hold));
  return join_parts(how, PartsOfOneType<D>(std::move(datasets)));
}
template <class How>
inline constexpr auto of_sizes = [](const std::vector<std::size_t>& sizes) { return How(sizes); };

}  // namespace detail

/// The values of one dataset after the values of another: `concatenate(a, b, c)`, or `concatenate(shards)` of a
/// std::vector of datasets of one type (shards of a file).
template <class... D>
auto concatenate(D... datasets) {
  return detail::join(detail::of_sizes<detail::Concatenation>, std::move(datasets)...);
}
template <class D>
auto concatenate(std::vector<D> datasets) {
  return detail::join_list(detail::of_sizes<detail::Concatenation>, std::move(datasets));
}

/// A value of each dataset in turn; a dataset that has ended is left out. It also takes a std::vector of datasets of
/// one type. A Loader that shuffles needs no interleave.
template <class... D>
auto interleave(D... datasets) {
  return detail::join(detail::of_sizes<detail::Interleaving>, std::move(datasets)...);
}
template <class D>
auto interleave(std::vector<D> datasets) {
  return detail::join_list(detail::of_sizes<detail::Interleaving>, std::move(datasets));
}

/// Values of several datasets in the ratio of whole numbers: `mixture({3, 1}, web, books)` is 3 values of web for 1 of
/// books, spread evenly, and exactly in that ratio over an epoch.
///
///   size    the least multiple of the sum of weights that is enough for every value of every dataset
///   epochs  each dataset continues in the next epoch where it stopped, and begins again after its end. So all its
///           values come equally often, and the value at a place changes with the epoch
///   cost    8 bytes times the sum of weights
template <std::size_t Count, class... D>
auto mixture(const std::size_t (&weights)[Count], D... datasets) {
  static_assert(sizeof(typename rule::weights_match_datasets<Count, D...>::must_hold));
  if constexpr (rule::weights_match_datasets<Count, D...>::holds)
    return detail::join(
        [&](auto sizes) {
          return detail::Mixture(std::vector<std::size_t>(std::begin(weights), std::end(weights)), std::move(sizes));
        },
        std::move(datasets)...);
}
template <std::size_t Count, class... D>
auto mixture(const std::array<std::size_t, Count>& weights, D... datasets) {
  std::size_t all[Count];
  std::copy(weights.begin(), weights.end(), all);
  return data::mixture(all, std::move(datasets)...);
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
