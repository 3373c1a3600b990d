// regimen/engine/cpu/convolution.hpp — convolutions of images, as products of windows that are gathered tile by tile.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/depthwise.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>
#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/cpu/winograd.hpp>

#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// Copies elements [begin, end) of a row that is the concatenation of pieces, as S.
template <class S>
struct PiecesOfRow {
  S* to;
  std::size_t begin, end, done = 0;

  bool is_full() const { return done >= end; }
  /// The next `count` elements; zeros where `from` is null. Writes whole registers: `to` has room for one more, and
  /// what follows comes later.
  template <class T>
  void add(const T* from, std::size_t count) {
    const std::size_t next = done + count, first = done < begin ? begin : done, last = next < end ? next : end;
    if (first < last) {
      if (from != nullptr) copy_row(to + (first - begin), from + (first - done), last - first);
      else for_each_vector<S>(first, last, [&](std::size_t i, auto) { store<S>(Vector<S>(S(0)), to + (i - begin)); });
    }
    done = next;
  }
};

/// Elements [begin, end) of a window, (r, s, c) of one group, that y's pixel `at` reads.
template <class S, class T>
void gather_window(S* to, const T* x, const op::Convolution& o, std::size_t group, Pixel at, std::size_t begin,
                   std::size_t end) {
  const std::size_t channels = o.group_channels(), line = o.window_width * channels;
  const bool is_dense = o.dilation == 1 && o.groups == 1;
  std::size_t r = begin / line;
  PiecesOfRow<S> row{to, begin, end, r * line};
  for (; !row.is_full(); ++r) {
    const std::size_t h = o.from(at.line, r, o.height), w = at.column * o.stride;
    if (h >= o.height) {
      row.add(static_cast<const T*>(nullptr), line);
      continue;
    }
    const T* const from = x + (at.sample * o.height + h) * o.width * o.channels + group * channels;
    if (is_dense && w >= o.padding && w - o.padding + o.window_width <= o.width) {
      row.add(from + (w - o.padding) * o.channels, line);
      continue;
    }
    for (std::size_t s = 0; s < o.window_width; ++s) {
      const std::size_t column = o.from(at.column, s, o.width);
      row.add(column < o.width ? from + column * o.channels : nullptr, channels);
    }
  }
}

/// A tile of a product, in a matrix for each chunk and group.
template <class S>
struct GatheredTile final {
  ProductBuffers<S>& buffers;
  std::size_t chunk, group, i0, rows, j0, columns;

  const S* row(std::size_t i) const { return buffers.c + i * ProductBuffers<S>::columns; }
};

/// The tile of a · b, where k runs from k0 to k1.
///   pack_a(to, p, depth)              elements of a from p on: (rows, depth) with row_stride, or (depth, rows)
///   pack_b(to, p, depth, j, width)    (depth, width) from column j on, in rows of block_columns;
///                                     if a_is_transposed, pack_b(to, p, depth): all columns, in rows of b_stride
template <bool a_is_transposed, class S, class PackA, class PackB>
void multiply_gathered(const GatheredTile<S>& tile, std::size_t k0, std::size_t k1, const PackA& pack_a,
                       const PackB& pack_b) {
  using Buffers = ProductBuffers<S>;
  Buffers& buffers = tile.buffers;
  const std::size_t rows = tile.rows, columns = tile.columns;
  constexpr std::size_t step = block_columns<S>, panel = step * Buffers::depth;
  if (k0 >= k1) {
    for (std::size_t i = 0; i < rows * Buffers::columns; ++i) buffers.c[i] = S(0);
    return;
  }
  const std::size_t slices = (k1 - k0 + Buffers::depth - 1) / Buffers::depth, even = (k1 - k0 + slices - 1) / slices;
  for (std::size_t p = k0; p < k1; p += even) {
    const std::size_t depth = k1 - p < even ? k1 - p : even;
    pack_a(buffers.a, p, depth);
    if constexpr (a_is_transposed) {
      pack_b(buffers.b, p, depth);
      multiply_tile<Strides{.a_row = 1, .a_depth = Buffers::rows, .b_row = Buffers::b_stride}>(
          rows, columns, depth, buffers.a, {buffers.b, step}, {buffers.c, Buffers::columns}, p > k0);
    } else {
      for (std::size_t j = 0; j < columns; j += step)
        pack_b(buffers.b + j / step * panel, p, depth, j, columns - j < step ? columns - j : step);
      multiply_tile<Strides{.a_row = Buffers::row_stride, .a_depth = 1, .b_row = step}>(
          rows, columns, depth, buffers.a, {buffers.b, panel}, {buffers.c, Buffers::columns}, p > k0);
    }
  }
}

/// Row i of a tile's first factor by gather(to, i), and zeros in the rows that complete a register block.
template <class S, class Gather>
void pack_rows(S* to, std::size_t rows, std::size_t depth, const Gather& gather) {
  constexpr std::size_t stride = ProductBuffers<S>::row_stride;
  for (std::size_t i = 0; i < rows; ++i) gather(to + i * stride, i);
  complete_rows(to, stride, rows, depth);
}

/// body(tile) for the tiles of `chunks` times `groups` matrices.
template <class S, class Body>
void for_tiles(std::size_t groups, std::size_t rows, std::size_t columns, std::size_t chunks, const Body& body) {
  using Buffers = ProductBuffers<S>;
  static_assert(Buffers::rows == ConvChunks::tile_rows && Buffers::columns * sizeof(S) == ConvChunks::tile_bytes);
  const std::size_t down = (rows + Buffers::rows - 1) / Buffers::rows,
                    across = (columns + Buffers::columns - 1) / Buffers::columns;
  parallel_for(chunks * groups * down * across, [&](std::size_t index) {
    const std::size_t i = index % down, j = index / down % across, group = index / (down * across) % groups;
    const auto [i0, i1] = block_range(rows, block_rows, down, i);
    const auto [j0, j1] = block_range(columns, block_columns<S>, across, j);
    if (i0 == i1 || j0 == j1) return;
    Buffers buffers;  // what is read of padding reaches nothing that is stored
    body(GatheredTile<S>{.buffers = buffers,
                         .chunk = index / (down * across * groups),
                         .group = group,
                         .i0 = i0,
                         .rows = i1 - i0,
                         .j0 = j0,
                         .columns = j1 - j0});
  });
}

// ---- tiles of 2 x 2 pixels of y

inline TiledImage image_of_x(const op::Convolution& o) {
  return {.height = o.height, .width = o.width, .channels = o.channels};
}
inline TiledImage image_of_y(const op::Convolution& o) {
  return {.height = o.out_height(), .width = o.out_width(), .channels = o.out_channels};
}

}  // namespace detail

/// op::Conv on the CPU: a tile of y is the product of its windows and the weights, each packed slice by slice.
///
/// error   sums over r, s, c in slices from the first to the last, then the bias, in S; one rounding to T
template <class T>
void compute(const op::Conv<T>& o, const Memory& at) {
  using namespace detail;
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const weight = at(o.weight), *const bias = at.optional(o.bias);
  T* const y = at(o.y);
  const op::Convolution& shape = o.shape;
  if (shape.is_depthwise()) return sum_taps<false>(shape, x, weights_by_tap(shape, weight, at), bias, y);
  if (WinogradTiles::are_faster(shape)) {
    S* const tiles = at(View<S>{at.scratch});
    tiles_of_weights<false>(tiles, weight, shape.channels, shape.out_channels);
    const TiledImage of_y = image_of_y(shape);
    return convolve_tiles(x, image_of_x(shape).seen_from(of_y, shape.padding), tiles, bias, y, of_y, shape.samples);
  }
  const std::size_t k = shape.depth(), outputs = shape.group_outputs();
  for_tiles<S>(shape.groups, shape.positions(), outputs, 1, [&](const GatheredTile<S>& tile) {
    const std::size_t first = tile.group * outputs + tile.j0;
    multiply_gathered<false>(
        tile, 0, k,
        [&](S* to, std::size_t p, std::size_t depth) {
          pack_rows(to, tile.rows, depth, [&](S* row, std::size_t i) {
            gather_window(row, x, shape, tile.group, Pixel::of(tile.i0 + i, shape.out_height(), shape.out_width()), p,
                          p + depth);
          });
        },
        [&](S* to, std::size_t p, std::size_t depth, std::size_t j, std::size_t width) {
          transpose(to, block_columns<S>, weight + (first + j) * k + p, k, width, depth);
        });
    for (std::size_t i = 0; i < tile.rows; ++i)
      for_each_vector<S>(0, tile.columns, [&](std::size_t j, auto n) {
        const Vector<S> sum = load<S>(tile.row(i) + j);
        store(bias != nullptr ? sum + load<S>(bias + first + j, n) : sum,
              y + (tile.i0 + i) * shape.out_channels + first + j, n);
      });
  });
}

namespace detail {

/// The pixels of x whose lines and columns are those of (line, column) modulo the stride: the same taps read them.
template <class T>
struct PixelsOfTaps final {
  using S = statistic_t<T>;
  const op::Convolution& shape;
  const T *d_y, *weight;
  std::size_t line, column;
  std::size_t lines = (shape.height - line + shape.stride - 1) / shape.stride,
              columns = (shape.width - column + shape.stride - 1) / shape.stride, out_height = shape.out_height(),
              out_width = shape.out_width();

  /// Whether the taps have this one, in one direction.
  bool reads(std::size_t first, std::size_t tap) const {
    return (first + shape.padding) % shape.stride == tap * shape.dilation % shape.stride;
  }
  std::size_t taps() const {
    std::size_t high = 0, wide = 0;
    for (std::size_t r = 0; r < shape.window_height; ++r) high += reads(line, r) ? 1 : 0;
    for (std::size_t s = 0; s < shape.window_width; ++s) wide += reads(column, s) ? 1 : 0;
    return high * wide;
  }
  Pixel pixel(std::size_t i) const {
    const Pixel here = Pixel::of(i, lines, columns);
    return {here.sample, line + here.line * shape.stride, column + here.column * shape.stride};
  }

  /// Of the outputs that read pixel i, the rows [p, p + depth) of the factor.
  void gather_outputs(S* to, std::size_t i, std::size_t group, std::size_t p, std::size_t depth) const {
    const std::size_t outputs = shape.group_outputs();
    const Pixel from = pixel(i);
    PiecesOfRow<S> row{to, p, p + depth};
    for (std::size_t r = 0; r < shape.window_height && !row.is_full(); ++r) {
      if (!reads(line, r)) continue;
      const std::size_t h = shape.to(from.line, r, out_height);
      for (std::size_t s = 0; s < shape.window_width && !row.is_full(); ++s) {
        if (!reads(column, s)) continue;
        const std::size_t w = shape.to(from.column, s, out_width);
        row.add(h < out_height && w < out_width
                    ? d_y + ((from.sample * out_height + h) * out_width + w) * shape.out_channels + group * outputs
                    : nullptr,
                outputs);
      }
    }
  }
  /// Of the taps' weights, `count` channels from j on.
  void gather_weights(S* to, std::size_t group, std::size_t p, std::size_t depth, std::size_t j,
                      std::size_t count) const {
    const std::size_t outputs = shape.group_outputs(), channels = shape.group_channels(), k = shape.depth();
    std::size_t done = 0;  // rows of the whole factor
    for (std::size_t r = 0; r < shape.window_height; ++r)
      for (std::size_t s = 0; s < shape.window_width; ++s) {
        if (!reads(line, r) || !reads(column, s)) continue;
        const T* const from = weight + group * outputs * k + (r * shape.window_width + s) * channels + j;
        for (std::size_t q = done < p ? p : done; q < done + outputs && q < p + depth; ++q)
          copy_row(to + (q - p) * block_columns<S>, from + (q - done) * k, count);
        done += outputs;
      }
  }
};

}  // namespace detail

/// op::ConvInput on the CPU. For each set of pixels that the same taps read: a product of the outputs that read its
/// pixels and the weights of its taps, so that no stride multiplies zeros.
template <class T>
void compute(const op::ConvInput<T>& o, const Memory& at) {
  using namespace detail;
  using S = statistic_t<T>;
  const T *const d_y = at(o.d_y), *const weight = at(o.weight);
  T* const d_x = at(o.d_x);
  const op::Convolution& shape = o.shape;
  if (shape.is_depthwise()) return sum_taps<true, T>(shape, d_y, weights_by_tap(shape, weight, at), nullptr, d_x);
  if (WinogradTiles::are_faster_back(shape)) {
    const TiledImage of_x = image_of_x(shape), of_y = image_of_y(shape).seen_from(of_x, 2 - shape.padding);
    S* const tiles = at(View<S>{at.scratch});
    tiles_of_weights<true>(tiles, weight, shape.out_channels, shape.channels);
    return convolve_tiles(d_y, of_y, tiles, static_cast<const T*>(nullptr), d_x, of_x, shape.samples);
  }
  const std::size_t channels = shape.group_channels(), stride = shape.stride;
  for (std::size_t set = 0; set < stride * stride; ++set) {
    const PixelsOfTaps<T> pixels{
        .shape = shape, .d_y = d_y, .weight = weight, .line = set / stride, .column = set % stride};
    if (pixels.line >= shape.height || pixels.column >= shape.width) continue;
    const std::size_t depth_of_set = pixels.taps() * shape.group_outputs();
    const std::size_t of_set = shape.samples * pixels.lines * pixels.columns;
    for_tiles<S>(shape.groups, of_set, channels, 1, [&](const GatheredTile<S>& tile) {
      multiply_gathered<false>(
          tile, 0, depth_of_set,
          [&](S* to, std::size_t p, std::size_t depth) {
            pack_rows(to, tile.rows, depth,
                      [&](S* row, std::size_t i) { pixels.gather_outputs(row, tile.i0 + i, tile.group, p, depth); });
          },
          [&](S* to, std::size_t p, std::size_t depth, std::size_t j, std::size_t count) {
            pixels.gather_weights(to, tile.group, p, depth, tile.j0 + j, count);
          });
      for (std::size_t i = 0; i < tile.rows; ++i) {
        const Pixel to = pixels.pixel(tile.i0 + i);
        write_row<S>(d_x + ((to.sample * shape.height + to.line) * shape.width + to.column) * shape.channels +
                         tile.group * channels + tile.j0,
                     tile.row(i), tile.columns, false);
      }
    });
  }
}

/// op::ConvWeight on the CPU: chunks of y's pixels (ConvChunks), each a product of d_y and the windows that its pixels
/// read; then the chunks' sums, in order.
template <class T, class G>
void compute(const op::ConvWeight<T, G>& o, const Memory& at) {
  using namespace detail;
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const d_y = at(o.d_y);
  G* const d_weight = at(o.d_weight);
  const op::Convolution& shape = o.shape;
  const std::size_t chunks = ConvChunks::of<S>(shape), weights = shape.weights(), k = shape.depth(),
                    positions = shape.positions(), outputs = shape.group_outputs();
  if (shape.is_depthwise()) return compute_depthwise(o, at);
  S* const partial = chunks > 1 ? at(View<S>{at.scratch}) : nullptr;
  if (WinogradTiles::are_faster(shape)) {
    weights_of_tiles<S>(x, image_of_x(shape).seen_from(image_of_y(shape), shape.padding), d_y, image_of_y(shape),
                        shape.samples, chunks, [&](std::size_t chunk, std::size_t to, Vector<S> sum, auto n) {
                          if (partial != nullptr) store(sum, partial + chunk * weights + to, n);
                          else store(o.add ? load<S>(d_weight + to, n) + sum : sum, d_weight + to, n);
                        });
  } else {
    for_tiles<S>(shape.groups, outputs, k, chunks, [&](const GatheredTile<S>& tile) {
      multiply_gathered<true>(
          tile, part_begin(positions, chunks, tile.chunk), part_begin(positions, chunks, tile.chunk + 1),
          [&](S* to, std::size_t p, std::size_t depth) {
            for (std::size_t q = 0; q < depth; ++q)
              copy_row(to + q * ProductBuffers<S>::rows,
                       d_y + (p + q) * shape.out_channels + tile.group * outputs + tile.i0, tile.rows);
          },
          [&](S* to, std::size_t p, std::size_t depth) {
            for (std::size_t q = 0; q < depth; ++q)
              gather_window(to + q * ProductBuffers<S>::b_stride, x, shape, tile.group,
                            Pixel::of(p + q, shape.out_height(), shape.out_width()), tile.j0, tile.j0 + tile.columns);
          });
      for (std::size_t i = 0; i < tile.rows; ++i) {
        const std::size_t to = (tile.group * outputs + tile.i0 + i) * k + tile.j0;
        if (partial != nullptr) write_row<S>(partial + tile.chunk * weights + to, tile.row(i), tile.columns, false);
        else write_row<S>(d_weight + to, tile.row(i), tile.columns, o.add);
      }
    });
  }
  if (partial == nullptr) return;
  sum_terms(partial, chunks, weights, d_weight, weights, o.add);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
