// regimen/version.hpp — the library's version. Its one home: CMakeLists.txt reads it here.
#pragma once

namespace regimen {

inline constexpr const char* library_version = "0.1.0";

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
