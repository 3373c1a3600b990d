// regimen/core/function_ref.hpp — a call of a function object of any type: the callee is compiled once for all types.
#pragma once

#include <type_traits>

namespace regimen {

/// Refers to a function object, which must outlive it. (std::function_ref is C++26; std::function may allocate.)
/// cost   a call through a pointer
template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> final {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Arguments...>)
  [[gnu::always_inline]] FunctionRef(F&& function) noexcept
      : function_(const_cast<void*>(static_cast<const void*>(&function))), call_(&call<std::remove_reference_t<F>>) {}

  Result operator()(Arguments... arguments) const { return call_(function_, arguments...); }

 private:
  template <class F>
  static Result call(void* function, Arguments... arguments) {
    if constexpr (std::is_void_v<Result>) (*static_cast<F*>(function))(arguments...);
    else return (*static_cast<F*>(function))(arguments...);
  }

  void* function_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
