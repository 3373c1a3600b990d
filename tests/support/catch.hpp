// tests/support/catch.hpp — Catch2, version 3 or 2, and one addition: a test that cannot run here says so.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace support {
/// Tells CTest that this program left something out; main.cpp turns it into the exit code that means "skipped".
void note_skip(const char* reason);
}  // namespace support

/// Ends this test case without a verdict, visibly. Give such a case the tag [data] (it needs REGIMEN_DATA) or [machine]
/// (it needs a processor that not everybody has): CTest then runs it apart, and the skip hides nothing else.
#define REGIMEN_SKIP(reason)        \
  do {                              \
    ::support::note_skip(reason);   \
    SUCCEED("skipped: " << reason); \
    return;                         \
  } while (false)
