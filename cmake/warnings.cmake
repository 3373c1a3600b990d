# The flags of our own builds; nothing here reaches a user of the library.
option(REGIMEN_WERROR "Treat warnings as errors in our own builds" ON)
add_library(regimen_warnings INTERFACE)
set(werror $<BOOL:${REGIMEN_WERROR}>)
target_compile_options(regimen_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;$<${werror}:-Werror>>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion;$<${werror}:-Werror=all-warnings>>")

# g++ 12 warns of its own std::string at -O3, at every "literal" + string (GCC bugs 105329, 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(regimen_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow> $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
endif()

# With sanitizers g++ sees uninitialised members in the standard library itself (<regex>, which Catch2 includes).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(regimen_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()
