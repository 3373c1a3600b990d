// regimen/engine/cuda/cudnn_attention.cuh — fused attention of cuDNN 9, by its C interface of operation graphs:
// those that cuDNN 9.19 accepts and runs on an H200.
#pragma once

#include <regimen/engine/cuda/cudnn_descriptor.cuh>
#include <regimen/engine/cuda/cudnn_handle.cuh>
#include <regimen/engine/cuda/runtime.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace regimen::cuda::cudnn {

/// The tensors that attention reads and writes, by the names that a graph and an execution share.
enum Tensor : std::int64_t {
  q = 1,
  k,
  v,
  y,
  log_sum,
  scale,
  lowest,
  one,
  d_y,
  d_q,
  d_k,
  d_v,
  row_dot,
  seed,
  offset,
  keep_factor,
  keep_rate,
  first_virtual
};

/// The operations of a graph. Each function adds one and returns its result.
class Graph final : public Operations {
 public:
  explicit Graph(const FusedAttention& a)
      : attention(a),
        heads_{a.batch, a.heads, a.length, a.width},
        scores_{a.batch, a.heads, a.length, a.length},
        rows_{a.batch, a.heads, a.length, 1},
        score_strides_{a.heads * a.length * a.length, a.length * a.length, a.length, 1},
        row_strides_{a.heads * a.length, a.length, 1, 1} {}

  const FusedAttention attention;

  /// q, k, v and their gradients (3 side by side); y and its gradient (1).
  Raw heads(Tensor name, std::int64_t side_by_side) { return tensor(name, type(), heads_, strides(side_by_side)); }
  /// The memory of heads(), as matrices (D,T).
  Raw transposed(Tensor name, std::int64_t side_by_side) {
    const Extents s = strides(side_by_side);
    return tensor(name, type(), {heads_[0], heads_[1], heads_[3], heads_[2]}, {s[0], s[1], s[3], s[2]});
  }
  Raw rows(Tensor name) { return tensor(name, CUDNN_DATA_FLOAT, rows_, row_strides_); }
  Raw number(Tensor name) { return tensor(name, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true); }

  /// A number in device memory, which a recorded graph reads when it runs.
  Raw counter(Tensor name) {
    return tensor(name, CUDNN_DATA_INT64, {1, 1, 1, 1}, {1, 1, 1, 1}, false, false, sizeof(std::int64_t));
  }

  Raw in_scores(cudnnPointwiseMode_t mode, Raw x, Raw b, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return pointwise(mode, x, b, inner_scores(type));
  }
  Raw pointwise(cudnnPointwiseMode_t mode, Raw x, Raw b, Raw result, Raw selector = nullptr,
                cudnnDataType_t math = CUDNN_DATA_FLOAT, std::int64_t axis = -1) {
    Descriptor& how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, math);
    if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    how.finish("a pointwise operation of cuDNN");
    Descriptor& operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how.get())
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (selector != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, selector);
    return add(operation, result);
  }
  Raw reduced(cudnnReduceTensorOp_t combine, Raw x) {
    const Raw result = inner_rows();
    Descriptor& how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, combine).set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.finish("a reduction of cuDNN");
    Descriptor& operation = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how.get())
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
    return add(operation, result);
  }
  Raw product(Raw a, Raw b, Raw result) {
    Descriptor& how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finish("a product of cuDNN");
    Descriptor& operation = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how.get());
    return add(operation, result);
  }
  Raw scores(Raw a, Raw b) { return product(a, b, inner_scores()); }
  Raw scores_transposed(Raw x) {
    return reshaped(x, inner(type(), scores_, {score_strides_[0], score_strides_[1], 1, attention.length}));
  }
  Raw heads_of_columns(Raw x) { return reshaped(x, inner(type(), heads_, strides(3))); }
  /// Scores of later positions become −∞.
  Raw masked(Raw x, Raw minus_infinity) {
    const auto index = [&](std::int64_t axis) {
      return pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, inner_scores(CUDNN_DATA_INT32), nullptr, CUDNN_DATA_FLOAT,
                       axis);
    };
    const Raw query = index(2), key = index(3);
    const Raw sees =
        pointwise(CUDNN_POINTWISE_CMP_GE, query, key, inner_scores(CUDNN_DATA_BOOLEAN), nullptr, CUDNN_DATA_BOOLEAN);
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, minus_infinity, inner_scores(), sees);
  }
  bool drops() const { return attention.threshold > 0; }
  /// 1 where a weight is kept, 0 where it is dropped.
  Raw kept() {
    Descriptor& how = make(CUDNN_BACKEND_RNG_DESCRIPTOR);
    how.set(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_RNG_DISTRIBUTION_BERNOULLI)
        .set(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 1 - double(attention.threshold) / 65536)
        .finish("random numbers of cuDNN");
    const Raw result = inner_scores();
    Descriptor& operation = make(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RNG_YDESC, result)
        .set(CUDNN_ATTR_OPERATION_RNG_SEED, counter(seed))
        .set(CUDNN_ATTR_OPERATION_RNG_DESC, how.get())
        .set(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, counter(offset));
    return add(operation, result);
  }
  cudnnDataType_t type() const { return type_of(attention.type); }
  /// Results that no memory holds.
  Raw inner_scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) { return inner(type, scores_, score_strides_); }
  Raw inner_rows() { return inner(CUDNN_DATA_FLOAT, rows_, row_strides_); }
  Raw inner_heads() { return inner(CUDNN_DATA_FLOAT, heads_, strides(1)); }

 private:
  Extents strides(std::int64_t side_by_side) const {
    const std::int64_t row = attention.heads * attention.width * side_by_side;
    return {attention.length * row, attention.width, row, 1};
  }
  Raw reshaped(Raw x, Raw result) {
    Descriptor& operation = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
    return add(operation, result);
  }
  Raw inner(cudnnDataType_t type, const Extents& extents, const Extents& strides) {
    return tensor(next_++, type, extents, strides, true);
  }

  Extents heads_, scores_, rows_, score_strides_, row_strides_;
  std::int64_t next_ = first_virtual;
};

/// y = softmax(q kᵀ · scale) v, and log_sum. Weights are dropped after softmax.
inline void describe_forward(Graph& g) {
  Raw s = g.in_scores(CUDNN_POINTWISE_MUL, g.scores(g.heads(q, 3), g.transposed(k, 3)), g.number(scale));
  if (g.attention.causal) s = g.masked(s, g.number(lowest));
  const Raw most = g.reduced(CUDNN_REDUCE_TENSOR_MAX, s);
  const Raw e = g.in_scores(CUDNN_POINTWISE_EXP, g.in_scores(CUDNN_POINTWISE_SUB, s, most), nullptr);
  const Raw total = g.reduced(CUDNN_REDUCE_TENSOR_ADD, e);
  const Raw log_total = g.pointwise(CUDNN_POINTWISE_LOG, total, nullptr, g.inner_rows());
  g.pointwise(CUDNN_POINTWISE_ADD, most, log_total, g.rows(log_sum));
  Raw p = g.in_scores(CUDNN_POINTWISE_DIV, e, total, g.drops() ? CUDNN_DATA_FLOAT : g.type());
  if (g.drops()) {
    p = g.in_scores(CUDNN_POINTWISE_MUL, p, g.kept());
    p = g.in_scores(CUDNN_POINTWISE_MUL, p, g.number(keep_factor), g.type());
  }
  g.product(p, g.heads(v, 3), g.heads(y, 1));
}
/// d_q is the product itself: the form with a sum in fp32 adds in no fixed order. With kept weights M and the rate r of
/// those that are kept: d_s = p ∘ (M ∘ d_p / r − Σ y · d_y) = p ∘ (M ∘ d_p − r Σ y · d_y) / r.
inline void describe_backward(Graph& g) {
  const Raw kept = g.drops() ? g.kept() : nullptr;
  const Raw queries = g.heads(q, 3), keys = g.transposed(k, 3), d_out = g.heads(d_y, 1), factor = g.number(scale);
  const Raw terms = g.pointwise(CUDNN_POINTWISE_MUL, d_out, g.heads(y, 1), g.inner_heads());
  const Raw dots = g.reduced(CUDNN_REDUCE_TENSOR_ADD, terms);
  const Raw delta = g.pointwise(CUDNN_POINTWISE_MUL, dots, g.number(g.drops() ? keep_rate : one), g.rows(row_dot));
  Raw s = g.in_scores(CUDNN_POINTWISE_MUL, g.scores(queries, keys), factor);
  s = g.in_scores(CUDNN_POINTWISE_SUB, s, g.rows(log_sum));
  if (g.attention.causal) s = g.masked(s, g.number(lowest));
  const Raw p = g.in_scores(CUDNN_POINTWISE_EXP, s, nullptr);
  Raw dropped = p, d_p = g.scores(d_out, g.transposed(v, 3)), again = nullptr;
  if (g.drops()) {
    again = g.number(keep_factor);
    dropped = g.in_scores(CUDNN_POINTWISE_MUL, g.in_scores(CUDNN_POINTWISE_MUL, p, kept), again);
    d_p = g.in_scores(CUDNN_POINTWISE_MUL, d_p, kept);
  }
  g.product(g.scores_transposed(dropped), d_out, g.heads(d_v, 3));
  Raw d_s = g.in_scores(CUDNN_POINTWISE_MUL, g.in_scores(CUDNN_POINTWISE_SUB, d_p, delta), p);
  if (g.drops()) d_s = g.in_scores(CUDNN_POINTWISE_MUL, d_s, again);
  d_s = g.in_scores(CUDNN_POINTWISE_MUL, d_s, factor);
  g.product(g.scores_transposed(d_s), queries, g.heads(d_k, 3));
  g.product(d_s, g.heads_of_columns(keys), g.heads(d_q, 3));
}

/// Attention that cuDNN has compiled.
struct Attention {
  std::unique_ptr<Graph> graph{};
  Plan plan{};
};

/// Compiles a kernel, which takes a second.
inline Attention make_attention(Handle& handle, const FusedAttention& attention) {
  auto graph = std::make_unique<Graph>(attention);
  if (attention.backward) describe_backward(*graph);
  else describe_forward(*graph);
  Plan plan = handle.choose(
      graph->operations(), attention.workspace, [](Raw) { return true; }, "Attention<Cudnn>",
      "write Attention<Composed>");
  return {std::move(graph), std::move(plan)};
}

/// Runs a plan: `names` and `places` say where each tensor of the graph lies. Numbers are the host's, and are read in
/// the call: the factor of the scores, −∞ for those that causality hides, and what kept weights are multiplied by. q, k
/// and v are parts of one tensor, a row of all heads apart.
inline void attend(Handle& handle, const Attention& made, const FusedTensors& at, std::byte* scratch,
                   cudaStream_t stream) {
  const FusedAttention& a = made.graph->attention;
  const std::size_t part = static_cast<std::size_t>(a.heads * a.width) * bytes_of(a.type);
  float factor = a.is_scaled ? static_cast<float>(1 / std::sqrt(static_cast<double>(a.width))) : 1.0f,
        minus_infinity = -std::numeric_limits<float>::infinity(), unit = 1,
        kept = 1 - static_cast<float>(a.threshold) / 65536, of_kept = 1 / kept;
  Extents names{q, k, v, y, log_sum, scale};
  std::byte* const qkv = const_cast<std::byte*>(at.qkv);
  std::vector<void*> places{qkv, qkv + part, qkv + 2 * part, at.y, at.log_sum, &factor};
  const auto add = [&](Tensor name, void* place) {
    names.push_back(name);
    places.push_back(place);
  };
  if (a.causal) add(lowest, &minus_infinity);
  if (a.threshold > 0) {
    add(seed, const_cast<std::byte*>(at.random));
    add(offset, const_cast<std::byte*>(at.random) + sizeof(std::int64_t));
    add(keep_factor, &of_kept);
  }
  if (a.backward) {
    if (a.threshold > 0) add(keep_rate, &kept);
    else add(one, &unit);
    add(d_y, const_cast<std::byte*>(at.d_y));
    add(d_q, at.d_qkv);
    add(d_k, at.d_qkv + part);
    add(d_v, at.d_qkv + 2 * part);
    add(row_dot, at.row_dot);
  }
  handle.run(made.plan, names, places, scratch, stream);
}

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
