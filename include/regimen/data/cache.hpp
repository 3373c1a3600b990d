// regimen/data/cache.hpp — a stage that computes each value once, and keeps it in memory.
#pragma once

#include <regimen/data/rules.hpp>
#include <regimen/data/stage.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

namespace detail {

template <class T>
concept IsTuple = is_of<T, std::pair> || is_of<T, std::tuple>;

template <class T>
constexpr bool knows_bytes() {
  if constexpr (requires(const T& value) { std::size_t{value.bytes()}; } || std::is_trivially_destructible_v<T>) {
    return true;
  } else if constexpr (IsTuple<T>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (knows_bytes<std::tuple_element_t<I, T>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (requires(const T& value) { value.capacity(), value.data(); }) {
    return knows_bytes<typename T::value_type>();
  } else {
    return false;
  }
}
/// Bytes that a value owns, in addition to sizeof.
template <class T>
std::size_t owned_bytes(const T& value) {
  if constexpr (requires { std::size_t{value.bytes()}; }) {
    return value.bytes();
  } else if constexpr (std::is_trivially_destructible_v<T>) {
    return 0;
  } else if constexpr (IsTuple<T>) {
    return std::apply([](const auto&... parts) { return (std::size_t{0} + ... + owned_bytes(parts)); }, value);
  } else {
    using Element = typename T::value_type;
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    const auto* const at = reinterpret_cast<const std::byte*>(value.data());
    const bool is_inside = at >= first && at < first + sizeof value;  // a short string
    std::size_t sum = is_inside ? 0 : value.capacity() * sizeof(Element);
    if constexpr (!std::is_trivially_destructible_v<Element>)
      for (const Element& element : value) sum += owned_bytes(element);
    return sum;
  }
}

}  // namespace detail

/// See cache().
template <class D>
class Cache final {
 public:
  static constexpr bool varies = false;
  static constexpr std::size_t height = detail::height<D>;
  using Value = value_of<D>;

  explicit Cache(D dataset) : below_(std::move(dataset)), content_(std::make_shared<Content>(below_.size())) {}
  std::size_t size() const { return below_.size(); }
  std::string name() const { return below_.name() + " | cache"; }
  const Value& at(const Key& key) const& {
    std::atomic<const Value*>& place = content_->values[key.index];
    if (const Value* const found = place.load(std::memory_order_acquire)) return *found;
    const std::lock_guard lock(content_->locks[key.index % content_->locks.size()]);
    if (const Value* const found = place.load(std::memory_order_acquire)) return *found;
    auto value = std::make_unique<const Value>(below_.at(key));
    content_->bytes.fetch_add(sizeof(Value) + detail::owned_bytes(*value), std::memory_order_relaxed);
    place.store(value.get(), std::memory_order_release);
    return *value.release();
  }
  Value at(const Key& key) const&& { return at(key); }
  std::string place(const Key& key) const { return below_.place(key); }
  void timings(std::vector<Timing>& all) const { below_.timings(all); }
  /// The bytes of the values that are kept by now.
  std::size_t bytes() const { return below_.bytes() + content_->bytes.load(std::memory_order_relaxed); }

 private:
  struct Content {
    explicit Content(std::size_t size) : values(size), bytes(size * sizeof(values[0])) {}
    ~Content() {
      for (const auto& value : values) delete value.load(std::memory_order_relaxed);
    }
    std::vector<std::atomic<const Value*>> values;
    std::atomic<std::size_t> bytes;
    std::array<std::mutex, 64> locks;  // each of every 64th value: one thread computes a value, others wait for it
  };

  detail::Underlying<D> below_;
  std::shared_ptr<Content> content_;
};

/// Computes each value once, when it is first read, and keeps it as long as a copy of this dataset exists. Put stages
/// that draw after it.
///
///   memory    data::bytes(dataset): the present values, and a pointer for each. If memory cannot hold all, use no
///             cache
///   failure   the exceptions of the stages before; the next read computes the value again
inline auto cache() {
  return detail::Pipe{[]<class D>(D dataset) {
    static_assert(sizeof(typename rule::cache_stands_before_random<D>::must_hold));
    static_assert(
        sizeof(typename rule::cached_bytes_are_known<value_of<D>, detail::knows_bytes<value_of<D>>()>::must_hold));
    if constexpr (varies<D> || !detail::knows_bytes<value_of<D>>()) return dataset;
    else return Cache<D>(std::move(dataset));
  }};
}
template <class D>
auto cache(D dataset) {
  return std::move(dataset) | cache();
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
