// bench/lstm_256.cpp — one LSTM layer of 256 over 64 bytes of text, fp32: most of a step is the layer.
#include "lstm.hpp"

int main(int argc, char** argv) { return bench::measure_lstm<bench::Lstm256, regimen::Batch<16>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
