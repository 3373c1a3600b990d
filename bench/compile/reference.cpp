// What compile.quickstart is measured against (quickstart.sh): code of the standard library alone, and for nvcc kernels. Never
// changed, since the limits of bench/compile/tests.cmake are in its units.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <class Char>
std::size_t count(const std::basic_string<Char>& text, const std::basic_string<Char>& pattern) {
  const std::basic_regex<Char> regex(pattern);
  std::map<std::basic_string<Char>, std::size_t> found;
  using Iterator = std::regex_iterator<typename std::basic_string<Char>::const_iterator>;
  for (Iterator at(text.begin(), text.end(), regex), end; at != end; ++at) ++found[at->str()];
  std::vector<std::pair<std::size_t, std::basic_string<Char>>> sorted;
  for (const auto& [word, times] : found) sorted.emplace_back(times, word);
  std::stable_sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted.empty() ? 0 : sorted.front().first;
}
template std::size_t count(const std::basic_string<char>&, const std::basic_string<char>&);

#ifdef __CUDACC__
template <int size>
__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float tile[size][size];
  float sum[size] = {};
  for (int k = 0; k < 64; ++k) {
    tile[threadIdx.x % size][threadIdx.y % size] = b[k * size + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < size; ++i)
#pragma unroll
      for (int j = 0; j < size; ++j) sum[i] += a[(blockIdx.x * size + i) * 64 + j] * tile[i][j];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < size; ++i) c[blockIdx.x * size + i] = sum[i];
}
template __global__ void multiply<8>(const float*, const float*, float*);
template __global__ void multiply<16>(const float*, const float*, float*);
#endif
