// bench/compile/registers.cu — the kernels of a training step, for registers.py: it compiles them all, and prints of
// each what the compiler's report lacks: threads and shared memory of a block.
#include <regimen/core/activation.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/kernel/composed_attention.hpp>
#include <regimen/kernel/device.cuh>
#include <regimen/kernel/library.hpp>
#include <regimen/optimizer/adamw.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <typeinfo>

#include <cxxabi.h>

using namespace regimen;

namespace {

template <class Operation, unsigned pass = 0>
void list() {
  if constexpr (pass < kernel::passes<Operation>) {
    using K = kernel::Kernel<Operation, pass>;
    char* const name = abi::__cxa_demangle(typeid(K).name(), nullptr, nullptr, nullptr);
    std::printf("%u\t%zu\t%s\t%s\n", K::threads, kernel::shared_bytes<K>, Operation::name, name);
    std::free(name);
    if (std::getenv("REGIMEN_NEVER_SET") != nullptr) kernel::entry<K><<<1, 1>>>(K{});  // compiled, never launched
    list<Operation, pass + 1>();
  }
}
template <class... Operations>
void list_all() {
  (list<Operations>(), ...);
}

/// T computes, G holds gradients.
template <class T, class G>
void step() {
  list_all<op::Embed<T>, op::EmbedBackward<T, G>, op::AddTable<T>, op::AddTableBackward<T, G>, op::Normalize<true, T>,
           op::NormalizeBackward<true, T, G>, op::NormalizeBackwardSum<true, T, G>, op::Normalize<false, T>,
           op::NormalizeBackward<false, T, G>, op::NormalizeBackwardSum<false, T, G>,
           op::BiasActivation<activation::Identity, T>, op::BiasActivation<activation::GeluTanh, T>,
           op::BiasBackward<activation::Identity, T, G>, op::BiasBackward<activation::GeluTanh, T, G>, op::Add<T>,
           op::Multiply<T>, op::Gate<activation::Silu, T>, op::GateBackward<activation::Silu, T>, op::CopyColumns<T>,
           op::Dropout<T>, op::DropoutSum<T>, op::Attention<T>, op::AttentionBackward<T>,
           op::SharedAttentionBackward<T>, op::WindowAttention<T>, op::WindowAttentionBackward<T>,
           op::CrossAttention<T>, op::CrossAttentionBackward<T>, op::BiasedAttention<T>, op::BiasedAttentionBackward<T>,
           op::BucketBiasBackward<float, G>, op::Rotate<T>, kernel::AttentionWeights<T>,
           kernel::AttentionWeightsBackward<T>>();
}

}  // namespace

int main() {
  step<bf16, float>();
  step<float, float>();
  list_all<op::Cast<bf16, float>, op::Cast<float, bf16>, kernel::PadRows<float, bf16>, op::CrossEntropy<true, float>,
           op::NormalizeBackward<true, fp16, float>, op::BiasBackward<activation::Silu, fp16, float>,
           op::BiasBackward<activation::GeluErf, bf16, float>, op::SumOfSquares<float>,
           op::Update<AdamW, float, bf16, float>, op::Update<AdamW, float, float, float>, op::Finish<AdamW>>();
}
// SPDX-License-Identifier: Apache-2.0
