// regimen/watch/text.hpp — numbers and folders for the callbacks of watch/.
#pragma once

#include <string>
#include <string_view>

namespace regimen::detail {

/// The shortest text that gives this number again; nan, inf or -inf if it is none.
std::string text_of(double number);

/// A field of CSV, as in RFC 4180: in quotation marks if necessary.
std::string csv_field(std::string_view text);

/// Makes a folder, and its parent folders, unless they exist.
void make_folder(const std::string& path);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/watch/text.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
