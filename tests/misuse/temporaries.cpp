// Temporaries: bytes, records and batches of what is gone at the end of the line.
#include <regimen/core/mapped_file.hpp>
#include <regimen/data/example.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/tar.hpp>
#include <regimen/data/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

using namespace regimen;

// ---- borrows_no_temporary_example -----------------------------------------------------------------------------------
// Features of a record whose bytes are gone at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: std::vector<std::byte
namespace borrows_no_temporary_example {
std::vector<std::byte> received() { return std::vector<std::byte>(10); }

void program() {
#ifndef REGIMEN_MISUSE
  const std::vector<std::byte> record = received();
  const data::Example example(record);
#else
  const data::Example example(received());
#endif
  std::printf("%zu\n", example.names().size());
}
}  // namespace borrows_no_temporary_example

// ---- borrows_no_temporary_records -----------------------------------------------------------------------------------
// A record of a file that is unmapped at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::data::Records
namespace borrows_no_temporary_records {
std::size_t program() {
#ifndef REGIMEN_MISUSE
  const data::Records records("images.tfrecord");
  const data::Record first = records.at({});
#else
  const data::Record first = data::Records("images.tfrecord").at({});
#endif
  return first.bytes.size();
}
}  // namespace borrows_no_temporary_records

// ---- borrows_no_temporary_tar ---------------------------------------------------------------------------------------
// A sample of an archive that is closed at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::data::Tar
namespace borrows_no_temporary_tar {
std::size_t program() {
#ifndef REGIMEN_MISUSE
  const data::Tar archive("images.tar");
  const data::TarSample first = archive.at({});
#else
  const data::TarSample first = data::Tar("images.tar").at({});
#endif
  return first.parts.size();
}
}  // namespace borrows_no_temporary_tar

// ---- borrows_no_temporary_mapped ------------------------------------------------------------------------------------
// The bytes of a file that is unmapped at the end of the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::MappedFile
namespace borrows_no_temporary_mapped {
std::size_t program() {
#ifndef REGIMEN_MISUSE
  const MappedFile file("numbers.bin");
  const std::span<const std::byte> bytes = file.bytes();
#else
  const std::span<const std::byte> bytes = MappedFile("numbers.bin").bytes();
#endif
  return bytes.size();
}
}  // namespace borrows_no_temporary_mapped

// ---- borrows_no_temporary_batch -------------------------------------------------------------------------------------
// A batch of a loader that ends with the line: it lies in the loader's memory.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::Loader<
namespace borrows_no_temporary_batch {
std::size_t program(const Text& text) {
  const SampleShape shape{8, 8};
#ifndef REGIMEN_MISUSE
  Loader<std::int32_t, std::int32_t, Text> loader(text, shape, {.batch = 4});
  const auto first = loader.next();
#else
  const auto first = Loader<std::int32_t, std::int32_t, Text>(text, shape, {.batch = 4}).next();
#endif
  return first.samples;
}
}  // namespace borrows_no_temporary_batch
// SPDX-License-Identifier: Apache-2.0
