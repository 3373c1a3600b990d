// Text from a classifier.
// expect: generate needs a model from Tokens<T> to \(T,V\), one row of logits for each token; call predict
// names: Classifier
#include <regimen/train/generate.hpp>

using namespace regimen;

/// What an Inference looks like to generate.   tokens (T) → logits (rows,V)
template <std::size_t Rows>
struct Network {
  static constexpr std::size_t input_size = 4, output_size = 24, output_rows = Rows;
  std::vector<float> predict(std::span<const std::int32_t>) const { return std::vector<float>(output_size); }
};
#ifndef REGIMEN_MISUSE
struct Classifier : Network<4> {};
#else
struct Classifier : Network<1> {};
#endif

auto written(Classifier& model, std::span<const std::int32_t> prompt) { return generate(model, prompt, 10); }
