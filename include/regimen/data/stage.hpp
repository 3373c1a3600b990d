// regimen/data/stage.hpp — the common parts of stages (pipe notation, names, time, memory), and the stage map.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/rules.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

/// Bytes that the stages keep: indices of filters and of values in order of length, values in caches. Memory of readers
/// counts only if they have bytes().
template <class D>
std::size_t bytes(const D& dataset) {
  if constexpr (requires { dataset.bytes(); }) return dataset.bytes();
  else return 0;
}

namespace detail {

/// Counts the values that a stage makes, and times some of them.
class Meter final {
 public:
  template <class F>
  decltype(auto) operator()(const F& f) {
    const std::uint64_t n = values_.fetch_add(1, std::memory_order_relaxed);
    if (n >= 64 && (n * 0x9E37'79B9'7F4A'7C15u) >> 61 != 0) return f();  // each eighth, at no regular distance
    struct Watch {
      Meter& meter;
      const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
      ~Watch() { meter.add(std::chrono::steady_clock::now() - began); }
    } const watch{*this};
    return f();
  }
  Timing timing(std::string stage) const {
    const std::uint64_t values = values_.load(std::memory_order_relaxed),
                        timed = timed_.load(std::memory_order_relaxed);
    const double seconds = 1e-9 * double(nanoseconds_.load(std::memory_order_relaxed));
    return {std::move(stage), values, timed == 0 ? 0 : seconds / double(timed) * double(values)};
  }

 private:
  void add(std::chrono::steady_clock::duration time) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);
    timed_.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> values_{0}, timed_{0}, nanoseconds_{0};
};

/// The number of stages from a reader up to D: stages in a row draw different random numbers by it.
template <class D>
inline constexpr std::size_t height = [] {
  if constexpr (requires { D::height; }) return std::size_t{D::height};
  else return std::size_t{0};
}();

/// The dataset below a stage. Copies share one meter, which times this dataset if it is no stage itself.
template <Dataset D>
class Underlying {
 public:
  static constexpr bool is_stage = requires(const D& d, std::vector<Timing>& all) { d.timings(all); };

  explicit Underlying(D dataset) : dataset_(std::move(dataset)) {
    if constexpr (!is_stage) meter_ = std::make_shared<Meter>();
  }
  std::size_t size() const { return dataset_.size(); }
  std::string name() const { return dataset_.name(); }
  decltype(auto) at(const Key& key) const {
    if constexpr (is_stage) return dataset_.at(key);
    else return (*meter_)([&]() -> decltype(auto) { return dataset_.at(key); });
  }
  std::string place(const Key& key) const { return place_of(dataset_, key); }
  void timings(std::vector<Timing>& all) const {
    if constexpr (is_stage) dataset_.timings(all);
    else all.push_back(meter_->timing(name()));
  }
  std::size_t bytes() const { return data::bytes(dataset_); }

 private:
  D dataset_;
  std::shared_ptr<Meter> meter_;
};

/// A value in errors: its stage, its index there, and its place in the file, if this differs.
[[gnu::cold]] inline std::string value_text(const std::string& stage, std::size_t index, const std::string& place) {
  const std::string value = ", value " + std::to_string(index);
  return stage + value + (stage.substr(0, stage.find(" | ")) + value == place ? "" : " (" + place + ")");
}

/// Rethrows the exception in flight, which a function of the program threw in a stage, with the stage and the value.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_value(const std::string& value) {
  try {
    throw;
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& failure) {
    throw Error(value, "what its function makes of it", failure.what());
  }
}
template <Dataset D>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_value(const Underlying<D>& below, const std::string& stage,
                                                         const Key& key) {
  refuse_value(value_text(stage, key.index, below.place(key)));
}

/// Common to stages that work on each value: the dataset below, a name, and the working time.
template <Dataset D>
class ValueStage : public Underlying<D> {
  using Lower = Underlying<D>;

 public:
  static constexpr std::size_t height = detail::height<D> + 1;

  std::string name() const { return Lower::name() + " | " + label_; }
  void timings(std::vector<Timing>& all) const {
    Lower::timings(all);
    all.push_back(meter_->timing(label_));
  }

 protected:
  ValueStage(D dataset, std::string label)
      : Lower(std::move(dataset)), label_(std::move(label)), meter_(std::make_shared<Meter>()) {}

  /// Two stages draw different numbers.
  static Key own(const Key& key) { return {key.index, key.epoch, Philox::mix(key.seed, height)}; }

  /// f(), timed; its exception becomes an Error that names the value.
  decltype(auto) work(const Key& key, const auto& f) const {
    try {
      return (*meter_)(f);
    } catch (...) { refuse_value(*this, name(), key); }
  }

 private:
  std::string label_;
  std::shared_ptr<Meter> meter_;
};

/// A stage that waits for its dataset: `dataset | map(f)`.
template <class Apply>
struct Pipe final {
  Apply apply;
};
template <class Apply>
Pipe(Apply) -> Pipe<Apply>;

/// Stages are values, as datasets are; copies share their computed values.
template <class D, class Apply>
auto operator|(D dataset, const Pipe<Apply>& stage) {
  static_assert(sizeof(typename rule::stage_stands_on_dataset<D>::must_hold));
  if constexpr (Dataset<D>) return stage.apply(std::move(dataset));
  else if constexpr (!std::is_class_v<D> || std::is_final_v<D> || rule::IsRefusedDataset<D>) return dataset;
  else return rule::RefusedDataset<D>{std::move(dataset)};
}

}  // namespace detail

/// See map().
template <class D, class F>
class Map final : public detail::ValueStage<D> {
 public:
  static constexpr bool draws = !rule::map_takes_value<F, D>::alone;
  static constexpr bool varies = draws || data::varies<D>;

  Map(D dataset, F f, std::string label)
      : detail::ValueStage<D>(std::move(dataset), std::move(label)), f_(std::move(f)) {}
  auto at(const Key& key) const {
    decltype(auto) value = detail::Underlying<D>::at(key);
    return this->work(key, [&] {
      if constexpr (draws) return f_(static_cast<decltype(value)&&>(value), this->own(key));
      else return f_(static_cast<decltype(value)&&>(value));
    });
  }

 private:
  F f_;
};

/// f of each value. A function that draws random numbers also takes the value's key, and uses only the key's bits: a
/// value is then the same in every thread, rank or resumed run, and changes with the epoch.
///
///   f       f(value), or f(value, const Key&): const, and called from several threads. Its result owns its memory, or
///           points to memory that outlives the value (a mapped file)
///   label   the stage's name in errors and timings
///
///   files | data::map(decode, "decode")
///         | data::map([](Image image, const data::Key& key) { return key.bits(0) % 2 ? mirrored(image) : image; })
///
/// Two stages of one pipeline draw different numbers from the same key.bits(n).
///
/// failure   an exception of f becomes an Error that names the stage, its dataset, the value, and the place in the
///           file, if the reader knows it: "houses.csv | filter | map, value 5 (houses.csv, line 17)"
template <class F>
  requires(!Dataset<F>)
auto map(F f, std::string label = "map") {
  return detail::Pipe{[f = std::move(f), label = std::move(label)]<class D>(D dataset) {
    static_assert(sizeof(typename rule::map_takes_value<F, D>::must_hold));
    if constexpr (rule::map_takes_value<F, D>::holds) return Map<D, F>(std::move(dataset), f, label);
    else return dataset;
  }};
}
template <class D, class F>
  requires(!std::is_convertible_v<F, std::string>)
auto map(D dataset, F f, std::string label = "map") {
  return std::move(dataset) | map(std::move(f), std::move(label));
}

/// Refused: a dataset has an end. `fit` and Loader repeat it, each epoch in another order.
template <class... Arguments>
void repeat(const Arguments&...) {
  static_assert(sizeof(typename rule::pipeline_has_an_end<Arguments...>::must_hold));
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
