// Activations as epilogues of the emulated library's products, and what it refuses of them.
#include <regimen/engine/cuda/product.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/engine/emulated/runtime.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace regimen;
using cuda::Epilogue;
using emulated::Runtime;

namespace {

using test::refuses;

using Gelu = activation::GeluTanh;
constexpr std::size_t m = 3, n = 8, k = 2;

/// Tensors at multiples of 1,024 bytes, of the same quarters as many times.
struct Library {
  static constexpr std::size_t a_at = 0, b_at = 1024, c_at = 2048, bias_at = 3072, aux_at = 4096, bytes = 5120;
  Runtime device{{.seed = 1, .memory = std::size_t{1} << 26}};
  Runtime::Stream stream = device.make_stream();
  Runtime::Event done = device.make_event();
  std::byte* all = device.allocate(bytes, "all");
  std::byte* workspace = device.allocate(Runtime::workspace, "workspace");
  std::byte* host = device.allocate_pinned(bytes, "host");

  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(host + offset);
  }
  template <class T>
  void fill() {
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i)
      at<T>(0)[i] = static_cast<T>(static_cast<float>(i * 7 % 17) / 4 - 2);
    device.upload(all, host, bytes, stream);
  }
  void run(const cuda::ProductDescriptor& descriptor, const std::byte* bias, std::byte* aux,
           const std::byte* c = nullptr) {
    device.multiply(device.make_product(descriptor),
                    {.a = all + b_at, .b = all + a_at, .d = all + c_at, .bias = bias, .aux = aux, .c = c},
                    c == nullptr ? 0 : 1, workspace, stream);
    device.download(host, all, bytes, stream);
    device.record(done, stream);
    device.synchronize(done);
  }
};

template <class T>
double sum_of(Library& library, std::size_t i, std::size_t j) {
  double sum = 0;  // of products of quarters: exact
  for (std::size_t l = 0; l < k; ++l)
    sum += double(library.at<T>(Library::a_at)[i * k + l]) * double(library.at<T>(Library::b_at)[j * k + l]);
  return sum;
}
template <class T>
op::Product<T, T, T> product() {
  return {
      .a = {Library::a_at}, .b = {Library::b_at}, .c = {Library::c_at}, .m = m, .n = n, .k = k, .transpose_b = true};
}

/// y = gelu(x Wt + bias); the sum goes to aux, rounded once, or nowhere. fp32 rounds some operations of tanh's
/// argument, each half of `epsilon`, of numbers that are at most 20: 16 of them.
template <class T>
void applies_gelu(double epsilon, bool saves) {
  Library library;
  library.fill<T>();
  std::vector<double> sums;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      sums.push_back(sum_of<T>(library, i, j) + double(library.at<T>(Library::bias_at)[j]));
  op::ProductEpilogue<T, T, T, Gelu> o{.product = product<T>(), .bias = {Library::bias_at}};
  if (saves) o.x = {Library::aux_at};
  const std::vector<T> before(library.at<T>(Library::aux_at), library.at<T>(Library::aux_at) + m * n);
  library.run(cuda::describe(o, Runtime::workspace), library.all + Library::bias_at,
              saves ? library.all + Library::aux_at : nullptr);
  for (std::size_t i = 0; i < m * n; ++i) {
    const double y = double(library.at<T>(Library::c_at)[i]), x = double(library.at<T>(Library::aux_at)[i]);
    CHECK(std::fabs(y - Gelu::value(sums[i])) <= epsilon * std::fabs(Gelu::value(sums[i])) + 16 * 20 * 0x1p-24);
    CHECK(x == double(saves ? static_cast<T>(static_cast<float>(sums[i])) : before[i]));
  }
}

/// d_x = (d_y W) gelu'(aux), and aux stays.
template <class T>
void multiplies_by_the_derivative(double epsilon) {
  Library library;
  library.fill<T>();
  std::vector<double> expected;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      expected.push_back(sum_of<T>(library, i, j) *
                         Gelu::derivative(double(library.at<T>(Library::aux_at)[i * n + j])));
  const op::ProductEpilogue<T, T, T, Gelu, true> o{.product = product<T>(), .x = {Library::aux_at}};
  library.run(cuda::describe(o, Runtime::workspace), nullptr, library.all + Library::aux_at);
  for (std::size_t i = 0; i < m * n; ++i)
    CHECK(std::fabs(double(library.at<T>(Library::c_at)[i]) - expected[i]) <=
          epsilon * std::fabs(expected[i]) + 16 * 20 * 0x1p-24);
}

/// y = x Wt + onto, or + bias, too: rounded once. All numbers are quarters, so that the sums are exact, and onto stays.
template <class T>
void adds_onto(double epsilon, bool with_bias) {
  Library library;
  library.fill<T>();
  op::ProductSum<T, T, T> o{.product = product<T>(), .onto = {Library::aux_at}};
  if (with_bias) o.bias = {Library::bias_at};
  const std::vector<T> before(library.at<T>(Library::aux_at), library.at<T>(Library::aux_at) + m * n);
  library.run(cuda::describe(o, Runtime::workspace), with_bias ? library.all + Library::bias_at : nullptr, nullptr,
              library.all + Library::aux_at);
  for (std::size_t i = 0; i < m * n; ++i) {
    const double sum = sum_of<T>(library, i / n, i % n) + double(before[i]) +
                       (with_bias ? double(library.at<T>(Library::bias_at)[i % n]) : 0);
    CHECK(std::fabs(double(library.at<T>(Library::c_at)[i]) - sum) <= epsilon * std::fabs(sum));
    CHECK(double(library.at<T>(Library::aux_at)[i]) == double(before[i]));
  }
}

}  // namespace

TEST_CASE("the library adds a matrix that lies elsewhere than the result, and the bias, before it rounds") {
  for (const bool with_bias : {true, false}) {
    adds_onto<fp32>(0, with_bias);
    adds_onto<bf16>(0x1p-8, with_bias);
    adds_onto<fp16>(0x1p-11, with_bias);
  }
  adds_onto<fp64>(0, false);
}

TEST_CASE("the library refuses a sum that does not fit") {
  Library library;
  library.fill<float>();
  const op::ProductSum<float, float, float> o{.product = product<float>(), .onto = {Library::aux_at}};
  const cuda::ProductDescriptor good = cuda::describe(o, Runtime::workspace);
  CHECK(good.epilogue == Epilogue::none);
  const std::byte* const onto = library.all + Library::aux_at;
  const std::byte* const d = library.all + Library::c_at;
  constexpr std::size_t bytes = m * n * sizeof(float);
  library.run(good, nullptr, nullptr, onto);
  refuses([&] { library.run(good, nullptr, nullptr); },
          "a C elsewhere than D where the descriptor has one, only there");
  refuses([&] { library.run(cuda::describe(product<float>(), Runtime::workspace), nullptr, nullptr, onto); },
          "a C elsewhere than D where the descriptor has one, only there");
  refuses([&] { library.run(good, nullptr, nullptr, onto + 16); }, "the library's C at a multiple of 256 bytes");
  refuses([&] { library.run(good, nullptr, nullptr, library.all + Library::bytes - 32); }, "the library's C");
  cuda::ProductDescriptor anywhere = good;
  anywhere.c_alignment = anywhere.d.alignment = 4;
  for (const std::byte* c : {d, d + bytes - 4, d - bytes + 4})
    refuses([&] { library.run(anywhere, nullptr, nullptr, c); }, "a C that is D, or has no element in common with it");
  library.run(anywhere, nullptr, nullptr, d + bytes);
  library.run(anywhere, nullptr, nullptr, d - bytes);
  refuses(
      [&] {
        library.device.multiply(library.device.make_product(good),
                                {.a = library.all, .b = library.all, .d = library.all + Library::c_at, .c = onto}, 0,
                                library.workspace, library.stream);
      },
      "a C elsewhere than D with a factor beta");
  CHECK(cuda::describe(op::ProductSum<float, float, float>{.product = product<float>(), .onto = {16}}, 0).c_alignment ==
        16);
}

TEST_CASE("the library applies gelu to sums before it rounds them, and writes the sums where backward needs them") {
  for (const bool saves : {true, false}) {
    applies_gelu<fp32>(0, saves);
    applies_gelu<bf16>(0x1p-8, saves);
    applies_gelu<fp16>(0x1p-11, saves);
  }
}

TEST_CASE("the library multiplies sums by the derivative of gelu before it rounds them") {
  multiplies_by_the_derivative<fp32>(0);
  multiplies_by_the_derivative<bf16>(0x1p-8);
  multiplies_by_the_derivative<fp16>(0x1p-11);
}

TEST_CASE("the library refuses epilogues whose tensors do not fit") {
  Library library;
  library.fill<float>();
  op::ProductEpilogue<float, float, float, Gelu> o{
      .product = product<float>(), .bias = {Library::bias_at}, .x = {Library::aux_at}};
  const cuda::ProductDescriptor good = cuda::describe(o, Runtime::workspace);
  CHECK(good.epilogue == Epilogue::gelu_aux_bias);
  CHECK(good.aux_leading == n);
  (void)library.device.make_product(good);
  const auto bad = [&](auto change, const char* words) {
    cuda::ProductDescriptor descriptor = good;
    change(descriptor);
    refuses([&] { (void)library.device.make_product(descriptor); }, words);
  };
  bad([](auto& d) { d.aux_leading = 12; }, "a leading dimension of aux that is a multiple of 8, of at least 8");
  bad([](auto& d) { d.aux_leading = 0; }, "a leading dimension of aux that is a multiple of 8, of at least 8");
  bad([](auto& d) { d.aux_alignment = 8; }, "aux at a multiple of 16 bytes");
  bad([](auto& d) { d.aux_alignment = 0; }, "aux where the epilogue has it");
  bad([](auto& d) { d.epilogue = Epilogue::gelu_bias; }, "aux where the epilogue has it");
  bad([](auto& d) { d.bias_alignment = 0; }, "a bias where the epilogue reads one");
  bad([](auto& d) { d.epilogue = Epilogue::dgelu; }, "a bias where the epilogue reads one");
  bad([](auto& d) { d.epilogue = Epilogue::none; }, "neither bias nor aux without an epilogue");
  bad([](auto& d) { d.d.type = ElementType::float32, d.a.type = d.b.type = ElementType::bfloat16; },
      "an epilogue with factors of D's type");
  bad([](auto& d) { d.a.type = d.b.type = d.d.type = ElementType::float64, d.wide = true; },
      "an epilogue with sums in fp32");
  bad(
      [](auto& d) {
        d.a.count = d.b.count = d.d.count = 2;
        d.d.stride = m * n;
      },
      "an epilogue of one product");
  std::byte* const bias = library.all + Library::bias_at;
  std::byte* const aux = library.all + Library::aux_at;
  library.run(good, bias, aux);
  refuses([&] { library.run(good, nullptr, aux); }, "the library's bias");
  refuses([&] { library.run(good, bias, nullptr); }, "the library's aux");
  refuses([&] { library.run(good, bias, aux + 16); }, "aux at a multiple of 256 bytes");
  refuses([&] { library.run(good, bias, library.all + Library::bytes - 32); }, "the library's aux");
}

TEST_CASE("what an activation's epilogue demands decides whether there is one") {
  using E = cuda::Epilogues;
  static_assert(E::has<activation::Identity, bf16>(5) && E::has<Gelu, bf16>(64) && E::has<Gelu, fp32>(8));
  static_assert(!E::has<Gelu, fp32>(12) && !E::has_backward<Gelu, bf16>(4) && E::has_backward<Gelu, fp16>(24));
  static_assert(!E::has<activation::Identity, fp64>(8) && !E::has<Gelu, fp64>(8) && !E::has_backward<Gelu, fp64>(8));
  static_assert(!E::has<activation::GeluErf, fp32>(8) && !E::has<activation::Silu, bf16>(8));
  // A NaN must not become 0, and max(x, 0) does not say.
  static_assert(!E::has<activation::Relu, bf16>(8) && !E::has_backward<activation::Relu, bf16>(8));
  static_assert(!op::NoEpilogues::has<activation::Identity, fp32>(8));
  CHECK(std::isnan(Gelu::value(std::numeric_limits<float>::quiet_NaN())));
}
// SPDX-License-Identifier: Apache-2.0
