// regimen/engine/cpu/traits.hpp — the facts about the CPU engine that a plan needs.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/attention.hpp>

#include <cstddef>

namespace regimen::op {
/// Found, by its argument, for operations of the library alone.
template <class Operation>
void is_of_library(const Operation&);
}  // namespace regimen::op

namespace regimen::cpu {

class Engine;
struct Memory;
/// Whether an operation has compute(). Yes where nothing computes, since the engine is not included; and for operations
/// of the library, whose kernels a program that links regimen::compiled need not see.
template <class Operation, class Computing = Engine>
concept HasCompute = !requires { sizeof(Computing); } ||
#if REGIMEN_COMPILED
                     requires(const Operation& operation) { is_of_library(operation); } ||
#endif
                     requires(const Operation& operation, const Memory& at) { compute(operation, at); };

/// Row chunks of a reduction over rows: a constant, so that results do not depend on the number of threads.
inline constexpr std::size_t norm_chunks = 16;

/// Which convolutions are computed by Winograd's tiles of 2 x 2 pixels (winograd.hpp), and their blocks: functions of
/// the shape of one sample alone, so that a sample has the same bits in every batch.
struct WinogradTiles {
  static constexpr std::size_t rows = 48, bytes = 512;  // of a product: tiles of pixels, and bytes of channels
  static constexpr std::size_t tiles = 32;              // that a gradient of weights sums at a time
  template <class S>
  static constexpr std::size_t depth() {  // channels that a product sums at a time
    return 256 / sizeof(S);
  }
  template <class S>
  static constexpr std::size_t side() {  // channels of x, and of y, whose gradients of weights are computed together
    return 256 / sizeof(S);
  }
  /// Columns of whole panels, whatever the width of a register.
  template <class S>
  static constexpr std::size_t columns(std::size_t channels) {
    constexpr std::size_t most = 128 / sizeof(S);
    return (channels + most - 1) / most * most;
  }
  static constexpr std::size_t of(std::size_t height, std::size_t width) {
    return (height + 1) / 2 * ((width + 1) / 2);
  }

  /// Whether they are fewer operations for results of height x width pixels, also with what packs them.
  static constexpr bool are_faster(const op::Convolution& o, std::size_t height, std::size_t width) {
    return o.window_height == 3 && o.window_width == 3 && o.stride == 1 && o.dilation == 1 && o.groups == 1 &&
           o.padding <= 2 && o.channels >= 32 && o.out_channels >= 32 && 16 * of(height, width) <= 6 * height * width;
  }
  static constexpr bool are_faster(const op::Convolution& o) { return are_faster(o, o.out_height(), o.out_width()); }
  /// Whether the tiles are fewer operations for the gradient of x.
  static constexpr bool are_faster_back(const op::Convolution& o) { return are_faster(o, o.height, o.width); }

  /// The tiles of all weights, summed over `depth` channels.
  template <class S>
  static constexpr std::size_t weights(std::size_t depth, std::size_t outputs) {
    return 16 * depth * columns<S>(outputs) * sizeof(S);
  }
};

/// How the gradient of a convolution's weights is cut: chunks of y's pixels, or of y's lines where channels are groups
/// of their own, each with sums of its own. As many as make some 32 pieces of work; a function of the shape alone.
struct ConvChunks {
  static constexpr std::size_t most = 32, least_positions = 192, most_sums = std::size_t{1} << 19;
  static constexpr std::size_t tile_rows = 96, tile_bytes = 1024;  // of the product's tiles: rows, bytes of a row

  template <class S>
  static constexpr std::size_t of(const op::Convolution& shape) {
    const auto parts = [](std::size_t count, std::size_t size) { return (count + size - 1) / size; };
    std::size_t wanted = 0, limit = 0;
    if (shape.is_depthwise()) {
      wanted = most < most_sums / (shape.weights() + 1) ? most : most_sums / (shape.weights() + 1);
      limit = shape.samples * shape.out_height();
    } else if (WinogradTiles::are_faster(shape)) {
      constexpr std::size_t side = WinogradTiles::side<S>();
      wanted = most / (parts(shape.out_channels, side) * parts(shape.channels, side));
      limit = shape.samples * WinogradTiles::of(shape.out_height(), shape.out_width()) / least_positions;
    } else {
      wanted = most /
               (shape.groups * parts(shape.group_outputs(), tile_rows) * parts(shape.depth(), tile_bytes / sizeof(S)));
      limit = shape.positions() / least_positions;
    }
    const std::size_t chunks = wanted < limit ? wanted : limit;
    return chunks == 0 ? 1 : chunks;
  }
};

struct Traits : engines::DefaultTraits {
  using attention = Tiled;
  template <class Operation>
  static constexpr bool runs = HasCompute<Operation>;

  /// The host may read and write the arena between calls, by Engine::data(view).
  static constexpr bool is_host_memory = true;
  /// The host copies a micro-batch in turn, unless several steps run in one recording.
  static constexpr std::size_t input_slots(std::size_t micro_batches) { return micro_batches > 1 ? micro_batches : 0; }

  /// Workspace of an operation's kernel, in bytes.
  template <class Operation>
  static constexpr std::size_t scratch(const Operation&) {
    return 0;
  }
  /// The rounded copies of both factors.
  template <class C>
  static constexpr std::size_t scratch(const op::Product<tf32, tf32, C>& o) {
    return aligned_bytes(o.m * o.k * sizeof(fp32)) + aligned_bytes(o.k * o.n * sizeof(fp32));
  }
  /// The weights' tiles; or, of a convolution of each channel alone, the weights, tap by tap.
  template <class T>
  static constexpr std::size_t scratch(const op::Conv<T>& o) {
    return bytes_of_weights<T>(o.shape, WinogradTiles::are_faster(o.shape), o.shape.channels, o.shape.out_channels);
  }
  template <class T>
  static constexpr std::size_t scratch(const op::ConvInput<T>& o) {
    return bytes_of_weights<T>(o.shape, WinogradTiles::are_faster_back(o.shape), o.shape.out_channels,
                               o.shape.channels);
  }
  /// The sums of each chunk.
  template <class T, class G>
  static constexpr std::size_t scratch(const op::ConvWeight<T, G>& o) {
    const std::size_t chunks = ConvChunks::of<statistic_t<T>>(o.shape);
    return chunks == 1 && !o.shape.is_depthwise() ? 0
                                                  : aligned_bytes(chunks * o.shape.weights() * sizeof(statistic_t<T>));
  }
  /// Workspace for the chunks' sums of both gradients.
  template <bool Centered, class T, class G>
  static constexpr std::size_t scratch(const op::NormalizeBackward<Centered, T, G>& o) {
    return o.d_gain.is_absent() ? 0 : norm_chunks * 2 * o.columns * sizeof(statistic_t<T>);
  }
  /// The chunks' sums of a batch's columns; or the running statistics, in the type that computes.
  template <class T, class B>
  static constexpr std::size_t scratch(const op::BatchNorm<T, B>& o) {
    using S = statistic_t<T>;
    return o.uses_running ? 2 * o.columns * sizeof(S) : o.sums_rows() ? o.chunks().template bytes<S>() : 0;
  }
  template <class T>
  static constexpr std::size_t scratch(const op::BatchMoments<T>& o) {
    return o.chunks().template bytes<statistic_t<T>>();
  }
  template <class T>
  static constexpr std::size_t scratch(const op::BatchSums<T>& o) {
    return o.chunks().template bytes<statistic_t<T>>();
  }
  template <class T, class G>
  static constexpr std::size_t scratch(const op::BatchNormBackward<T, G>& o) {
    return o.bytes();
  }
  /// The chunks' sums of each sample's columns; backward also has two means for each group of a sample.
  template <class T>
  static constexpr std::size_t scratch(const op::GroupNorm<T>& o) {
    return o.shape.template bytes<statistic_t<T>>();
  }
  template <class T, class G>
  static constexpr std::size_t scratch(const op::GroupNormBackward<T, G>& o) {
    return o.shape.template bytes<statistic_t<T>>(2 * o.shape.columns);
  }

 private:
  template <class T>
  static constexpr std::size_t bytes_of_weights(const op::Convolution& shape, bool in_tiles, std::size_t depth,
                                                std::size_t outputs) {
    using S = statistic_t<T>;
    return in_tiles               ? WinogradTiles::weights<S>(depth, outputs)
           : shape.is_depthwise() ? aligned_bytes(shape.weights() * sizeof(S))
                                  : 0;
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
