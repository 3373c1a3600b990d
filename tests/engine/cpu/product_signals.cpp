// tests/engine/cpu/product_signals.cpp — a signal may come at any moment of a product, of every path.
#include <regimen/engine/cpu/machine.hpp>
#include <regimen/engine/cpu/product.hpp>

#include "support/catch.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

namespace {

using namespace regimen;

volatile std::sig_atomic_t handled = 0, elsewhere = 0;
std::uintptr_t lowest = 0, highest = 0;  // of the thread's stack

std::uintptr_t stack_pointer(const ::ucontext_t& at) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(at.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(at.uc_mcontext.sp);
#else
#error "regimen: say where this processor keeps its stack pointer"
#endif
}

/// The system writes a handler's frame below what the stack pointer says: where that is elsewhere than in the stack,
/// over other data. This handler has a stack of its own, so that nothing is overwritten while it looks.
void note(int, ::siginfo_t*, void* interrupted) {
  const std::uintptr_t at = stack_pointer(*static_cast<const ::ucontext_t*>(interrupted));
  handled = handled + 1;
  if (at < lowest || at >= highest) elsewhere = elsewhere + 1;
}

/// Signals as fast as the timer gives them, until the end of the scope.
class Signals final {
 public:
  Signals() {
    ::pthread_attr_t about;
    void* begin = nullptr;
    std::size_t bytes = 0;
    REQUIRE(::pthread_getattr_np(::pthread_self(), &about) == 0);
    ::pthread_attr_getstack(&about, &begin, &bytes);
    ::pthread_attr_destroy(&about);
    lowest = reinterpret_cast<std::uintptr_t>(begin);
    highest = lowest + bytes;
    struct ::sigaction action{};
    action.sa_sigaction = note;
    action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
    ::stack_t own{};
    own.ss_sp = stack_.data();
    own.ss_size = stack_.size();
    ::sigaltstack(&own, nullptr);
    ::sigaction(SIGALRM, &action, &before_);
    set(50);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    set(0);
    ::sigaction(SIGALRM, &before_, nullptr);
    ::stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }

 private:
  static void set(int microseconds) {
    const ::itimerval every{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  std::vector<std::byte> stack_ = std::vector<std::byte>(std::size_t{1} << 17);
  struct ::sigaction before_{};
};

struct Case {
  std::size_t m, n, k;
  bool transpose_a, transpose_b;
};
constexpr Case cases[] = {{256, 384, 128, false, false},
                          {256, 128, 384, false, true},
                          {128, 384, 256, true, false},
                          {33, 65, 700, false, true},
                          {1, 128, 128, false, false}};

template <class T>
void storm() {
  const cpu::ThreadScope one(1);  // signals come to the thread that watches
  std::vector<std::byte> arena(3 * 384 * 700 * sizeof(T));
  const std::size_t third = arena.size() / 3;
  T* const numbers = reinterpret_cast<T*>(arena.data());
  for (std::size_t i = 0; i < 2 * third / sizeof(T); ++i) numbers[i] = T(static_cast<float>(i % 17) - 8.0f);
  for (const Case& shape : cases) {
    op::Product<T, T, T> o;
    o.a.offset = 0;
    o.b.offset = third;
    o.c.offset = 2 * third;
    o.m = shape.m;
    o.n = shape.n;
    o.k = shape.k;
    o.transpose_a = shape.transpose_a;
    o.transpose_b = shape.transpose_b;
    const cpu::Memory memory{arena.data(), arena.size(), {}};
    cpu::compute(o, memory);
    const std::vector<std::byte> quiet(arena.begin() + static_cast<std::ptrdiff_t>(2 * third), arena.end());
    const int before = handled;
    int different = 0;
    {
      const Signals signals;
      for (int turn = 0; turn < 20000 && handled < before + 200; ++turn) {
        cpu::compute(o, memory);
        different += std::memcmp(quiet.data(), arena.data() + 2 * third, quiet.size()) != 0;
      }
    }
    const std::string path = cpu::product_path<T, T, T>();
    INFO(path << ", " << shape.m << " x " << shape.n << " x " << shape.k);
    CHECK(handled > before);
    CHECK(different == 0);
    CHECK(elsewhere == 0);
    elsewhere = 0;
  }
}

}  // namespace

TEST_CASE("signal handlers run on the stack, and products are the same, of fp32") { storm<fp32>(); }
TEST_CASE("signal handlers run on the stack, and products are the same, of fp64") { storm<fp64>(); }
TEST_CASE("signal handlers run on the stack, and products are the same, of bf16") { storm<bf16>(); }
