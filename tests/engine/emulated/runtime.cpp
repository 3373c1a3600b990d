// The emulated device is late, unfair and strict: what a program must not rely on fails here, and what CUDA forbids is
// an error.
#include <regimen/engine/cuda/product.hpp>
#include <regimen/engine/emulated/runtime.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace regimen;
using emulated::Runtime;

namespace {

using test::refuses;

constexpr std::uint64_t seeds = 20;

/// y[i] = 2 x[i] + *c
struct Axpy final {
  const float *x, *c;
  float* y;
  std::size_t count;
  static constexpr unsigned threads = 64;
  unsigned blocks() const { return static_cast<unsigned>((count + threads - 1) / threads); }
  template <class Block>
  void operator()(const Block& block) const {
    kernel::for_pieces(block, count, [&](std::size_t i) { y[i] = 2 * x[i] + *c; });
  }
};
cuda::Grid grid_of(const Axpy& kernel) { return {.blocks = kernel.blocks(), .threads = Axpy::threads}; }

std::byte* bytes(float* at) { return reinterpret_cast<std::byte*>(at); }

/// A device with two streams, pinned memory of the host, and three arrays.
struct Bench {
  static constexpr std::size_t count = 100, size = count * sizeof(float);
  Runtime device;
  Runtime::Stream compute = device.make_stream(), copies = device.make_stream();
  Runtime::Event copied = device.make_event(), computed = device.make_event(), returned = device.make_event();
  float* x = reinterpret_cast<float*>(device.allocate(size, "x"));
  float* y = reinterpret_cast<float*>(device.allocate(size, "y"));
  float* c = reinterpret_cast<float*>(device.allocate(sizeof(float), "c"));
  float* host = reinterpret_cast<float*>(device.allocate_pinned(2 * size + sizeof(float), "host"));
  float *back = host + count, *constant = back + count;

  explicit Bench(std::uint64_t seed, bool fibers = false)
      : device({.seed = seed, .fibers = fibers, .memory = std::size_t{1} << 24}) {
    device.prepare(Axpy{x, c, y, count}, grid_of({x, c, y, count}));
    std::memset(host, 0, 2 * size + sizeof(float));
    *constant = 1;
    device.upload(bytes(c), bytes(constant), sizeof(float), copies);
    device.record(copied, copies);
    device.synchronize(copied);
  }
  void run(const Axpy& kernel, Runtime::Stream stream) { device.launch(kernel, grid_of(kernel), stream); }
  void wait_for(Runtime::Stream stream) {
    device.record(returned, stream);
    device.synchronize(returned);
  }
};

/// Copies 1, 2, 3, ... there on one stream, computes on another, copies back on the first. Which waits are there?
std::vector<float> pipeline(std::uint64_t seed, bool waits_for_copy, bool waits_for_compute) {
  Bench b(seed);
  for (std::size_t i = 0; i < Bench::count; ++i) b.host[i] = static_cast<float>(i);
  b.device.upload(bytes(b.x), bytes(b.host), Bench::size, b.copies);
  b.device.record(b.copied, b.copies);
  if (waits_for_copy) b.device.wait(b.compute, b.copied);
  b.run({b.x, b.c, b.y, Bench::count}, b.compute);
  b.device.record(b.computed, b.compute);
  if (waits_for_compute) b.device.wait(b.copies, b.computed);
  b.device.download(bytes(b.back), bytes(b.y), Bench::size, b.copies);
  b.wait_for(b.copies);
  return {b.back, b.back + Bench::count};
}

std::vector<float> expected() {
  std::vector<float> y(Bench::count);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2 * static_cast<float>(i) + 1;
  return y;
}

template <class Body>
bool dies(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(number, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    body();
    _exit(0);
  }
  int status = 0;
  return test::reap(child, &status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

}  // namespace

TEST_CASE("work in the order of streams and events gives one result, whatever the device does first") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) CHECK(pipeline(seed, true, true) == expected());
}

TEST_CASE("an event that is left out shows in some order") {
  std::size_t copy = 0, compute = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    copy += pipeline(seed, false, true) != expected();
    compute += pipeline(seed, true, false) != expected();
  }
  CHECK(copy > 0);
  CHECK(compute > 0);
}

// A quarter of the seeds gives each temper. An eager device copies at once; a lazy one copies when the host waits, so
// that it always finds the later number; the two others copy at once in one of four calls, by chance.
TEST_CASE("pinned memory is read when the copy runs, not when it is asked for") {
  std::array<std::size_t, 4> overwritten{};  // by temper
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Bench b(seed);
    b.host[0] = 1;
    b.device.upload(bytes(b.x), bytes(b.host), sizeof(float), b.copies);
    b.host[0] = 2;
    b.device.download(bytes(b.back), bytes(b.x), sizeof(float), b.copies);
    const float early = b.back[0];
    b.wait_for(b.copies);
    overwritten[seed % 4] += b.back[0] == 2 || early != b.back[0];
  }
  const auto of = [&](emulated::Temper temper) { return overwritten[static_cast<std::size_t>(temper)]; };
  CHECK(of(emulated::Temper::eager) == 0);
  CHECK(of(emulated::Temper::lazy) == seeds / 4);
  CHECK(of(emulated::Temper::mixed) + of(emulated::Temper::unfair) > 0);
}

TEST_CASE("the host cannot touch the device's memory, nor what was released") {
  Bench b(1);
  CHECK(dies([&] { b.x[0] = 1; }));
  CHECK_FALSE(dies([&] { b.host[0] = 1; }));
  b.device.release_pinned(bytes(b.host));
  CHECK(dies([&] { b.host[0] = 1; }));
  CHECK(dies([&] {
    b.run({b.x, b.c, b.y + 2000, Bench::count}, b.compute);  // beyond the guard
    b.wait_for(b.compute);
  }));
}

TEST_CASE("a write a little beyond an allocation is found") {
  Bench b(1);
  b.run({b.x, b.c, b.y, Bench::count + 3}, b.compute);
  refuses([&] { b.wait_for(b.compute); }, "behind the end of an allocation");
  refuses([&] { b.wait_for(b.compute); }, "one that an earlier error has lost");
}

namespace {

alignas(16) float variable[4]{};

/// *y = *c, of a name that it does not read, with padding between its members
struct Named final {
  const char* name;
  bool first;
  const float* c;
  float* y;
  std::uint32_t low, high;
  bool last;
  static constexpr unsigned threads = 32;
  static constexpr unsigned blocks() { return 1; }
  template <class Block>
  void operator()(const Block& block) const {
    if (block.thread() == 0) *y = *c;
  }
};

}  // namespace

TEST_CASE("a kernel that is given an address of the host is not launched") {
  Bench b(1);
  const auto launches = [&](const float* c) { b.run({b.x, c, b.y, Bench::count}, b.compute); };
  // Their third elements: an address whose lowest byte is 0 may be padding.
  alignas(16) const float on_stack[4]{};
  const auto on_heap = std::make_unique<float[]>(4);
  for (const float* const c :
       {&on_stack[2], static_cast<const float*>(&on_heap[2]), static_cast<const float*>(&variable[2])})
    refuses([&] { launches(c); }, "expected a kernel with addresses of the device, found one of the host's");
  Bench other(1);
  refuses([&] { launches(other.c + 2); }, "expected a kernel with addresses of the device, found one of the host's");
  launches(b.c);
  launches(b.constant);  // pinned memory
  b.wait_for(b.compute);
  // Names are constants, two small integers are no address, and padding is nothing: here, an old address of the stack.
  Named kernel{"a name", true, b.c, b.y, 0x123, 0x6666, true};
  const void* const junk = &kernel;
  for (const std::size_t member : {offsetof(Named, first), offsetof(Named, last)})
    std::memcpy(reinterpret_cast<std::byte*>(&kernel) + member + 1, reinterpret_cast<const std::byte*>(&junk) + 1,
                sizeof junk - 1);
  b.device.launch(kernel, {.blocks = 1, .threads = 32}, b.compute);
  b.wait_for(b.compute);
}

TEST_CASE("copies are between the device and pinned memory") {
  Bench b(2);
  std::vector<float> pageable(Bench::count);
  refuses([&] { b.device.upload(bytes(b.x), bytes(pageable.data()), Bench::size, b.copies); },
          "the source of an upload");
  refuses([&] { b.device.upload(bytes(pageable.data()), bytes(b.host), Bench::size, b.copies); },
          "the target of an upload");
  refuses([&] { b.device.download(bytes(b.back), bytes(b.y), Bench::size + 400, b.copies); },
          "the source of a download");
  refuses([&] { b.device.launch(Axpy{b.x, b.c, b.y, 1}, {.blocks = 1, .threads = 2048}, b.compute); },
          "1 to 1024 threads");
  b.device.release(bytes(b.x));
  refuses([&] { b.device.upload(bytes(b.x), bytes(b.host), Bench::size, b.copies); }, "was released");
  refuses([&] { b.device.wait(b.compute, b.device.make_event()); }, "an event that was recorded");
}

TEST_CASE("a graph reads what lies in memory when it runs, and keeps what its launches were given") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Bench b(seed, seed % 2 == 1);
    b.device.begin_capture(b.compute);
    b.run({b.x, b.c, b.y, Bench::count}, b.compute);
    b.device.record(b.computed, b.compute);
    b.device.wait(b.copies, b.computed);  // the other stream joins the capture, and comes back
    b.device.download(bytes(b.back), bytes(b.y), Bench::size, b.copies);
    b.device.record(b.copied, b.copies);
    b.device.wait(b.compute, b.copied);
    b.device.record(b.computed, b.compute);
    const auto graph = b.device.end_capture(b.compute);
    CHECK(b.device.work_in(graph) == 5);
    for (const float value : {1.0f, 5.0f}) {
      for (std::size_t i = 0; i < Bench::count; ++i) b.host[i] = value;
      b.device.upload(bytes(b.x), bytes(b.host), Bench::size, b.compute);
      b.device.launch(graph, b.compute);
      b.wait_for(b.compute);
      CHECK(b.back[Bench::count - 1] == 2 * value + 1);
    }
  }
}

TEST_CASE("what a capture forbids is an error, and the capture is lost") {
  const auto in_capture = [](auto&& act, const char* words) {
    Bench b(3);
    b.device.begin_capture(b.compute);
    refuses([&] { act(b); }, words);
    refuses([&] { (void)b.device.end_capture(b.compute); }, "cudaErrorStreamCaptureInvalidated");
  };
  in_capture([](Bench& b) { (void)b.device.allocate(64, "late"); }, "cudaMalloc");
  in_capture([](Bench& b) { b.device.synchronize(b.copied); }, "cudaEventSynchronize");
  in_capture([](Bench& b) { (void)b.device.is_done(b.copied); }, "cudaEventQuery");
  in_capture([](Bench& b) { (void)b.device.make_product({}); }, "cublasLtMatmulAlgoGetHeuristic");
  in_capture([](Bench& b) { b.device.launch(Named{}, {.blocks = 1, .threads = 32}, b.compute); }, "loading a kernel");
  in_capture([](Bench& b) { b.device.wait(b.compute, b.copied); }, "cudaErrorStreamCaptureIsolation");

  Bench b(3);
  b.device.begin_capture(b.compute);
  b.device.record(b.computed, b.compute);
  b.device.wait(b.copies, b.computed);
  b.run({b.x, b.c, b.y, Bench::count}, b.copies);
  refuses([&] { (void)b.device.end_capture(b.compute); }, "cudaErrorStreamCaptureUnjoined");
  refuses([&] { b.device.wait(b.copies, b.computed); }, "cudaErrorCapturedEvent");
}

namespace {

template <class T, class Out>
void products_of(double tolerance) {
  constexpr std::size_t m = 5, n = 7, k = 3;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const bool add : {false, true}) {
        Runtime device({.seed = 1, .memory = std::size_t{1} << 24});
        const auto stream = device.make_stream();
        const auto done = device.make_event();
        const auto array = [&](std::size_t count, std::size_t size) {
          return std::pair{device.allocate(count * size, "a"), device.allocate_pinned(count * size, "b")};
        };
        const auto [a, host_a] = array(m * k, sizeof(T));
        const auto [b, host_b] = array(k * n, sizeof(T));
        const auto [c, host_c] = array(m * n, sizeof(Out));
        std::byte* const workspace = device.allocate(Runtime::workspace, "workspace");
        const auto at = [](std::size_t i) { return static_cast<double>(i * 7 % 11) / 4 - 1; };
        for (std::size_t i = 0; i < m * k; ++i)
          reinterpret_cast<T*>(host_a)[i] = static_cast<T>(static_cast<float>(at(i)));
        for (std::size_t i = 0; i < k * n; ++i)
          reinterpret_cast<T*>(host_b)[i] = static_cast<T>(static_cast<float>(at(i + 5)));
        for (std::size_t i = 0; i < m * n; ++i)
          reinterpret_cast<Out*>(host_c)[i] = static_cast<Out>(static_cast<float>(at(i + 2)));
        device.upload(a, host_a, m * k * sizeof(T), stream);
        device.upload(b, host_b, k * n * sizeof(T), stream);
        device.upload(c, host_c, m * n * sizeof(Out), stream);
        const op::Product<T, T, Out> o{.a = {},
                                       .b = {},
                                       .c = {},
                                       .m = m,
                                       .n = n,
                                       .k = k,
                                       .transpose_a = transpose_a,
                                       .transpose_b = transpose_b,
                                       .add = add};
        device.multiply(device.make_product(cuda::describe(o, Runtime::workspace)), {.a = b, .b = a, .d = c},
                        add ? 1.0 : 0.0, workspace, stream);
        device.download(host_c, c, m * n * sizeof(Out), stream);
        device.record(done, stream);
        device.synchronize(done);
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j) {
            double sum = add ? at(i * n + j + 2) : 0;
            for (std::size_t l = 0; l < k; ++l)
              sum += at(transpose_a ? l * m + i : i * k + l) * at((transpose_b ? j * k + l : l * n + j) + 5);
            CHECK(std::fabs(static_cast<double>(reinterpret_cast<const Out*>(host_c)[i * n + j]) - sum) <=
                  tolerance * std::fabs(sum));
          }
      }
}

}  // namespace

TEST_CASE("a product asked of the library is the operation, in every layout and type") {
  // The factors are quarters, so sums are exact in fp32; what is rounded is the result.
  products_of<fp64, fp64>(0);
  products_of<fp32, fp32>(0);
  products_of<bf16, fp32>(0);
  products_of<bf16, bf16>(0x1p-8);
  products_of<fp16, fp16>(0x1p-11);
  products_of<fp16, fp32>(0);
}

/// The layouts of attention: three heads lie side by side in a row of a and c, each with its own b.
TEST_CASE("products of one form, asked of the library at once, are the products") {
  constexpr std::size_t heads = 3, m = 4, k = 5, n = 2;
  Runtime device({.seed = 1, .memory = std::size_t{1} << 24});
  const auto stream = device.make_stream();
  const auto done = device.make_event();
  float* const host = reinterpret_cast<float*>(device.allocate_pinned(1000 * sizeof(float), "host"));
  for (std::size_t i = 0; i < 1000; ++i) host[i] = static_cast<float>(i * 7 % 11) - 5;
  std::byte* const all = device.allocate(1000 * sizeof(float), "all");
  std::byte* const workspace = device.allocate(Runtime::workspace, "workspace");
  device.upload(all, bytes(host), 1000 * sizeof(float), stream);
  const std::vector<float> before(host, host + 1000);
  constexpr std::size_t b_at = 128, c_at = 320;
  const cuda::ProductDescriptor descriptor = cuda::describe<float, float, float>(
      {.rows = m, .columns = k, .leading = heads * k, .count = heads, .stride = k}, false,
      {.rows = n, .columns = k, .count = heads, .stride = n * k + 1}, true,
      {.rows = m, .columns = n, .leading = heads * n, .count = heads, .stride = n}, Runtime::workspace);
  device.multiply(device.make_product(descriptor),
                  {.a = all + b_at * sizeof(float), .b = all, .d = all + c_at * sizeof(float)}, 1.0, workspace, stream);
  device.download(bytes(host), all, 1000 * sizeof(float), stream);
  device.record(done, stream);
  device.synchronize(done);
  std::vector<float> after = before;
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < k; ++l)
          after[c_at + i * heads * n + h * n + j] +=
              before[i * heads * k + h * k + l] * before[b_at + h * (n * k + 1) + j * k + l];
  CHECK(after == std::vector<float>(host, host + 1000));
}

TEST_CASE("the library adds a bias to each row before it rounds") {
  const auto multiplied = []<class T>(std::type_identity<T>, std::uint32_t alignment) {
    Runtime device({.seed = 1, .memory = std::size_t{1} << 24});
    const auto stream = device.make_stream();
    const auto done = device.make_event();
    std::byte* const all = device.allocate(4096, "all");
    std::byte* const workspace = device.allocate(Runtime::workspace, "workspace");
    T* const host = reinterpret_cast<T*>(device.allocate_pinned(4096, "host"));
    for (std::size_t i = 0; i < 4096 / sizeof(T); ++i) host[i] = static_cast<T>(0.5f + static_cast<float>(i % 3));
    host[1024 / sizeof(T)] = static_cast<T>(256.0f);
    device.upload(all, reinterpret_cast<std::byte*>(host), 4096, stream);
    // y = x Wt + bias: x (2,3), W (2,3), the bias at byte 1024
    const op::ProductEpilogue<T, T, T> o{
        .product = {.a = {0}, .b = {256}, .c = {512}, .m = 2, .n = 2, .k = 3, .transpose_b = true}, .bias = {1024}};
    cuda::ProductDescriptor descriptor = cuda::describe(o, Runtime::workspace);
    CHECK(descriptor.bias_alignment == 256);
    descriptor.bias_alignment = alignment;
    device.multiply(device.make_product(descriptor),
                    {.a = all + 256, .b = all, .d = all + 512, .bias = all + 1024 + (alignment == 512 ? sizeof(T) : 0)},
                    0, workspace, stream);
    device.download(reinterpret_cast<std::byte*>(host), all, 4096, stream);
    device.record(done, stream);
    device.synchronize(done);
    return std::vector<double>(host + 512 / sizeof(T), host + 512 / sizeof(T) + 4);
  };
  // x, W and the bias, in both types: elements 0 to 5, 256 or 512 bytes and 1,024 bytes later, of 0.5, 1.5, 2.5, ...
  const auto expected = []<class T>(std::type_identity<T>) {
    const auto at = [](std::size_t i) { return i == 1024 / sizeof(T) ? 256.0 : 0.5 + static_cast<double>(i % 3); };
    std::vector<double> all;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = at(1024 / sizeof(T) + j);
        for (std::size_t k = 0; k < 3; ++k) sum += at(3 * i + k) * at(256 / sizeof(T) + 3 * j + k);
        all.push_back(static_cast<double>(static_cast<T>(static_cast<float>(sum))));
      }
    return all;
  };
  CHECK(multiplied(std::type_identity<fp32>{}, 256) == expected(std::type_identity<fp32>{}));
  CHECK(multiplied(std::type_identity<bf16>{}, 256) == expected(std::type_identity<bf16>{}));
  refuses([&] { (void)multiplied(std::type_identity<fp32>{}, 512); }, "the library's bias at a multiple of 512 bytes");
}

TEST_CASE("the library reads fp32 as tf32 where the operation says so, and nowhere else") {
  using Fp32 = op::Product<fp32, fp32, fp32>;
  using Tf32 = op::Product<tf32, tf32, fp32>;
  const float a = 1 + 0x1.8p-11f, b = 1 - 0x1.4p-11f;  // between 1 and 1 + 2^-10, and between 1 - 2^-10 and 1 - 2^-11
  const auto multiplied = [&](const cuda::ProductDescriptor& descriptor) {
    float c = 0;
    emulated::check_product(descriptor);
    emulated::multiply(descriptor,
                       {.a = reinterpret_cast<const std::byte*>(&b),
                        .b = reinterpret_cast<const std::byte*>(&a),
                        .d = reinterpret_cast<std::byte*>(&c)},
                       0);
    return c;
  };
  CHECK(multiplied(cuda::describe(Fp32{.a = {}, .b = {}, .c = {}, .m = 1, .n = 1, .k = 1}, 0)) == a * b);
  CHECK(multiplied(cuda::describe(Tf32{.a = {}, .b = {}, .c = {}, .m = 1, .n = 1, .k = 1}, 0)) ==
        (1 + 0x1p-10f) * (1 - 0x1p-11f));
}

TEST_CASE("the library refuses descriptors that do not fit") {
  Runtime device({.seed = 1, .memory = std::size_t{1} << 24});
  const cuda::ProductDescriptor good =
      cuda::describe(op::Product<fp32, fp32, fp32>{.a = {}, .b = {}, .c = {}, .m = 4, .n = 6, .k = 8}, 0);
  (void)device.make_product(good);
  const auto bad = [&](auto change, const char* words) {
    cuda::ProductDescriptor descriptor = good;
    change(descriptor);
    refuses([&] { (void)device.make_product(descriptor); }, words);
  };
  bad([](auto& d) { d.a.leading = 5; }, "a leading dimension of A of at least 6");
  bad([](auto& d) { d.d.leading = 5; }, "a leading dimension of D of at least 6");
  bad([](auto& d) { d.transpose_a = true; }, "op(A) 8 x 6");
  bad([](auto& d) { d.b.type = ElementType::bfloat16; }, "A and B of one type");
  bad([](auto& d) { d.wide = true; }, "A and B of one type");
  bad([](auto& d) { d.a.type = d.b.type = ElementType::bfloat16, d.reads_tf32 = true; },
      "A and B of fp32, to be read as tf32");
  bad([](auto& d) { d.d.columns = 0; }, "a matrix D with elements");
  bad([](auto& d) { d.bias_alignment = 8; }, "neither bias nor aux without an epilogue");
  bad([](auto& d) { d.a.count = 2; }, "as many matrices A, B as D");
  bad([](auto& d) { d.a.count = d.b.count = d.d.count = 0; }, "as many matrices A, B as D");
  bad([](auto& d) { d.a.stride = -48; }, "as many matrices A, B as D");
  const auto twice = [](auto& d, std::int64_t stride, std::int64_t leading) {
    d.a.count = d.b.count = d.d.count = 2;
    d.d.stride = stride;
    d.d.leading = leading;
  };
  bad([&](auto& d) { twice(d, 0, 6); }, "matrices D without common elements");
  bad([&](auto& d) { twice(d, 23, 6); }, "matrices D without common elements");
  bad([&](auto& d) { twice(d, 6, 11); }, "matrices D without common elements");
  for (const auto& [stride, leading] : {std::pair{24, 6}, std::pair{6, 12}}) {
    cuda::ProductDescriptor descriptor = good;
    twice(descriptor, stride, leading);
    (void)device.make_product(descriptor);
  }
  const auto stream = device.make_stream();
  std::byte* const small = device.allocate(64, "small");
  refuses([&] { device.multiply(device.make_product(good), {.a = small, .b = small, .d = small}, 0, nullptr, stream); },
          "the library's A");
  std::byte* const large = device.allocate(2000, "large");
  cuda::ProductDescriptor aligned = good;
  aligned.a.alignment = aligned.b.alignment = aligned.d.alignment = 64;
  const cuda::Rows twelve{.rows = 4, .columns = 6, .alignment = cuda::alignment_of(48)};
  CHECK(twelve.alignment == 16);
  for (const std::size_t which : {0u, 1u, 2u})
    refuses(
        [&] {
          device.multiply(device.make_product(aligned),
                          {.a = large + (which == 0 ? 32 : 0),
                           .b = large + 512 + (which == 1 ? 32 : 0),
                           .d = large + 1024 + (which == 2 ? 32 : 0)},
                          0, nullptr, stream);
        },
        "at a multiple of 64 bytes");
}
