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

/// Whatever a compiler's flags decide about objects that several files know.
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

/// What a file of a program was compiled with. Each file has objects of its own, which join a list before main: the
/// linker joins functions that are inline, and would keep one file's flags. `expect_same_flags` reads a list.
class FlagsOfFile {
 public:
  FlagsOfFile(const FlagsOfFile*& list, const char* file, const char* version, const char* flags) noexcept
      : next_(list), file_(file), version_(version), flags_(flags) {
    list = this;
  }

 private:
  friend void expect_same_flags(const FlagsOfFile* list);

  const FlagsOfFile* next_;
  const char *file_, *version_, *flags_;
};

inline constinit const FlagsOfFile* host_flags_of_files = nullptr;
static const FlagsOfFile host_flags_of_file(host_flags_of_files, __BASE_FILE__, library_version, host_flags);

}  // namespace regimen::detail
