// regimen/core/compiled.hpp — functions that depend on no type of a program are compiled in it, or once beside it.
//
// A header declares them; their bodies stand in the .ipp of the same name. Without the CMake target regimen::compiled
// the header ends by including that file, and they are inline. With the target (REGIMEN_COMPILED=1) its library has
// their code: the sources in compiled/ include every .ipp.
#pragma once

#include <regimen/version.hpp>

/// Before a body in an .ipp. To call one costs nothing beside what it does, so none is worth the time that inlining
/// takes.
#if REGIMEN_COMPILED
#define REGIMEN_INLINE
#else
#define REGIMEN_INLINE [[gnu::noinline]] inline
#endif

namespace regimen::detail {

/// Whatever a compiler's flags decide about objects that a program and the library both know. Of this file: the linker
/// would join what is inline.
static constexpr char host_flags[] =
    ""
#if defined(_GLIBCXX_DEBUG)
    " _GLIBCXX_DEBUG"
#endif
#if defined(_GLIBCXX_ASSERTIONS)
    " _GLIBCXX_ASSERTIONS"
#endif
#if defined(__SANITIZE_ADDRESS__)
    " address-sanitizer"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    " address-sanitizer"
#endif
#endif
#if defined(__SANITIZE_THREAD__)
    " thread-sanitizer"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    " thread-sanitizer"
#endif
#endif
    ;

/// Throws Error unless the library is of this version and has these flags. Defined in compiled/kernels.cpp.
void check_host(const char* version, const char* flags);
/// Every engine asks before it runs.
static inline void expect_host() {
#if REGIMEN_COMPILED
  check_host(library_version, host_flags);
#endif
}

}  // namespace regimen::detail
