// examples/image_records.cpp — images to records: a folder of images becomes tar or TFRecord shards.
//
//   image_records --images photos --output shards/train                                     files as they are
//   image_records --images photos --output shards/train --format tfrecord --shorter 256     smaller ones
#include "image_records.hpp"

int main(int argc, char** argv) { return image_records::run(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
