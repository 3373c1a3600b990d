# The flags of our own builds; nothing here reaches a user of the library.
option(REGIMEN_WERROR "Treat warnings as errors in our own builds" ON)
add_library(regimen_warnings INTERFACE)
target_compile_options(regimen_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${REGIMEN_WERROR}>:-Werror>)

# g++ 12 warns of its own std::string at -O3, at every "literal" + string (GCC bugs 105329, 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(regimen_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()

# With sanitizers g++ sees uninitialised members in the standard library itself (<regex>, which Catch2 includes).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(regimen_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
