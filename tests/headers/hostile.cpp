// Every header of the library after macros that other headers define: windows.h, complex.h, sys/param.h, Qt and X11.
// The standard library and the dependencies come first, as they are not ours to mend.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <source_location>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#if __has_include(<experimental/simd>)
#include <experimental/simd>
#endif
#if __has_include(<immintrin.h>)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(REGIMEN_HAS_CBLAS)
#include <cblas.h>
#endif
#if defined(REGIMEN_HAS_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif
#if defined(REGIMEN_HAS_JPEG)
#include <jpeglib.h>
#endif
#if defined(REGIMEN_HAS_PNG)
#include <png.h>
#endif
#if defined(REGIMEN_HAS_PCRE2)
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif
#if __has_include(<unistd.h>)
#include <arpa/inet.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <zlib.h>

#include <boost/mp11.hpp>
#include <nlohmann/json.hpp>

#define min(a, b) this_is_the_macro_min(a, b)
#define max(a, b) this_is_the_macro_max(a, b)
#define MIN(a, b) this_is_the_macro_MIN(a, b)
#define MAX(a, b) this_is_the_macro_MAX(a, b)
#define small this_is_the_macro_small
#define near this_is_the_macro_near
#define far this_is_the_macro_far
#define interface this_is_the_macro_interface
#define pascal this_is_the_macro_pascal
#define ERROR this_is_the_macro_ERROR
#define IN this_is_the_macro_IN
#define OUT this_is_the_macro_OUT
#undef TRUE
#undef FALSE
#define TRUE this_is_the_macro_TRUE
#define FALSE this_is_the_macro_FALSE
#define I this_is_the_macro_I
#define B0 this_is_the_macro_B0
#define major(x) this_is_the_macro_major(x)
#define minor(x) this_is_the_macro_minor(x)
#define likely(x) this_is_the_macro_likely(x)
#define unlikely(x) this_is_the_macro_unlikely(x)
#define signals this_is_the_macro_signals
#define slots this_is_the_macro_slots
#define emit this_is_the_macro_emit
#define foreach this_is_the_macro_foreach
// X11's.
#define None 0L
#define Success 0
#define Bool int
#define Status int
#define True 1
#define False 0
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2

#include <everything.hpp>
