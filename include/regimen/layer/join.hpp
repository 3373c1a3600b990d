// regimen/layer/join.hpp — joins, which make one value of the outputs of a Fork's branches; and Identity.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/layer.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen {

/// y = x                                              x, y any shape; exact. The first Identity of a Fork costs nothing
struct Identity final {
  static constexpr const char* name = "identity";
  static constexpr bool couples_samples = false, couples_positions = false;
  template <class X, class Roles>
  using Bound = detail::CastBound<X, typename X::Element, typename X::Shape>;
};

// A join is a type with
//
//   name
//   of<Outputs...>      bound to the outputs of all branches, which are Values of one element type:
//     Output            a Value
//     reads_values      whether backward reads them
//     forward(walk, values, y)                    values: an array of their offsets; y is another tensor
//     backward(walk, d_y, values, d_values)       writes each d_values[i] that is not absent; all are tensors other
//                                                 than d_y and the values. The values are absent unless reads_values
//   rules<Outputs...>   optional, a list of rules about the outputs, as of a layer (rule/branches.hpp has ours)
//   couples_positions   as of a layer: false if each row of y depends only on the same row of the values
//
// Like a layer it runs operations and does nothing else.

namespace detail {

/// Instantiates nothing of T.
template <class T>
inline constexpr bool is_join = requires {
  static_cast<const char*>(T::name);
  typename T::template of<Value<float, Shape<1>>, Value<float, Shape<1>>>;
};

}  // namespace detail

/// y = a + b + ...                                    all of one shape; summed in S, rounded after each term.
/// The sum is in place, or part of the operation that computes a term
struct Add final {
  static constexpr const char* name = "add";
  static constexpr bool couples_positions = false, adds = true;
  template <class First, class... Others>
  struct of {
    using Output = First;
    static constexpr bool reads_values = false;
  };
};

/// y = a · b · ..., elementwise                       all of one shape; rounded after each factor; saves all factors
///
/// A gate has two branches, one of them a Sequential that ends with an activation. Under Fusion<Fused> it is one
/// operation, y = act(a) · b, rounded once (in fp32 and fp64 to the same bits). It saves a and b; backward computes
/// act(a) again.
///   source   Dauphin et al. 2017; Shazeer 2020, "GLU Variants Improve Transformer", for SwiGLU and GeGLU
struct Multiply final {
  static constexpr const char* name = "multiply";
  static constexpr bool couples_positions = false;
  template <class First, class... Others>
  struct of {
    using Output = First;
    using T = typename First::Element;
    static constexpr bool reads_values = true;
    static constexpr std::size_t count = 1 + sizeof...(Others);

    static constexpr void forward(auto& walk, const std::array<std::size_t, count>& values, std::size_t y) {
      multiply(walk, values[0], values[1], y);
      for (std::size_t i = 2; i < count; ++i) multiply(walk, y, values[i], y);
    }
    /// d_values[i] = d_y · the other values
    static constexpr void backward(auto& walk, std::size_t d_y, const std::array<std::size_t, count>& values,
                                   const std::array<std::size_t, count>& d_values) {
      for (std::size_t i = 0; i < count; ++i) {
        if (d_values[i] == View<T>::absent) continue;
        std::size_t product = d_y;
        for (std::size_t other = 0; other < count; ++other)
          if (other != i) multiply(walk, std::exchange(product, d_values[i]), values[other], d_values[i]);
      }
    }

   private:
    static constexpr void multiply(auto& walk, std::size_t a, std::size_t b, std::size_t y) {
      walk.run(op::Multiply<T>{{a}, {b}, {y}, walk.batch * Output::size});
    }
  };
};

namespace detail {

/// The fused form of Multiply in a gate: branch `gate` lacks its last layer, an activation.
template <class Function, std::size_t gate>
struct GatedMultiply final {
  static constexpr const char* name = Multiply::name;
  template <class First, class Second>
  struct of {
    using Output = First;
    using T = typename First::Element;
    using Both = std::array<std::size_t, 2>;
    static constexpr bool reads_values = true;
    static constexpr std::size_t other = 1 - gate;

    static constexpr void forward(auto& walk, const Both& values, std::size_t y) {
      walk.run(op::Gate<Function, T>{{values[gate]}, {values[other]}, {y}, walk.batch * Output::size});
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const Both& values, const Both& d_values) {
      walk.run(op::GateBackward<Function, T>{.a = {values[gate]},
                                             .b = {values[other]},
                                             .d_y = {d_y},
                                             .d_a = {d_values[gate]},
                                             .d_b = {d_values[other]},
                                             .count = walk.batch * Output::size});
    }
  };
};

}  // namespace detail

/// The outputs of the branches in their order, concatenated along an axis; axis 0 is the outermost of a sample.
///   all other extents are equal; exact; saves nothing
template <std::size_t axis>
struct ConcatAlong final {
  static constexpr const char* name = "concat";
  template <class First, class... Others>
  struct of {
    using T = typename First::Element;
    static constexpr std::size_t extent = (First::Shape::extent(axis) + ... + Others::Shape::extent(axis));
    using Output = Value<T, typename detail::with_extent<typename First::Shape, axis, extent>::type>;
    static_assert(((First::Shape::rank == Others::Shape::rank) && ...), "regimen: Concat joins outputs of one rank");
    static constexpr bool reads_values = false;
    static constexpr std::size_t count = 1 + sizeof...(Others);
    static constexpr std::array<std::size_t, count> columns{First::Shape::size_from(axis),
                                                            Others::Shape::size_from(axis)...};
    static constexpr std::size_t row = Output::Shape::size_from(axis);

    static constexpr void forward(auto& walk, const std::array<std::size_t, count>& values, std::size_t y) {
      for (std::size_t i = 0; i < count; ++i) {
        copy(walk, {values[i], columns[i]}, {y, row}, columns[i]);
        y += columns[i] * sizeof(T);
      }
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const std::array<std::size_t, count>&,
                                   const std::array<std::size_t, count>& d_values) {
      for (std::size_t i = 0; i < count; ++i) {
        if (d_values[i] != View<T>::absent) copy(walk, {d_y, row}, {d_values[i], columns[i]}, columns[i]);
        d_y += columns[i] * sizeof(T);
      }
    }

   private:
    static constexpr void copy(auto& walk, detail::RowsAt from, detail::RowsAt to, std::size_t width) {
      walk.run(detail::copy_of_rows<T>(from, to, walk.batch * Output::size / row, width));
    }
  };
};

/// y = the last value. The other values are not part of y: their gradients come only from layers that read their named
/// values. For an encoder and its decoder:
///
///   Fork<Last, Sequential<Part<0>, ..., Keep<Encoded>>, Sequential<Part<1>, ..., CrossAttention<Encoded, Heads<8>>>>
///
///   values of any shapes; exact
/// cost     a copy of the last value; for the other values a gradient of zeros
struct Last final {
  static constexpr const char* name = "last";
  template <class First, class... Others>
  struct of {
    static constexpr std::size_t count = 1 + sizeof...(Others);
    using Output = boost::mp11::mp_back<boost::mp11::mp_list<First, Others...>>;
    using T = typename Output::Element;
    static constexpr bool reads_values = false;
    static constexpr std::array<std::size_t, count> sizes{First::size, Others::size...};

    static constexpr void forward(auto& walk, const std::array<std::size_t, count>& values, std::size_t y) {
      walk.run(op::Copy<T>{{values[count - 1]}, {y}, walk.batch * Output::size});
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const std::array<std::size_t, count>&,
                                   const std::array<std::size_t, count>& d_values) {
      for (std::size_t i = 0; i < count; ++i) {
        if (d_values[i] == View<T>::absent) continue;
        if (i + 1 < count) walk.run(op::Zero<T>{{d_values[i]}, walk.batch * sizes[i]});
        else walk.run(op::Copy<T>{{d_y}, {d_values[i]}, walk.batch * sizes[i]});
      }
    }
  };
};

namespace detail {
/// Last in incremental decoding: computes the other values only at the first position, since they do not change.
struct LastOn final {
  static constexpr const char* name = Last::name;
  static constexpr bool is_last_alone(const auto& walk) { return walk.position > 0; }
  template <class First, class... Others>
  using of = Last::of<First, Others...>;
};
}  // namespace detail

/// The outputs of a model of several outputs. Only as the last layer; Loss<SumOf<...>> has one loss for each branch.
///
///   Model<..., Fork<Outputs, Linear<10>, Sequential<Linear<64>, Relu, Linear<1>>>>
///
///   values of any shapes, in the type of final outputs, rounded to this type once. predict gives all outputs of a
///   sample, then all outputs of the next sample: output i of sample s begins at s · output_size + the sizes of the
///   outputs before i
///
/// cost     a copy of each output, and of its gradient
struct Outputs final {
  static constexpr const char* name = "outputs";
  template <class First, class... Others>
  struct of {
    using T = typename First::Element;
    using Output = Value<T, JoinedShapes<typename First::Shape, typename Others::Shape...>>;
    static constexpr bool reads_values = false;
    static constexpr std::size_t count = 1 + sizeof...(Others);

    static constexpr void forward(auto& walk, const std::array<std::size_t, count>& values, std::size_t y) {
      for (std::size_t i = 0; i < count; y += bytes(walk, i++)) copy(walk, values[i], y, i);
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const std::array<std::size_t, count>&,
                                   const std::array<std::size_t, count>& d_values) {
      for (std::size_t i = 0; i < count; d_y += bytes(walk, i++))
        if (d_values[i] != View<T>::absent) copy(walk, d_y, d_values[i], i);
    }

   private:
    static constexpr std::size_t bytes(const auto& walk, std::size_t i) {
      return walk.batch * Output::Shape::sizes[i] * sizeof(T);
    }
    static constexpr void copy(auto& walk, std::size_t from, std::size_t to, std::size_t i) {
      const std::size_t size = Output::Shape::sizes[i];
      walk.run(detail::copy_of_rows<T>({from, size}, {to, size}, walk.batch, size));
    }
  };
};

/// ConcatAlong the innermost axis: channels.
struct Concat final {
  static constexpr const char* name = "concat";
  static constexpr bool couples_positions = false;
  template <class First>
  static constexpr std::size_t axis = First::Shape::rank - 1;
  template <class First, class... Others>
  using of = typename ConcatAlong<axis<First>>::template of<First, Others...>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
