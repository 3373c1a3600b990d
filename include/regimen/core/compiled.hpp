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

/// Whatever a compiler's flags decide about objects that a program and the library both know.
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

#if REGIMEN_COMPILED
/// Notes, before main, whether a file of the program has the library's version and flags. Each file has one of its own:
/// the linker joins functions that are inline, and would keep one file's question. Defined in compiled/flags.cpp.
struct HostFlags {
  HostFlags(const char* version, const char* flags) noexcept;
};
static const HostFlags host_flags_of_file(library_version, host_flags);
#endif

/// Throws Error if one of the files differs. Not there in a program that has no such files.
[[gnu::weak]] void check_host();
/// Every engine asks before it runs.
inline void expect_host() {
  if (check_host != nullptr) check_host();
}

}  // namespace regimen::detail
