// A file of a program whose flags are not those of the others.
#include <regimen/engine/cpu/engine.hpp>
// SPDX-License-Identifier: Apache-2.0
