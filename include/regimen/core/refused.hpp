// regimen/core/refused.hpp — a Trainer or Inference whose recipe is refused.
#pragma once

namespace regimen::detail {

/// A Trainer or Inference that has given its errors (rule/rejected.hpp). What takes a Trainer beside its members has an
/// overload, or a specialisation, for it, which does nothing: so the rest of the program gives no further error.
template <class Owner>
concept Refused = requires { typename Owner::rejected; };

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
