// regimen/data/window.hpp — cuts a stream of tokens into samples; targets are the inputs shifted by one.
#pragma once

#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace regimen::detail {

/// Windows over tokens [begin, end) of a stream; T is the sample's extent, N = end − begin.
///
///   overlapping   sample i: input [i, i + T), target [i + 1, i + T + 1)                           N − T samples
///   blocks        sample i: overlapping's sample i·T; every token except the first is a target   ⌈(N − 1) / T⌉ samples
///                 exactly once; the last block is moved back to end with the stream, and
///                 targets of an earlier block become ignore_index there
struct Windows {
  std::size_t begin = 0, end = 0;
  bool blocks = false;

  std::size_t length() const { return end - begin; }

  std::size_t size(const std::string& name, const SampleShape& shape) const;

  std::size_t count(std::size_t extent) const;

  /// `token(i)` gives token i of the whole stream.
  template <class Token>
  void read(const std::string& name, std::size_t index, Sample<std::int32_t, std::int32_t> sample,
            const Token& token) const {
    const std::size_t extent = sample.input.size();
    if (sample.target.size() != extent) expect_extents(name, {extent, sample.target.size()}, extent, extent);
    expect_index(name, index, count(extent));
    const std::size_t wanted = blocks ? index * extent : index, last = length() - extent - 1;
    const std::size_t first = wanted < last ? wanted : last, counted = wanted - first;
    std::int32_t next = token(begin + first);
    for (std::size_t i = 0; i < extent; ++i) {
      sample.input[i] = next;
      next = token(begin + first + i + 1);
      sample.target[i] = i < counted ? ignore_index : next;
    }
  }

  /// The first `fraction` of the stream, and the rest.
  void split(const std::string& name, double fraction, Windows& front, Windows& back) const;
};

/// Windows over the tokens of a text or a file, or over a part of them.
///
///   Stream   derives from it; its copies share the tokens
template <class Stream>
class WindowSource {
 public:
  using Split = data::Split<Stream>;

  /// Tokens in all, or in this part.
  std::size_t length() const { return windows_.length(); }

  /// .train, the first ⌊fraction · N⌋ tokens, and .validation, the rest.
  Split split(double fraction) const {
    Split parts{own(), own()};
    windows_.split(own().name(), fraction, parts.train.windows_, parts.validation.windows_);
    return parts;
  }

  /// Windows that do not overlap: each target once.
  Stream blocks() const {
    Stream result = own();
    result.windows_.blocks = true;
    return result;
  }

 protected:
  Windows windows_;

 private:
  const Stream& own() const { return static_cast<const Stream&>(*this); }
};

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/data/window.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
