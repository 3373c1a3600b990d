// tests/device/kernels.cu — what CPU loops and GPU kernels are to share can be called from a kernel, and gives there
// what it gives here.
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#define REGIMEN_HD_CHECKED 1  // what no device has may not be called from here
#include <regimen/core/activation.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace regimen;

namespace {

constexpr int updates = 4;

#ifdef REGIMEN_MISUSE
/// A rule that no device can run: this file must not compile.
struct HostOnly final {
  struct Options {};
  static constexpr int states = 1;
  template <class S>
  struct Coefficients {
    REGIMEN_HD Coefficients(const Options&, const Scalars&) {}
  };
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void update(V& weight, V, V (&)[1], const Coefficients<S>&, bool) {
    weight = static_cast<V>(std::rand());
  }
};
#endif

/// One weight after a few updates, of the first kind that decays and the second that does not.
template <class Rule, class S>
REGIMEN_HD void train(const typename Rule::Options& options, const Scalars& scalars, S* out) {
  const typename Rule::template Coefficients<S> coefficients(options, scalars);
  for (int decays = 0; decays < 2; ++decays) {
    S weight = static_cast<S>(0.75), state[Rule::states] = {};
    for (int i = 1; i <= updates; ++i)
      Rule::update(weight, static_cast<S>(0.5 / i - 0.2), state, coefficients, decays == 1);
    out[decays] = weight;
  }
}

/// What a device and the host must agree on: numbers up to the rounding of the last place or two, since a device joins
/// products and sums.
struct Found {
  double updates[10][2];  // rule by rule, in fp32 and in fp64
  double activations[5][4];
  std::uint32_t words[4];
  std::uint64_t mixed;
  std::uint16_t bits[4];
};

struct Settings {
  AdamW::Options adamw{};
  Adam::Options adam{.weight_decay = 0.1};
  Sgd::Options plain{.momentum = 0.9, .weight_decay = 0.1}, nesterov{.momentum = 0.9, .nesterov = true};
  RmsProp::Options rmsprop{};
  Scalars scalars{};
};

template <class Rule>
REGIMEN_HD void train_both(const typename Rule::Options& options, const Scalars& scalars, double (*out)[2]) {
  float single[2];
  train<Rule, float>(options, scalars, single);
  for (int i = 0; i < 2; ++i) out[0][i] = static_cast<double>(single[i]);
  train<Rule, double>(options, scalars, out[1]);
}

template <class Activation>
REGIMEN_HD void activate(double* out) {
  out[0] = static_cast<double>(Activation::value(0.7f));
  out[1] = static_cast<double>(Activation::derivative(-0.3f));
  out[2] = Activation::value(-1.2);
  out[3] = Activation::derivative(0.4);
}

REGIMEN_HD void find(const Settings& settings, Found& found) {
  train_both<AdamW>(settings.adamw, settings.scalars, found.updates);
  train_both<Adam>(settings.adam, settings.scalars, found.updates + 2);
  train_both<Sgd>(settings.plain, settings.scalars, found.updates + 4);
  train_both<Sgd>(settings.nesterov, settings.scalars, found.updates + 6);
  train_both<RmsProp>(settings.rmsprop, settings.scalars, found.updates + 8);
#ifdef REGIMEN_MISUSE
  train_both<HostOnly>({}, settings.scalars, found.updates);
#endif
  activate<activation::Identity>(found.activations[0]);
  activate<activation::Relu>(found.activations[1]);
  activate<activation::GeluErf>(found.activations[2]);
  activate<activation::GeluTanh>(found.activations[3]);
  activate<activation::Silu>(found.activations[4]);
  const auto words = Philox::draw(7, 11, 13);
  for (int i = 0; i < 4; ++i) found.words[i] = words.word[i];
  found.mixed = Philox::mix(3, 5);
  found.bits[0] = bf16(1.00390625f).bits;
  found.bits[1] = fp16(65519.0f).bits;
  found.bits[2] = bf16(static_cast<float>(fp16(0.333f))).bits;
  found.bits[3] = fp16(1e-7f).bits;
}

__global__ void kernel(Settings settings, Found* found) { find(settings, *found); }

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fputs("skipped: no CUDA device here; that kernels compile is tested\n", stderr);
    return 77;
  }
  Settings settings;
  settings.scalars.learning_rate = 1e-2;
  settings.scalars.correction_first = 10;
  settings.scalars.correction_second = 1000;
  Found here{}, there{}, *found = nullptr;
  find(settings, here);
  if (cudaMalloc(&found, sizeof *found) != cudaSuccess) return std::puts("no memory on the device"), 1;
  kernel<<<1, 1>>>(settings, found);
  const cudaError_t error = cudaMemcpy(&there, found, sizeof there, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) return std::printf("the kernel: %s\n", cudaGetErrorString(error)), 1;

  int wrong = 0;
  const auto compare = [&](const char* what, int i, int j, double a, double b, double tolerance) {
    if (std::abs(a - b) <= tolerance * (1 + std::abs(a))) return;
    ++wrong;
    std::printf("%s %d, %d: %.17g on the host, %.17g on the device\n", what, i, j, a, b);
  };
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 2; ++j)
      compare("update", i, j, here.updates[i][j], there.updates[i][j], i % 2 == 0 ? 1e-6 : 1e-14);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j)
      compare("activation", i, j, here.activations[i][j], there.activations[i][j], j < 2 ? 1e-6 : 1e-14);
  for (int i = 0; i < 4; ++i) compare("word", i, 0, here.words[i], there.words[i], 0);
  for (int i = 0; i < 4; ++i) compare("bits", i, 0, here.bits[i], there.bits[i], 0);
  if (here.mixed != there.mixed) ++wrong, std::puts("mix differs");
  return wrong == 0 ? 0 : 1;
}
