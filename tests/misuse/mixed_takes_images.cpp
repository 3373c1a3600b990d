// Files that are mixed before they are decoded.
// expect: mixed takes values of data::LabelledImage; decode files before, in a map
// names: EncodedImage
#include <regimen/data/image_folder.hpp>
#include <regimen/data/mix.hpp>

using namespace regimen;

int main() {
  const data::ImageFolder folder("photos");
#ifndef REGIMEN_MISUSE
  const auto decode = [](const data::EncodedImage& file) {
    return data::LabelledImage{data::decode(file), file.label};
  };
  const auto mixed = folder | data::map(decode) | data::mixed(data::Mixup{.classes = 2});
#else
  const auto mixed = folder | data::mixed(data::Mixup{.classes = 2});
#endif
  return mixed.size() != 0 ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
