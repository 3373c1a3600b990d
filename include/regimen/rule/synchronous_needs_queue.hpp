// regimen/rule/synchronous_needs_queue.hpp — only a device that works late can be waited for.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// On the CPU every operation ends before the next begins.   docs/errors/steps.md#synchronous_needs_queue
template <class Debug, class Device, bool works_late>
struct synchronous_needs_queue {
  static constexpr bool holds = works_late || !Debug::template uses<Synchronous>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this Device<...> ends every operation before the next; leave Debug<Synchronous> out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
