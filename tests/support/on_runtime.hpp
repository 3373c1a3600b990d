// tests/support/on_runtime.hpp — Device<OnRuntime<R>>: the CUDA engine on a runtime of a test's own.
#pragma once

#include <regimen/engine/emulated/device.hpp>

namespace regimen::test {

template <class R>
struct OnRuntime final {
  using option_of = axis::device;
};

}  // namespace regimen::test

template <class R>
struct regimen::engines::Of<regimen::test::OnRuntime<R>> {
  template <class Choices>
  struct with {
    using type = regimen::cuda::Engine<R, Choices>;
    using Traits = typename type::Traits;
  };
  using type = typename with<DefaultChoices>::type;
  using Traits = typename type::Traits;
};
// SPDX-License-Identifier: Apache-2.0
