// regimen/walk/again.hpp — the walker of Checkpointed: its layers are walked again in backward, from its input.
#pragma once

#include <regimen/walk/sequential.hpp>
#include <regimen/walk/walked_again.hpp>

#include <cstddef>

namespace regimen::walk {

/// The layers of a Checkpointed, bound to X.
template <std::size_t begin, class Entries, class X, class Context, bool flows>
using InsideAgain = Chain<typename fuse<typename Context::Fusing, Entries>::type, X, Context, flows, begin>;

template <std::size_t begin, class Entries, class X, class Context, bool flows>
struct Node<Again<begin, Entries>, X, Context, flows>
    : WalkedAgain<InsideAgain<begin, Entries, X, context_again<Context>, flows>> {};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
