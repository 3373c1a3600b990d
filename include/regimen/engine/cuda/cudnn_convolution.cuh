// regimen/engine/cuda/cudnn_convolution.cuh — convolutions of cuDNN 9, by its C interface of operation graphs.
// cuDNN 9.19 has an engine for each when asked for the properties of an H200, on which the tests ran.
#pragma once

#include <regimen/engine/cuda/cudnn_descriptor.cuh>
#include <regimen/engine/cuda/cudnn_handle.cuh>
#include <regimen/engine/cuda/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace regimen::cuda::cudnn {

/// A convolution that cuDNN has prepared.
struct Convolution {
  std::unique_ptr<Operations> graph{};
  Plan plan{};
};

/// Whether an engine adds in a fixed order, in at least fp32, the products of the numbers as they are: without
/// transforms that round more. Tensor cores would read fp32 as tf32.
inline bool is_exact(Raw configuration, ElementType type) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Raw at = engine.get();
  (void)read_attribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, 1, &at);
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  notes.resize(read_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes.size(), notes.data()));
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  for (const auto note : {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
                          CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_FFT,
                          CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
                          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13})
    if (has(note)) return false;
  return type != ElementType::float32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

namespace detail {

enum ConvolutionTensor : std::int64_t { image = 1, filter, result };

/// The library's names of a pass; below, of all passes, in the order of ConvolutionDescriptor::Pass.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t shape, x, weight, y, alpha, beta;
};
inline constexpr PassNames names_of_passes[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

/// A tensor whose channels lie beside each other; the library names its extents with the channels before the lines.
inline Raw channels_last(Operations& graph, ConvolutionTensor name, cudnnDataType_t type, std::size_t outer,
                         std::size_t lines, std::size_t columns, std::size_t channels) {
  const auto n = static_cast<std::int64_t>(outer), h = static_cast<std::int64_t>(lines),
             w = static_cast<std::int64_t>(columns), c = static_cast<std::int64_t>(channels);
  return graph.tensor(name, type, {n, c, h, w}, {h * w * c, 1, w * c, c});
}

template <class Number>
void describe(Operations& graph, const ConvolutionDescriptor& o) {
  const op::Convolution& s = o.shape;
  const cudnnDataType_t type = type_of(o.type), sums = o.type == ElementType::float64 ? type : CUDNN_DATA_FLOAT;
  const auto both = [](std::size_t size) { return Extents(2, static_cast<std::int64_t>(size)); };
  Descriptor& shape = graph.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  shape.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sums)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, both(s.dilation))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, both(s.stride))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, both(s.padding))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, both(s.padding))
      .finish("a convolution of cuDNN");
  const Raw x = channels_last(graph, image, type, s.samples, s.height, s.width, s.channels);
  const Raw weight =
      channels_last(graph, filter, type, s.out_channels, s.window_height, s.window_width, s.group_channels());
  const Raw y = channels_last(graph, result, type, s.samples, s.out_height(), s.out_width(), s.out_channels);
  const PassNames& names = names_of_passes[static_cast<std::size_t>(o.pass)];
  Descriptor& operation = graph.make(names.operation);
  operation.set(names.shape, shape.get())
      .set(names.x, x)
      .set(names.weight, weight)
      .set(names.y, y)
      .set(names.alpha, Number(1))
      .set(names.beta, Number(o.add ? 1 : 0));
  graph.add(operation, y);
}

}  // namespace detail

/// cuDNN 9.19 has an exact engine for every shape that was tried, for an H200: some use no workspace. Error if it has
/// none.
inline Convolution make_convolution(Handle& handle, const ConvolutionDescriptor& o) {
  auto graph = std::make_unique<Operations>();
  if (o.type == ElementType::float64) detail::describe<double>(*graph, o);
  else detail::describe<float>(*graph, o);
  Plan plan = handle.choose(
      graph->operations(), o.workspace, [&](Raw configuration) { return is_exact(configuration, o.type); },
      "Convolution<Cudnn>", "write Convolution<Direct>");
  return {std::move(graph), std::move(plan)};
}

inline void convolve(Handle& handle, const Convolution& made, const ConvolutionTensors& at, std::byte* scratch,
                     cudaStream_t stream) {
  handle.run(made.plan, {detail::image, detail::filter, detail::result}, {at.x, at.weight, at.y}, scratch, stream);
}

}  // namespace regimen::cuda::cudnn
// SPDX-License-Identifier: Apache-2.0
