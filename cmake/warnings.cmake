# The flags of our own builds; nothing here reaches a user of the library.
option(REGIMEN_WERROR "Treat warnings as errors in our own builds" ON)
add_library(regimen_warnings INTERFACE)
target_compile_options(regimen_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${REGIMEN_WERROR}>:-Werror>)
