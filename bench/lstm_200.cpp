// bench/lstm_200.cpp — the small model of PyTorch's word_language_model: two layers of 200, 35 of 10,000 words,
// fp32; run with bench/cpu.sh --results lstm --only 'lstm_.*'.
#include "lstm.hpp"

int main(int argc, char** argv) { return bench::measure_lstm<bench::Lstm200, regimen::Batch<20>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
