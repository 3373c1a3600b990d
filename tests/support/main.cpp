// The main of every test program. Exit code 77: nothing failed, and something was skipped.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#endif
#include "support/catch.hpp"

#include <cstdio>

namespace {
int skips = 0;
}

void support::note_skip(const char* reason) {
  ++skips;
  std::fprintf(stderr, "skipped: %s\n", reason);
}

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  return failed != 0 ? (failed == 77 ? 78 : failed) : skips > 0 ? 77 : 0;
}
