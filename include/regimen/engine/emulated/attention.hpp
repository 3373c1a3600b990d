// regimen/engine/emulated/attention.hpp — what cuDNN demands of fused attention, and attention by loops.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::emulated {

/// Attention that the library has accepted.
struct Attention {
  cuda::FusedAttention attention{};
};

/// Refuses what cuDNN 9.19 finds no plan for on an H200: other types, and heads of other widths.
inline void check_attention(const cuda::FusedAttention& a) {
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
class Head {
 public:
  Head(const cuda::FusedAttention& a, const cuda::FusedTensors& at, std::size_t b, std::size_t h)
      : a_(a),
        at_(at),
        length_(static_cast<std::size_t>(a.length)),
        width_(static_cast<std::size_t>(a.width)),
        heads_(static_cast<std::size_t>(a.heads)),
        b_(b),
        h_(h) {
    if (a.threshold > 0) std::memcpy(random_, at.random, sizeof random_);
  }

  void forward() const {
    for (std::size_t t = 0; t < length_; ++t) {
      std::vector<float> p = scores(t);
      float most = -std::numeric_limits<float>::infinity(), total = 0;
      for (const float score : p) most = score > most || score != score ? score : most;
      for (float& score : p) total += score = std::exp(score - most);
      log_sum()[t] = most + std::log(total);
      for (std::size_t d = 0; d < width_; ++d) {
        float sum = 0;
        for (std::size_t u = 0; u < p.size(); ++u) sum += rounded(p[u] / total * factor(t, u)) * qkv(2, u)[d];
        y(at_.y, t)[d] = static_cast<T>(sum);
      }
    }
  }
  void backward() const {
    std::vector<float> d_k(length_ * width_), d_v(length_ * width_);
    for (std::size_t t = 0; t < length_; ++t) {
      std::vector<float> p = scores(t), d_q(width_);
      const T* const d_out = y(at_.d_y, t);
      const float delta = row_dot()[t] = dot(y(at_.y, t), d_out);
      for (std::size_t u = 0; u < p.size(); ++u) {
        p[u] = std::exp(p[u] - log_sum()[t]);
        const float d_score = rounded(p[u] * (dot(d_out, qkv(2, u)) * factor(t, u) - delta) * scale());
        for (std::size_t d = 0; d < width_; ++d) {
          d_q[d] += d_score * qkv(1, u)[d];
          d_k[u * width_ + d] += d_score * qkv(0, t)[d];
          d_v[u * width_ + d] += rounded(p[u] * factor(t, u)) * d_out[d];
        }
      }
      for (std::size_t d = 0; d < width_; ++d) d_qkv(0, t)[d] = static_cast<T>(d_q[d]);
    }
    for (std::size_t u = 0; u < length_; ++u)
      for (std::size_t d = 0; d < width_; ++d) {
        d_qkv(1, u)[d] = static_cast<T>(d_k[u * width_ + d]);
        d_qkv(2, u)[d] = static_cast<T>(d_v[u * width_ + d]);
      }
  }

 private:
  static float rounded(float x) { return static_cast<float>(static_cast<T>(x)); }
  /// Of a weight: 0 where it is dropped.
  float factor(std::size_t t, std::size_t u) const {
    if (a_.threshold == 0) return 1;
    const std::size_t element = ((b_ * heads_ + h_) * length_ + t) * length_ + u;
    return keeps(random_, a_.threshold, element) ? 65536.0f / (65536.0f - static_cast<float>(a_.threshold)) : 0.0f;
  }
  float scale() const { return a_.is_scaled ? 1 / std::sqrt(static_cast<float>(a_.width)) : 1.0f; }
  float dot(const T* a, const T* b) const {
    float sum = 0;
    for (std::size_t d = 0; d < width_; ++d) sum += static_cast<float>(a[d]) * static_cast<float>(b[d]);
    return sum;
  }
  std::vector<float> scores(std::size_t t) const {
    std::vector<float> all(a_.causal ? t + 1 : length_);
    for (std::size_t u = 0; u < all.size(); ++u) all[u] = dot(qkv(0, t), qkv(1, u)) * scale();
    return all;
  }
  std::size_t in_qkv(std::size_t part, std::size_t t) const {
    return (((b_ * length_ + t) * 3 + part) * heads_ + h_) * width_;
  }
  const T* qkv(std::size_t part, std::size_t t) const { return reinterpret_cast<const T*>(at_.qkv) + in_qkv(part, t); }
  T* d_qkv(std::size_t part, std::size_t t) const { return reinterpret_cast<T*>(at_.d_qkv) + in_qkv(part, t); }
  template <class Bytes>
  auto* y(Bytes* tensor, std::size_t t) const {
    using Element = std::conditional_t<std::is_const_v<Bytes>, const T, T>;
    return reinterpret_cast<Element*>(tensor) + ((b_ * length_ + t) * heads_ + h_) * width_;
  }
  float* log_sum() const { return reinterpret_cast<float*>(at_.log_sum) + (b_ * heads_ + h_) * length_; }
  float* row_dot() const { return reinterpret_cast<float*>(at_.row_dot) + (b_ * heads_ + h_) * length_; }

  const cuda::FusedAttention& a_;
  const cuda::FusedTensors& at_;
  std::size_t length_, width_, heads_, b_, h_;
  std::int64_t random_[2] = {};
};

}  // namespace detail

inline void attend(const cuda::FusedAttention& a, const cuda::FusedTensors& at) {
  const auto run = [&]<class T>(const detail::Head<T>& head) { a.backward ? head.backward() : head.forward(); };
  for (std::size_t b = 0; b < static_cast<std::size_t>(a.batch); ++b)
    for (std::size_t h = 0; h < static_cast<std::size_t>(a.heads); ++h) {
      if (a.type == ElementType::bfloat16) run(detail::Head<bf16>(a, at, b, h));
      else run(detail::Head<fp16>(a, at, b, h));
    }
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
