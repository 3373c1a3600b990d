# The flags of our own builds; nothing here reaches a user of the library.
option(REGIMEN_WERROR "Treat warnings as errors in our own builds" ON)
add_library(regimen_warnings INTERFACE)
target_compile_options(regimen_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${REGIMEN_WERROR}>:-Werror>)
# g++ 12 sees an impossible overlap in "text" + std::string (GCC bug 105651, gone in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(regimen_warnings INTERFACE -Wno-restrict)
endif()
