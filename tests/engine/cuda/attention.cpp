// Attention in pieces, composed of the library's products: on the emulated device it is the definition.
#include "../../kernel/attention_definition.hpp"

#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/emulated/device.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

using ::test::Arena;

/// Composed, in pieces of so few bytes.
template <std::size_t Bytes>
struct InPieces {
  static constexpr std::size_t score_bytes = Bytes;
};

template <class Form>
using EngineOf =
    cuda::Engine<emulated::Runtime, detail::policies_by_axis<Attention<Form>, Convolution<>, Communicator<Solo>>>;

/// The arena after the operation on the device.
template <class Form, class Operation>
std::vector<std::byte> on_the_device(const Arena& arena, const Operation& operation, const emulated::Options& options) {
  using Engine = EngineOf<Form>;
  emulated::Runtime::defaults = options;
  const std::size_t bytes = regimen::TensorArena::align(arena.bytes().size());
  Engine engine({.bytes = bytes + Engine::Traits::scratch(operation)});
  emulated::Runtime::defaults = {};
  std::vector<std::byte> result = arena.bytes();
  engine.upload(0, result).wait();
  engine.run(operation, bytes);
  engine.download(0, result).wait();
  return result;
}

template <class T>
Values get(const std::vector<std::byte>& bytes, View<T> view, std::size_t count) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes.data() + view.offset + i * sizeof(T), sizeof value);
    result[i] = number(value);
  }
  return result;
}

/// As for the kernel that stores no scores (`roundings`), and: weights w and d_scores are rounded to T, which moves y
/// by ε/2 · Σ w |v|, where Σ w <= keep and |v| <= 1, and a gradient by ε/2 of what its terms add up to; Σ y · d_y is
/// taken from the weights, whose error it has once more. Half a subnormal of fp16 for each of T weights.
/// cuDNN's form takes Σ y · d_y from the y that it gave, whose error is at most D times that of an element, which is
/// half of what near_y allows in units of `sizes`.
template <class T, class Form>
void is_its_definition(const Case& c) {
  CAPTURE(c.shape.batch, c.shape.length, c.shape.heads, c.shape.width, c.shape.causal, c.threshold, name_of<T>);
  constexpr bool narrow = sizeof(T) < sizeof(statistic_t<T>);
  const double u = epsilon_of<statistic_t<T>> / 2, error = roundings(c.shape) * u,
               rounded_weights = narrow ? epsilon_of<T> / 2 : 0, keep = 65536.0 / (65536.0 - c.threshold),
               subnormal = std::is_same_v<T, fp16> ? double(c.shape.length * c.shape.width) * 0x1p-25 : 0;
  const Values qkv = values<T>(c.tokens() * 3 * c.channels()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition all(c, qkv, d_y, {});
  const auto near_y = [&](std::size_t i) {
    return (error + rounded_weights) * keep + subnormal + 1.001 * rounding_of<T>(all.y[i]);
  };
  const auto near_d = [&](std::size_t i) {
    const double of_stored_y = std::is_same_v<Form, Cudnn> ? error / 2 + 1.001 * rounded_weights : 0;
    return (2 * error + rounded_weights + of_stored_y) * all.sizes[i] + subnormal +
           1.001 * rounding_of<T>(all.d_qkv[i]);
  };
  [[maybe_unused]] const auto near_sum = [&](std::size_t i) { return error + u * std::fabs(all.log_sum[i]); };
  for (const emulated::Options& options :
       {emulated::Options{.seed = 1}, emulated::Options{.seed = 5, .fibers = true}}) {
    CAPTURE(options.fibers);
    Arena arena(c.room()), host(c.room());
    const auto o = forward<T>(c)(arena);
    compute(o, (forward<T>(c)(host), host.memory_for(o)));
    const std::vector<std::byte> after = on_the_device<Form>(arena, o, options);
    CHECK(after == on_the_device<Form>(arena, o, {.seed = options.seed + 7, .fibers = options.fibers}));
    const Values y = get(after, o.y, all.y.size());
    CHECK(misses(y, all.y, near_y) == 0);
    if constexpr (std::is_same_v<Form, Cudnn>)
      CHECK(misses(get(after, View<float>{o.softmax.offset}, all.log_sum.size()), all.log_sum, near_sum) == 0);
    if (!c.keeps) CHECK(misses(y, host.get(o.y, y.size()), [&](std::size_t i) { return 2 * near_y(i); }) == 0);

    Arena back(c.room()), host_back(c.room());
    Values kept = all.softmax;
    if constexpr (std::is_same_v<Form, Cudnn>) std::copy(all.log_sum.begin(), all.log_sum.end(), kept.begin());
    const auto b = backward<T>(c, y, kept)(back);
    compute(b, (backward<T>(c, y, all.softmax)(host_back), host_back.memory_for(b)));
    const Values d_qkv = get(on_the_device<Form>(back, b, options), b.d_qkv, qkv.size());
    CHECK(misses(d_qkv, all.d_qkv, near_d) == 0);
    if (!c.keeps)
      CHECK(misses(d_qkv, host_back.get(b.d_qkv, qkv.size()), [&](std::size_t i) { return 2 * near_d(i); }) == 0);
  }
}

/// The same of windows, of what distances add, of keys of another text, and of keys that end. A gradient of distances sums
/// rounded d_scores.
template <class T, class Form>
void more_is_its_definition(const Case& c) {
  using S = statistic_t<T>;
  const op::AttentionShape& s = c.shape;
  CAPTURE(s.batch, s.length, s.key_length, s.window, s.causal, c.bias.size(), c.lengths, c.threshold, name_of<T>);
  const double u = epsilon_of<S> / 2, error = (roundings(s) + 4 * (std::sqrt(double(s.width)) + 1)) * u,
               rounded_weights = sizeof(T) < sizeof(S) ? epsilon_of<T> / 2 : 0,
               keep = 65536.0 / (65536.0 - c.threshold);
  const Values qkv = values<T>(c.qkv()), d_y = values<T>(c.tokens() * c.channels(), 1, 2);
  const Definition all(c, qkv, d_y, {});
  const std::size_t room = c.room() + (c.bias.size() + all.d_bias.size() + s.batch) * sizeof(double) + 512;
  const auto middle = qkv.begin() + std::ptrdiff_t(c.tokens() * c.channels());
  const Values q(qkv.begin(), middle), kv(middle, qkv.end());
  const auto on_device = [&](Arena& arena, const auto& o) {
    const auto ended = [&](const auto& operation) {
      return on_the_device<Form>(arena, operation, {.seed = 3, .fibers = true});
    };
    if (c.lengths.empty()) return ended(o);
    const auto lengths = arena.room<std::int32_t>(s.batch);
    std::copy(c.lengths.begin(), c.lengths.end(), arena.memory()(lengths));
    return ended(op::WithinLengths<std::remove_cvref_t<decltype(o)>>{o, lengths});
  };
  const auto is_y = [&](const std::vector<std::byte>& after, const auto& o) {
    CHECK(misses(get(after, o.y, all.y.size()), all.y, [&](std::size_t i) {
            return (error + rounded_weights) * keep + 1.001 * rounding_of<T>(all.y[i]);
          }) == 0);
  };
  const auto is_d = [&](const Values& found) {
    CHECK(misses(found, all.d_qkv, [&](std::size_t i) {
            return (2 * error + rounded_weights) * all.sizes[i] + 1.001 * rounding_of<T>(all.d_qkv[i]);
          }) == 0);
  };
  Arena arena(room), back(room);
  if (s.crosses()) {
    op::CrossAttention<T> o{};
    o.q = arena.put<T>(q), o.kv = arena.put<T>(kv), o.y = arena.room<T>(q.size());
    o.softmax = arena.room<op::SoftmaxRow<S>>(c.rows()), o.shape = s,
    o.drop = arena.drop(c.threshold, stream, random_numbers);
    is_y(on_device(arena, o), o);
    op::CrossAttentionBackward<T> b{};
    b.q = back.put<T>(q), b.kv = back.put<T>(kv), b.y = back.put<T>(all.y), b.d_y = back.put<T>(d_y);
    b.d_q = back.room<T>(q.size()), b.d_kv = back.room<T>(kv.size()), b.softmax = put_softmax<S>(back, all.softmax);
    b.row_dot = back.room<S>(c.rows()), b.shape = s, b.drop = back.drop(c.threshold, stream, random_numbers);
    const std::vector<std::byte> after = on_device(back, b);
    Values found = get(after, b.d_q, q.size());
    const Values more = get(after, b.d_kv, kv.size());
    found.insert(found.end(), more.begin(), more.end());
    return is_d(found);
  }
  const auto o = forward<T>(c)(arena);
  const auto b = backward<T>(c, all.y, all.softmax)(back);
  std::vector<std::byte> after;
  if (!c.bias.empty()) {
    is_y(on_device(arena, op::BiasedAttention<T>{o, arena.put<S>(c.bias)}), o);
    const op::BiasedAttentionBackward<T> biased{b, back.put<S>(c.bias), back.room<S>(all.d_bias.size())};
    after = on_device(back, biased);
    CHECK(misses(get(after, biased.d_bias, all.d_bias.size()), all.d_bias,
                 [&](std::size_t i) { return (2 * error + rounded_weights) * all.bias_sizes[i]; }) == 0);
  } else if (s.window > 0) {
    is_y(on_the_device<Form>(arena, op::WindowAttention<T>{o}, {.seed = 3, .fibers = true}), o);
    after = on_the_device<Form>(back, op::WindowAttentionBackward<T>{b}, {.seed = 3, .fibers = true});
  } else {
    is_y(on_device(arena, o), o);
    after = on_device(back, b);
  }
  is_d(get(after, b.d_qkv, qkv.size()));
}
Case biased(Case c) {
  c.bias = values<float>(c.shape.heads * c.shape.distances(), 1, 3);
  return c;
}
Case ended(Case c, std::vector<std::int32_t> lengths) {
  c.lengths = std::move(lengths);
  return c;
}

}  // namespace

/// batch, length, heads, width, causal, key heads, keys of another text, window
TEMPLATE_TEST_CASE("composed attention has windows, biases, other texts and ends by definition", "", double, bf16) {
  using T = TestType;
  for (const std::uint32_t threshold : {0u, 6554u}) {
    more_is_its_definition<T, Composed>({{2, 17, 3, 8, true, 0, 0, 5}, threshold});
    more_is_its_definition<T, InPieces<900>>({{3, 24, 2, 6, true, 0, 0, 9}, threshold});
    for (const bool causal : {false, true})
      more_is_its_definition<T, Composed>(biased({{2, 16, 3, 5, causal}, threshold}));
    more_is_its_definition<T, InPieces<900>>(biased({{2, 11, 3, 4, true, 0, 0, 6}, threshold}));
    more_is_its_definition<T, Composed>({{2, 5, 3, 4, false, 0, 9}, threshold});
    more_is_its_definition<T, InPieces<900>>({{5, 12, 1, 6, false, 0, 8}, threshold});
    more_is_its_definition<T, Composed>(ended({{3, 9, 2, 5, false}, threshold}, {9, 4, 1}));
    more_is_its_definition<T, Composed>(ended(biased({{2, 8, 3, 4, false}, threshold}), {3, 8}));
    more_is_its_definition<T, Composed>(ended({{2, 5, 3, 4, false, 0, 9}, threshold}, {2, 8}));
  }
}

/// Lengths that are multiples of 8 and not, heads of 2, 16 and 40 bytes and more, more heads than samples and fewer.
TEMPLATE_TEST_CASE("composed attention and its gradient are their definition", "", double, float, bf16, fp16) {
  for (const bool causal : {false, true})
    for (const std::uint32_t threshold : {0u, 6554u}) {
      is_its_definition<TestType, Composed>({{1, 1, 1, 1, causal}, threshold});
      is_its_definition<TestType, Composed>({{2, 7, 3, 8, causal}, threshold});
      is_its_definition<TestType, Composed>({{4, 33, 2, 20, causal}, threshold});
      is_its_definition<TestType, Composed>({{3, 16, 2, 6, causal}, threshold});
      is_its_definition<TestType, Composed>({{5, 9, 1, 6, causal}, threshold});
    }
  is_its_definition<TestType, Composed>({{1, 150, 1, 3, true}, 0});
}
TEST_CASE("a head of any width") {
  is_its_definition<float, Composed>({{1, 2, 1, 2048, true}, 0});
  is_its_definition<bf16, Composed>({{2, 3, 2, 300, false}, 0});
}

/// The weights that the emulated library keeps in the call of these operations.
bool library_keeps(std::uint32_t threshold, std::size_t element) {
  const std::uint64_t hash = Philox::mix(Philox::mix(Philox::mix(random_numbers.seed, random_numbers.step), stream),
                                         random_numbers.first_sample);
  return emulated::keeps({static_cast<std::int64_t>(hash >> 1), 0}, threshold, element);
}

/// By the emulation of cuDNN, which checks types, widths, and addresses.
TEMPLATE_TEST_CASE("fused attention and its gradient are their definition", "", bf16, fp16) {
  for (const bool causal : {false, true}) {
    is_its_definition<TestType, Cudnn>({{4, 1, 1, 8, causal}, 0});
    is_its_definition<TestType, Cudnn>({{2, 7, 2, 24, causal}, 0});
    is_its_definition<TestType, Cudnn>({{1, 33, 4, 64, causal}, 0});
  }
}
/// Forward and backward see one mask: that of the seed which a kernel has written.
TEMPLATE_TEST_CASE("fused attention with dropout and its gradient are their definition under the library's mask", "",
                   bf16, fp16) {
  for (const bool causal : {false, true})
    for (const std::uint32_t threshold : {6554u, 32768u}) {
      const auto keeps = [threshold](std::size_t element) { return library_keeps(threshold, element); };
      is_its_definition<TestType, Cudnn>({{4, 3, 1, 8, causal}, threshold, keeps});
      is_its_definition<TestType, Cudnn>({{2, 7, 2, 24, causal}, threshold, keeps});
      is_its_definition<TestType, Cudnn>({{1, 33, 4, 64, causal}, threshold, keeps});
    }
}
TEST_CASE("seed and offset lie in scratch before the workspace") {
  using Traits = EngineOf<Cudnn>::Traits;
  op::Attention<bf16> o{};
  o.shape = {2, 7, 2, 24, true};
  const std::size_t without = Traits::scratch(o);
  o.drop.threshold = 1;
  CHECK(Traits::scratch(o) == without + 256);
  op::AttentionBackward<bf16> back{};
  back.shape = o.shape;
  const std::size_t back_without = Traits::scratch(back);
  back.drop.threshold = 1;
  CHECK(Traits::scratch(back) == back_without + 256);
}
/// Of n weights as many are dropped as a binomial of the rate gives, within six of its deviations: √(n r (1 − r)).
TEST_CASE("the library drops at the rate, other weights in each step, layer and micro-batch") {
  constexpr std::size_t n = 1 << 16;
  for (const std::uint32_t threshold : {1u, 6554u, 32768u, 65535u}) {
    const double rate = threshold / 65536.0;
    double dropped = 0;
    for (std::size_t i = 0; i < n; ++i) dropped += library_keeps(threshold, i) ? 0 : 1;
    CHECK(std::fabs(dropped - n * rate) <= 6 * std::sqrt(n * rate * (1 - rate)));
  }
  std::vector<std::int64_t> seeds;
  const auto seed_of = [](const op::Random& random, std::uint64_t layer) {
    ::test::Arena arena(1 << 12);
    const auto at = arena.room<op::Random>(1);
    *arena.memory()(at) = random;
    const auto to = arena.room<std::int64_t>(2);
    kernel::run_serial(kernel::Kernel<kernel::LibraryRandom>{{{6554, layer, at}, to}, {arena.memory().base}});
    CHECK(arena.memory()(to)[1] == 0);
    return arena.memory()(to)[0];
  };
  for (std::uint64_t seed = 1; seed < 3; ++seed)
    for (std::uint64_t step = 0; step < 4; ++step)
      for (std::uint64_t layer = 5; layer < 8; ++layer)
        for (std::uint64_t first = 0; first < 12; first += 4) seeds.push_back(seed_of({seed, step, first}, layer));
  CHECK(seed_of({1, 0, 0}, 5) == seeds.front());
  std::sort(seeds.begin(), seeds.end());
  CHECK(std::adjacent_find(seeds.begin(), seeds.end()) == seeds.end());
  CHECK(seeds.front() >= 0);
}
TEST_CASE("cuDNN refuses types, widths and addresses") {
  emulated::Runtime device({.memory = std::size_t{1} << 20});
  const cuda::FusedAttention good{.batch = 1, .length = 2, .heads = 1, .width = 8};
  const auto refuses = [&](auto change, const char* words) {
    cuda::FusedAttention attention = good;
    change(attention);
    CHECK_THAT(::test::error_of([&] { (void)device.make_attention(attention); }), Catch::Contains(words));
  };
  refuses([](auto& a) { a.type = ElementType::float32; }, "bf16 or fp16");
  refuses([](auto& a) { a.width = 12; }, "heads of a multiple of 8 channels");
  refuses([](auto& a) { a.width = 264; }, "heads of a multiple of 8 channels");
  refuses([](auto& a) { a.length = 0; }, "tensors with elements");
  refuses([](auto& a) { a.threshold = 65536; }, "a rate below 1");
  const auto queue = device.make_stream();
  std::byte* const at = device.allocate(1024, "tensors");
  const auto made = device.make_attention(good);
  const cuda::FusedTensors tensors{.qkv = at, .y = at + 256, .log_sum = at + 512};
  device.attend(made, tensors, at + 768, queue);
  cuda::FusedAttention drops = good;
  drops.threshold = 6554;
  CHECK_THAT(::test::error_of([&] { device.attend(device.make_attention(drops), tensors, at + 768, queue); }),
             Catch::Contains("cuDNN's seed and offset"));
  cuda::FusedTensors shifted = tensors;
  shifted.y += 8;
  CHECK_THAT(::test::error_of([&] { device.attend(made, shifted, at + 768, queue); }),
             Catch::Contains("a multiple of 16 bytes"));
  shifted.y = at + 1024 - 16;
  CHECK_THAT(::test::error_of([&] { device.attend(made, shifted, at + 768, queue); }), Catch::Contains("cuDNN's y"));
}

/// Pieces of one head, of two and of three, the last of which is shorter, of heads and of samples.
TEMPLATE_TEST_CASE("pieces change no bit", "", double, bf16) {
  using T = TestType;
  for (const Case& c : {Case{{2, 7, 5, 4, true}, 6554}, Case{{5, 7, 2, 4, true}, 6554}, Case{{3, 7, 3, 4, false}, 0}}) {
    constexpr std::size_t of_a_head = 7 * 7 * (sizeof(T) == 8 ? 8 : 6);
    ::test::Arena arena(c.room());
    const auto o = forward<T>(c)(arena);
    const auto whole = on_the_device<Composed>(arena, o, {});
    CHECK(whole == on_the_device<InPieces<1>>(arena, o, {}));
    CHECK(whole == on_the_device<InPieces<2 * of_a_head>>(arena, o, {}));
    CHECK(whole == on_the_device<InPieces<4 * of_a_head - 1>>(arena, o, {}));
    ::test::Arena back(c.room());
    const auto b = backward<T>(c, values<T>(c.tokens() * c.channels()), Values(c.rows(), 2.0))(back);
    const auto gradient = on_the_device<Composed>(back, b, {});
    CHECK(gradient == on_the_device<InPieces<1>>(back, b, {}));
    CHECK(gradient == on_the_device<InPieces<2 * 2 * of_a_head>>(back, b, {}));
    CHECK(gradient == on_the_device<InPieces<2 * 4 * of_a_head - 1>>(back, b, {}));
  }
}

namespace {
template <class Operation>
constexpr Operation operation_of(const op::AttentionShape& shape) {
  Operation operation{};
  operation.shape = shape;
  return operation;
}
constexpr auto small = operation_of<op::Attention<bf16>>({16, 1024, 12, 64, true});
template <class T>
constexpr auto back = operation_of<op::AttentionBackward<T>>({8, 1024, 12, 64, true});
constexpr auto large = operation_of<op::AttentionBackward<bf16>>({8, 8192, 12, 64, true});
}  // namespace

// GPT-2's heads in bf16: scores in fp32 and weights in bf16, of 16 samples and of 12 heads; one head if it is too
// large.
static_assert(cuda::piece_of(small, 256_MiB).heads == 16 && cuda::piece_of(small, 256_MiB).bytes == 6 * 16_MiB);
static_assert(cuda::piece_of(back<bf16>, 256_MiB).bytes == 12 * 12_MiB);
static_assert(cuda::piece_of(back<fp32>, 256_MiB).bytes == 8 * 12_MiB);
static_assert(cuda::piece_of(large, 256_MiB).heads == 1 && cuda::piece_of(large, 256_MiB).bytes == 12 * 64_MiB);
static_assert(EngineOf<Composed>::Traits::scratch(small) == 6 * 16_MiB + emulated::Runtime::workspace);
static_assert(EngineOf<Tiled>::Traits::scratch(small) == 0);
static_assert(EngineOf<Cudnn>::Traits::scratch(small) == emulated::Runtime::workspace);
static_assert(EngineOf<Cudnn>::Traits::scratch(back<bf16>) ==
              emulated::Runtime::workspace + 8 * 12 * 1024 * 1024 * sizeof(bf16));
static_assert(std::is_same_v<EngineOf<OfDevice>::Traits::attention, Composed>);
// By default cuDNN's, where it takes the operation and no weights are dropped.
template <class Operation>
constexpr bool is_fused_by_default(Operation o, std::uint32_t threshold = 0) {
  o.drop.threshold = threshold;
  return EngineOf<OfDevice>::Traits::is_fused(o) && !EngineOf<Composed>::Traits::is_fused(o);
}
static_assert(is_fused_by_default(small) && is_fused_by_default(back<fp16>) && !is_fused_by_default(small, 6554));
static_assert(!is_fused_by_default(back<fp32>));
static_assert(!is_fused_by_default(operation_of<op::Attention<bf16>>({16, 1024, 12, 60, true})));
static_assert(EngineOf<OfDevice>::Traits::scratch(small) == EngineOf<Cudnn>::Traits::scratch(small));
static_assert(EngineOf<OfDevice>::Traits::scratch(back<fp32>) == EngineOf<Composed>::Traits::scratch(back<fp32>));
// SPDX-License-Identifier: Apache-2.0
