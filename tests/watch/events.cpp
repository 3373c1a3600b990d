// Files of events are those that TensorBoard's own writer writes (tests/recorded/make_events.py), byte for byte.
#include <regimen/watch/events.hpp>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "temporary.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace regimen;

TEST_CASE("a file of scalars, histograms, images and texts has the recorded bytes") {
  const ::test::Directory folder;
  const std::string path = folder / "events.tfevents";
  {
    EventFile events(path, 1700000000.25);
    std::vector<std::uint8_t> colour;
    for (unsigned i = 0; i < 18; ++i) colour.push_back(static_cast<std::uint8_t>(14 * i));
    const std::vector<std::uint8_t> gray{0, 255, 128, 7};
    events.write(1700000001, 0, EventFile::image("colour", 3, 2, 3, colour) + EventFile::image("gray", 2, 2, 1, gray));
    events.write(1700000002, 1,
                 EventFile::scalar("train/loss", 2.5) + EventFile::scalar("none", 0) +
                     EventFile::scalar("nan", std::nan("")) +
                     EventFile::scalar("infinite", -std::numeric_limits<double>::infinity()));
    EventHistogram weights;
    for (const double value : {-1.5, 0.0, 0.0, 1e-13, 0.25, 0.25, 0.25, 2.0, 1e30}) weights.add(value);
    weights.add(std::nan(""));
    events.write(1700000003.5, 300,
                 EventFile::histogram("weights", weights) + EventFile::histogram("empty", EventHistogram{}));
    events.write(1700000004, std::uint64_t{1} << 40, EventFile::text("run", "# A plan\n\n    weights 1 MiB\n"));
  }
  const ::test::Bytes found = ::test::get(path), recorded = ::test::get(support::recorded("events.tfevents"));
  REQUIRE(found.size() == recorded.size());
  CHECK(found == recorded);
}

TEST_CASE("a file of events is never replaced, and an image has all its pixels") {
  const ::test::Directory folder;
  EventFile first(folder / "tfevents", 1);
  ::test::refuses([&] { EventFile second(folder / "tfevents", 1); }, "expected to create it, found File exists");
  ::test::refuses([&] { EventFile second(folder / "none/tfevents", 1); }, "found No such file or directory");
  const std::vector<std::uint8_t> pixels(5);
  ::test::refuses([&] { EventFile::image("x", 2, 3, 1, pixels); }, "found 5 values of 2 x 3 x 1");
  ::test::refuses([&] { EventFile::image("x", 1, 1, 5, pixels); }, "expected 1 to 4 channels");
}
// SPDX-License-Identifier: Apache-2.0
