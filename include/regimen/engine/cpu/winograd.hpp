// regimen/engine/cpu/winograd.hpp — convolutions by windows of 3 x 3 with 4/9 of the multiplications.
#pragma once

#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/traits.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::cpu::detail {

// Lavin, Gray 2015, F(2x2, 3x3). A tile is 2 x 2 pixels of y; it reads 4 x 4 pixels d of x. With g the 3 x 3 weights of
// a pair of channels,
//   y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A        summed over the channels of x inside the brackets: 16 products of matrices
//   d_g = Gᵀ [(A d_y Aᵀ) ⊙ (Bᵀ d B)] G    summed over the tiles inside the brackets
// The maps below are one of the two sides each: from a column to a column.

struct TileOfX {  // Bᵀ
  template <class V>
  static std::array<V, 4> of(const std::array<V, 4>& d) {
    return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  }
};
struct TileOfWeights {  // G
  template <class V>
  static std::array<V, 4> of(const std::array<V, 3>& g) {
    const V ends = (g[0] + g[2]) * V(0.5f), middle = g[1] * V(0.5f);
    return {g[0], ends + middle, ends - middle, g[2]};
  }
};
struct PixelsOfTile {  // Aᵀ
  template <class V>
  static std::array<V, 2> of(const std::array<V, 4>& m) {
    return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  }
};
struct TileOfPixels {  // A
  template <class V>
  static std::array<V, 4> of(const std::array<V, 2>& y) {
    return {y[0], y[0] + y[1], y[0] - y[1], -y[1]};
  }
};
struct WeightsOfTile {  // Gᵀ
  template <class V>
  static std::array<V, 3> of(const std::array<V, 4>& m) {
    const V half = (m[1] + m[2]) * V(0.5f);
    return {m[0] + half, (m[1] - m[2]) * V(0.5f), half + m[3]};
  }
};

/// put(number, value) for the elements of Map · m · Mapᵀ, line by line; m's are at(line, column).
template <class Map, std::size_t In, class At, class Put>
[[gnu::always_inline]] inline void map_both_sides(const At& at, const Put& put) {
  using V = decltype(at(std::size_t{}, std::size_t{}));
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    const auto column = [&](std::size_t j)
                            __attribute__((always_inline)) { return Map::of(std::array<V, In>{at(I, j)...}); };
    const std::array columns{column(I)...};
    [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
      const auto line = [&](std::size_t i) __attribute__((always_inline)) {
        const auto mapped = Map::of(std::array<V, In>{columns[I][i]...});
        (put(i * sizeof...(J) + J, mapped[J]), ...);
      };
      (line(J), ...);
    }(std::make_index_sequence<std::tuple_size_v<typename decltype(columns)::value_type>>{});
  }(std::make_index_sequence<In>{});
}

/// Images, and the tiles that cover them or, of another image, see them.
struct TiledImage final {
  std::size_t height, width, channels;                            // of the image
  std::size_t down = (height + 1) / 2, across = (width + 1) / 2;  // tiles
  std::size_t padding = 0;  // of the square that a tile sees, beyond the tile's pixels

  /// This image as the tiles of `other` see it.
  TiledImage seen_from(const TiledImage& other, std::size_t beyond) const {
    TiledImage result = *this;
    result.down = other.down, result.across = other.across, result.padding = beyond;
    return result;
  }

  /// The channels from `first` on of the pixels of Size x Size that tile `index` sees: `outside` where there are none.
  template <std::size_t Size, class T>
  std::array<T*, Size * Size> square(T* images, std::size_t index, std::size_t first, T* outside) const {
    std::array<T*, Size * Size> all;
    const std::size_t sample = index / (down * across), line = index / across % down * 2, column = index % across * 2;
    T* const image = images + sample * height * width * channels + first;
    for (std::size_t i = 0; i < Size; ++i)
      for (std::size_t j = 0; j < Size; ++j) {
        const std::size_t h = line + i - padding, w = column + j - padding;  // beyond the end if negative
        all[i * Size + j] = h < height && w < width ? image + (h * width + w) * channels : outside;
      }
    return all;
  }
};

/// to[number · plane + i · stride + c] = the elements of the i-th of these tiles in the c-th of these channels, and 0
/// up to a whole vector of channels.
template <class Map, std::size_t Size, class S, class T>
void pack_tiles(S* to, std::size_t plane, std::size_t stride, const T* images, const TiledImage& image, Range tiles,
                Range channels) {
  static const T zeros[WinogradTiles::bytes / sizeof(S)] = {};
  for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile, to += stride) {
    const auto square = image.square<Size>(images, tile, channels.begin, zeros);
    for_each_vector<S>(0, channels.end - channels.begin, [&](std::size_t c, auto n) {
      map_both_sides<Map, Size>(
          [&](std::size_t line, std::size_t column)
              __attribute__((always_inline)) { return load<S>(square[line * Size + column] + c, n); },
          [&](std::size_t number, Vector<S> value)
              __attribute__((always_inline)) { store<S>(value, to + number * plane + c); });
    });
  }
}

/// The weights' tiles, where `depth` channels are summed and `columns` are results: slices of WinogradTiles::depth, of
/// 16 matrices each, whose panels of block_columns columns lie behind each other.
///   turns   whether it is the gradient of x: sums over y's channels, with the taps in reverse
template <bool turns, class S, class T>
void tiles_of_weights(S* to, const T* weight, std::size_t depth, std::size_t columns) {
  constexpr std::size_t step = block_columns<S>, most = WinogradTiles::depth<S>(), width = lanes<S>;
  const std::size_t panels = WinogradTiles::columns<S>(columns) / step, slices = (depth + most - 1) / most,
                    channels = turns ? columns : depth;
  parallel_for(slices * panels, [&](std::size_t index) {
    const std::size_t first = index / panels * most, panel = index % panels,
                      count = depth - first < most ? depth - first : most, plane = panels * count * step;
    S* const panel_at = to + 16 * panels * step * first + panel * count * step;
    const auto map = [&](std::size_t o, std::size_t c, auto n, const auto& put) __attribute__((always_inline)) {
      map_both_sides<TileOfWeights, 3>(
          [&](std::size_t r, std::size_t s) __attribute__((always_inline)) {
            const std::size_t tap = r * 3 + s;
            return load<S>(weight + (o * 9 + (turns ? 8 - tap : tap)) * channels + c, n);
          },
          put);
    };
    for (std::size_t j = panel * step; j < (panel + 1) * step; j += width) {
      S* const at = panel_at + (j - panel * step);
      if (j >= columns) {
        for (std::size_t number = 0; number < 16; ++number)
          for (std::size_t p = 0; p < count; ++p) store<S>(Vector<S>(S(0)), at + number * plane + p * step);
      } else if constexpr (turns) {
        const std::size_t left = columns - j;
        for (std::size_t p = 0; p < count; ++p) {
          const auto put = [&](std::size_t number, Vector<S> value)
                               __attribute__((always_inline)) { store<S>(value, at + number * plane + p * step); };
          if (left >= width) map(first + p, j, Whole{}, put);
          else map(first + p, j, left, put);
        }
      } else {
        for_each_vector<S>(0, count, [&](std::size_t p, auto n) {
          alignas(64) S rows[16][width][width];
          for (std::size_t i = 0; i < width; ++i) {
            const auto put = [&](std::size_t number, Vector<S> value)
                                 __attribute__((always_inline)) { store<S>(value, &rows[number][i][0]); };
            if (j + i < columns) map(j + i, first + p, n, put);
            else
              for (std::size_t number = 0; number < 16; ++number) put(number, Vector<S>(S(0)));
          }
          using Native = typename Vector<S>::Native;
          for (std::size_t number = 0; number < 16; ++number)
            transpose_square<Native>([&](std::size_t i) { return load<S>(&rows[number][i][0]).native; },
                                     [&](std::size_t i, Native row) {
                                       if (i < lanes_used<S>(n))
                                         store<S>(Vector<S>(row), at + number * plane + (p + i) * step);
                                     },
                                     std::make_index_sequence<width>{});
        });
      }
    }
  });
}

/// y = the convolution of x, with `weights` from tiles_of_weights, and bias if it is not null.
///   x (samples, height, width, channels), as `image` says; y (samples, out_height, out_width, outputs)
template <class S, class T>
void convolve_tiles(const T* x, const TiledImage& image, const S* weights, const T* bias, T* y, const TiledImage& of_y,
                    std::size_t samples) {
  constexpr std::size_t step = block_columns<S>, most = WinogradTiles::depth<S>(), high = WinogradTiles::rows,
                        wide = WinogradTiles::bytes / sizeof(S), stride = most + lanes<S>;
  constexpr std::size_t a_plane = high * stride + lanes<S>, c_plane = high * wide + lanes<S>;  // off powers of two
  const std::size_t tiles = samples * image.down * image.across, depth = image.channels, outputs = of_y.channels;
  const std::size_t blocks = (tiles + high - 1) / high, across = (outputs + wide - 1) / wide,
                    panels = WinogradTiles::columns<S>(outputs) / step;
  parallel_for(blocks * across, [&](std::size_t index) {
    const auto [first, last] = block_range(tiles, block_rows, blocks, index / across);
    const std::size_t count = last - first;
    const std::size_t j0 = index % across * wide, columns = outputs - j0 < wide ? outputs - j0 : wide;
    alignas(64) S a[16 * a_plane];
    alignas(64) S c[16 * c_plane];
    for (std::size_t p = 0; p < depth; p += most) {
      const std::size_t deep = depth - p < most ? depth - p : most;
      pack_tiles<TileOfX, 4>(a, a_plane, stride, x, image, {first, last}, {p, p + deep});
      for (std::size_t number = 0; number < 16; ++number) {
        complete_rows(a + number * a_plane, stride, count, deep);
        multiply_tile<Strides{.a_row = stride, .a_depth = 1, .b_row = step}>(
            count, columns, deep, a + number * a_plane,
            {weights + (16 * p + number * deep) * panels * step + j0 * deep, deep * step}, {c + number * c_plane, wide},
            p > 0);
      }
    }
    T outside[wide + lanes<S>];
    for (std::size_t i = 0; i < count; ++i) {
      const auto square = of_y.square<2>(y, first + i, j0, outside);
      for_each_vector<S>(0, columns, [&](std::size_t j, auto n) {
        const Vector<S> start = bias != nullptr ? load<S>(bias + j0 + j, n) : Vector<S>(S(0));
        map_both_sides<PixelsOfTile, 4>(
            [&](std::size_t line, std::size_t column)
                __attribute__((always_inline)) { return load<S>(c + (line * 4 + column) * c_plane + i * wide + j); },
            [&](std::size_t number, Vector<S> value)
                __attribute__((always_inline)) { store(value + start, square[number] + j, n); });
      });
    }
  });
}

/// put(o, tap, c, value, count) for the gradients of weights that a chunk of tiles gives, in blocks of channels.
template <class S, class T, class Put>
void weights_of_tiles(const T* x, const TiledImage& image, const T* d_y, const TiledImage& of_y, std::size_t samples,
                      std::size_t chunks, const Put& put) {
  constexpr std::size_t side = WinogradTiles::side<S>(), most = WinogradTiles::tiles;
  constexpr std::size_t plane = most * side + lanes<S>, c_plane = side * side + lanes<S>;
  const std::size_t tiles = samples * image.down * image.across, channels = image.channels, outputs = of_y.channels;
  const std::size_t down = (outputs + side - 1) / side, across = (channels + side - 1) / side;
  parallel_for(chunks * down * across, [&](std::size_t index) {
    const std::size_t chunk = index / (down * across), i0 = index / across % down * side, j0 = index % across * side,
                      rows = outputs - i0 < side ? outputs - i0 : side,
                      columns = channels - j0 < side ? channels - j0 : side, end = part_begin(tiles, chunks, chunk + 1),
                      begin = part_begin(tiles, chunks, chunk);
    alignas(64) S a[16 * plane];
    alignas(64) S b[16 * plane];
    alignas(64) S c[16 * c_plane];
    if (begin == end)
      for (S& sum : c) sum = S(0);
    for (std::size_t p = begin; p < end; p += most) {
      const std::size_t deep = end - p < most ? end - p : most;
      pack_tiles<TileOfPixels, 2>(a, plane, side, d_y, of_y, {p, p + deep}, {i0, i0 + rows});
      pack_tiles<TileOfX, 4>(b, plane, side, x, image, {p, p + deep}, {j0, j0 + columns});
      for (std::size_t number = 0; number < 16; ++number)
        multiply_tile<Strides{.a_row = 1, .a_depth = side, .b_row = side}>(rows, columns, deep, a + number * plane,
                                                                           {b + number * plane, block_columns<S>},
                                                                           {c + number * c_plane, side}, p > begin);
    }
    for (std::size_t i = 0; i < rows; ++i)
      for_each_vector<S>(0, columns, [&](std::size_t j, auto n) {
        map_both_sides<WeightsOfTile, 4>(
            [&](std::size_t line, std::size_t column)
                __attribute__((always_inline)) { return load<S>(c + (line * 4 + column) * c_plane + i * side + j); },
            [&](std::size_t tap, Vector<S> value)
                __attribute__((always_inline)) { put(chunk, ((i0 + i) * 9 + tap) * channels + j0 + j, value, n); });
      });
  });
}

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
