// regimen/core/compiled.hpp — functions that depend on no type of a program are compiled in it, or once beside it.
//
// A header declares them; their bodies stand in the .ipp of the same name. Without the CMake target regimen::compiled
// the header ends by including that file, and they are inline. With the target (REGIMEN_COMPILED=1) its library has
// their code: the sources in compiled/ include every .ipp.
#pragma once

/// Before a body in an .ipp. To call one costs nothing beside what it does, so none is worth the time that inlining
/// takes.
#if REGIMEN_COMPILED
#define REGIMEN_INLINE
#else
#define REGIMEN_INLINE [[gnu::noinline]] inline
#endif
