// regimen/engine/emulated/cudnn.hpp — what cuDNN demands of fused attention and of convolutions, and both by loops.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/convolution.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::emulated {

/// Refuses what cuDNN 9.19 finds no plan for on an H200: other types, and heads of other widths.
inline void check(const cuda::FusedAttention& a) {
  const auto demand = [](bool holds, const char* expected, const std::string& found) {
    if (!holds) throw Error("attention of the library (CUDNN_STATUS_NOT_SUPPORTED)", expected, found);
  };
  demand(a.batch > 0 && a.length > 0 && a.heads > 0 && a.width > 0, "tensors with elements", "one without");
  demand(a.type == ElementType::bfloat16 || a.type == ElementType::float16, "bf16 or fp16", "another type");
  demand(a.threshold < 65536, "dropout at a rate below 1", std::to_string(a.threshold) + " / 65536");
  demand(a.width % 8 == 0 && a.width <= 256, "heads of a multiple of 8 channels, at most 256", std::to_string(a.width));
}

/// Whether a weight is kept: some random numbers of the library's own. The real ones are others, of the same rate.
///   element   of (B,H,T,T)
inline bool keeps(const std::int64_t (&random)[2], std::uint32_t threshold, std::size_t element) {
  const Philox::Words words =
      Philox::draw(static_cast<std::uint64_t>(random[0]), element, static_cast<std::uint64_t>(random[1]));
  return words.word[0] >> 16 >= threshold;
}

/// body(address, bytes, name) for the tensors of a call.
template <class Body>
void for_each_tensor(const cuda::FusedAttention& a, const cuda::FusedTensors& at, const Body& body) {
  const auto rows = static_cast<std::size_t>(a.batch * a.heads * a.length), width = static_cast<std::size_t>(a.width),
             bytes = bytes_of(a.type);
  body(at.qkv, 3 * rows * width * bytes, "cuDNN's q, k, v");
  body(at.y, rows * width * bytes, "cuDNN's y");
  body(at.log_sum, rows * sizeof(float), "cuDNN's statistics");
  if (a.threshold > 0) body(at.random, 2 * sizeof(std::int64_t), "cuDNN's seed and offset");
  if (!a.backward) return;
  body(at.d_y, rows * width * bytes, "cuDNN's gradient of y");
  body(at.d_qkv, 3 * rows * width * bytes, "cuDNN's gradients of q, k, v");
  body(at.row_dot, rows * sizeof(float), "cuDNN's sums of y and its gradient");
}

namespace detail {

/// One head, in fp32. Weights, and gradients of scores, are rounded to T before a product, as in the library's kernels.
template <class T>
struct Head {
  const cuda::FusedAttention& a;
  const cuda::FusedTensors& at;
  const std::size_t b, h, length = static_cast<std::size_t>(a.length), width = static_cast<std::size_t>(a.width),
                          heads = static_cast<std::size_t>(a.heads);

  /// y = softmax(q kᵀ · scale) v of each position, weights dropped behind the softmax; log_sum is the largest score and
  /// log Σ exp(score − largest), from which backward takes the softmax again.
  void forward() const {
    for (std::size_t t = 0; t < length; ++t) {
      std::vector<float> p = scores(t);
      float most = -std::numeric_limits<float>::infinity(), total = 0;
      for (const float score : p) most = score > most || score != score ? score : most;
      for (float& score : p) total += score = std::exp(score - most);
      of_rows(at.log_sum)[t] = most + std::log(total);
      for (std::size_t d = 0; d < width; ++d) {
        float sum = 0;
        for (std::size_t u = 0; u < p.size(); ++u) sum += rounded(p[u] / total * factor(t, u)) * qkv(2, u)[d];
        place(at.y, t)[d] = static_cast<T>(sum);
      }
    }
  }
  /// p = exp(score − log_sum), δ = y · d_y, d_s = p (f · d_y v − δ) · scale with f the factor of a weight; then d_q = Σ
  /// d_s k, d_k = Σ d_s q, d_v = Σ p f d_y. d_k and d_v are summed over the positions in fp32, and rounded at the end.
  void backward() const {
    std::vector<float> d_k(length * width), d_v(length * width);
    for (std::size_t t = 0; t < length; ++t) {
      std::vector<float> p = scores(t), d_q(width);
      const T* const d_out = place(at.d_y, t);
      const float delta = of_rows(at.row_dot)[t] = dot(place(at.y, t), d_out);
      for (std::size_t u = 0; u < p.size(); ++u) {
        p[u] = std::exp(p[u] - of_rows(at.log_sum)[t]);
        const float d_score = rounded(p[u] * (dot(d_out, qkv(2, u)) * factor(t, u) - delta) * scale());
        for (std::size_t d = 0; d < width; ++d) {
          d_q[d] += d_score * qkv(1, u)[d];
          d_k[u * width + d] += d_score * qkv(0, t)[d];
          d_v[u * width + d] += rounded(p[u] * factor(t, u)) * d_out[d];
        }
      }
      put(d_q.data(), 0, t);
    }
    for (std::size_t u = 0; u < length; ++u) put(&d_k[u * width], 1, u), put(&d_v[u * width], 2, u);
  }

 private:
  static float rounded(float x) { return static_cast<float>(static_cast<T>(x)); }
  /// Of a weight: 0 where it is dropped.
  float factor(std::size_t t, std::size_t u) const {
    if (a.threshold == 0) return 1;
    std::int64_t random[2];
    std::memcpy(random, at.random, sizeof random);
    const std::size_t element = ((b * heads + h) * length + t) * length + u;
    return keeps(random, a.threshold, element) ? 65536.0f / (65536.0f - static_cast<float>(a.threshold)) : 0.0f;
  }
  float scale() const { return a.is_scaled ? 1 / std::sqrt(static_cast<float>(a.width)) : 1.0f; }
  float dot(const T* x, const T* y) const {
    float sum = 0;
    for (std::size_t d = 0; d < width; ++d) sum += static_cast<float>(x[d]) * static_cast<float>(y[d]);
    return sum;
  }
  std::vector<float> scores(std::size_t t) const {
    std::vector<float> all(a.causal ? t + 1 : length);
    for (std::size_t u = 0; u < all.size(); ++u) all[u] = dot(qkv(0, t), qkv(1, u)) * scale();
    return all;
  }
  /// This head's elements at position t, in one of `parts` tensors that lie side by side.
  template <class Bytes>
  auto* place(Bytes* tensor, std::size_t t, std::size_t parts = 1, std::size_t part = 0) const {
    using Element = std::conditional_t<std::is_const_v<Bytes>, const T, T>;
    return reinterpret_cast<Element*>(tensor) + (((b * length + t) * parts + part) * heads + h) * width;
  }
  const T* qkv(std::size_t part, std::size_t t) const { return place(at.qkv, t, 3, part); }
  void put(const float* gradient, std::size_t part, std::size_t t) const {
    std::transform(gradient, gradient + width, place(at.d_qkv, t, 3, part), [](float x) { return static_cast<T>(x); });
  }
  float* of_rows(std::byte* tensor) const { return reinterpret_cast<float*>(tensor) + (b * heads + h) * length; }
};

}  // namespace detail

inline void compute(const cuda::FusedAttention& a, const cuda::FusedTensors& at) {
  const auto run = [&]<class T>(T) {
    for (std::size_t b = 0; b < static_cast<std::size_t>(a.batch); ++b)
      for (std::size_t h = 0; h < static_cast<std::size_t>(a.heads); ++h) {
        const detail::Head<T> head{a, at, b, h};
        a.backward ? head.backward() : head.forward();
      }
  };
  a.type == ElementType::bfloat16 ? run(bf16{}) : run(fp16{});
}

/// Refuses what cuDNN's documentation excludes of a convolution's descriptors: extents, strides and dilations below
/// one, channels that groups do not divide, an output without elements.
inline void check(const cuda::ConvolutionDescriptor& o) {
  const auto demand = [](bool holds, const char* expected, const std::string& found) {
    if (!holds) throw Error("a convolution of the library (CUDNN_STATUS_BAD_PARAM)", expected, found);
  };
  const op::Convolution& s = o.shape;
  demand(s.samples * s.height * s.width * s.channels * s.out_channels * s.taps() > 0, "tensors with elements",
         "one without");
  demand(s.stride > 0 && s.dilation > 0 && s.groups > 0, "strides, dilations and groups of one or more", "zero");
  demand(s.channels % s.groups == 0 && s.out_channels % s.groups == 0, "groups that divide the channels",
         std::to_string(s.groups) + " groups of " + std::to_string(s.channels) + " and " +
             std::to_string(s.out_channels) + " channels");
  demand(s.dilation * (s.window_height - 1) < s.height + 2 * s.padding &&
             s.dilation * (s.window_width - 1) < s.width + 2 * s.padding,
         "a window within the padded image", "a larger one");
  demand(!o.add || o.pass == cuda::ConvolutionDescriptor::Pass::weight, "a sum of gradients of the weight alone",
         "another one");
}

/// body(address, bytes, name) for the tensors of a call.
template <class Body>
void for_each_tensor(const cuda::ConvolutionDescriptor& o, const cuda::ConvolutionTensors& at, const Body& body) {
  const op::Convolution& s = o.shape;
  const std::size_t bytes = bytes_of(o.type);
  body(at.x, s.pixels() * s.channels * bytes, "cuDNN's x");
  body(at.weight, s.weights() * bytes, "cuDNN's weight");
  body(at.y, s.positions() * s.out_channels * bytes, "cuDNN's y");
}

/// Each sum in S, rounded once, by the lines and columns that the definition names.
inline void compute(const cuda::ConvolutionDescriptor& o, const cuda::ConvolutionTensors& at) {
  with_element(o.type, [&]<class T>(T) {
    using S = statistic_t<T>;
    using Pass = cuda::ConvolutionDescriptor::Pass;
    const op::Convolution& s = o.shape;
    const std::size_t height = s.out_height(), width = s.out_width(), channels = s.group_channels(),
                      outputs = s.group_outputs();
    T* const x = reinterpret_cast<T*>(at.x);
    T* const weight = reinterpret_cast<T*>(at.weight);
    T* const y = reinterpret_cast<T*>(at.y);
    T* const to = o.pass == Pass::forward ? y : o.pass == Pass::input ? x : weight;
    std::vector<S> sums(o.pass == Pass::forward ? s.positions() * s.out_channels
                        : o.pass == Pass::input ? s.pixels() * s.channels
                                                : s.weights());
    // The three passes have the same terms, x · weight · y: each pass sums over all that its result does not have.
    const auto term = [&](std::size_t of_x, std::size_t of_weight, std::size_t of_y) {
      const auto number = [](T value) { return static_cast<S>(value); };
      if (o.pass == Pass::forward) sums[of_y] += number(x[of_x]) * number(weight[of_weight]);
      else if (o.pass == Pass::input) sums[of_x] += number(y[of_y]) * number(weight[of_weight]);
      else sums[of_weight] += number(x[of_x]) * number(y[of_y]);
    };
    for (std::size_t position = 0; position < s.positions(); ++position)
      for (std::size_t tap = 0; tap < s.taps(); ++tap) {
        const std::size_t i = position / width % height, j = position % width,
                          h = i * s.stride + tap / s.window_width * s.dilation,
                          w = j * s.stride + tap % s.window_width * s.dilation;
        if (h < s.padding || w < s.padding || h - s.padding >= s.height || w - s.padding >= s.width) continue;
        const std::size_t pixel = (position / (width * height) * s.height + h - s.padding) * s.width + w - s.padding;
        for (std::size_t k = 0; k < s.out_channels; ++k)
          for (std::size_t c = 0; c < channels; ++c)
            term(pixel * s.channels + k / outputs * channels + c, (k * s.taps() + tap) * channels + c,
                 position * s.out_channels + k);
      }
    for (std::size_t i = 0; i < sums.size(); ++i)
      to[i] = static_cast<T>(o.add ? sums[i] + static_cast<S>(to[i]) : sums[i]);
  });
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
