// Lesson 9: its pictures, drawn ones and those of CIFAR-10's files; and a residual network learns them.
#include "pictures.hpp"

#include "../temporary.hpp"

#include "../support/catch.hpp"

#include <regimen/models/resnet.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace regimen;

namespace {

struct Small : ResNetModel<Image<32, 32, 3>, 10, resnet::Basic, resnet::Depths<1, 1>, resnet::CifarStem,
                           resnet::MaxPooling, resnet::Width<8>> {};

struct Picture {
  std::vector<float> numbers = std::vector<float>(pictures::numbers);
  std::vector<std::int32_t> kind{-1};
  Picture(const auto& source, std::size_t index) { source.read(index, Sample<float, std::int32_t>{numbers, kind}); }
};

}  // namespace

TEST_CASE("a drawn picture is a function of seed and index") {
  const pictures::Drawn drawn(20, 1), others(20, 2);
  CHECK(drawn.size({pictures::numbers, 1}) == 20);
  CHECK_THROWS_WITH(drawn.size({784, 1}), Catch::Contains("3072 numbers"));
  CHECK(Picture(drawn, 3).numbers == Picture(drawn, 3).numbers);
  CHECK(Picture(drawn, 3).numbers != Picture(drawn, 13).numbers);
  CHECK(Picture(drawn, 3).numbers != Picture(others, 3).numbers);
  CHECK(Picture(drawn, 13).kind[0] == 3);
}

TEST_CASE("CIFAR-10's files have planes of colours, networks pixels") {
  const ::test::Directory folder;
  std::string bytes(2 * 3073, '\0');
  bytes[3073] = 7;                          // the class of the second picture
  bytes[3073 + 1 + 1024 + 33] = char(255);  // its green at line 1, column 1
  std::ofstream(folder / "a.bin", std::ios::binary) << bytes;
  const pictures::Cifar cifar(folder.path(), {"a.bin", "a.bin"});
  CHECK(cifar.size({pictures::numbers, 1}) == 4);
  const Picture picture(cifar, 3);
  CHECK(picture.kind[0] == 7);
  for (std::size_t i = 0; i < pictures::numbers; ++i) CHECK(picture.numbers[i] == (i == 33 * 3 + 1 ? 1.0F : -1.0F));
  std::ofstream(folder / "b.bin", std::ios::binary) << bytes.substr(1);
  CHECK_THROWS_WITH(pictures::Cifar(folder.path(), {"b.bin"}),
                    Catch::Contains("b.bin: expected pictures of 3073 bytes"));
  CHECK_THROWS_WITH(pictures::Cifar(folder.path(), {"c.bin"}),
                    Catch::Contains("c.bin: expected pictures of 3073 bytes"));
}

TEST_CASE("drawn pictures are learnt by a small residual network") {
  Trainer<Small, Batch<32>, Optimizer<RmsProp>> trainer{{.optimizer = {.learning_rate = 2e-3}}};
  trainer.fit(pictures::Drawn(10'000, 1), {.steps = 80, .progress = false});
  const double found = trainer.evaluate(pictures::Drawn(300, 2)).accuracy;
  std::printf("accuracy on 300 drawn pictures after 80 steps: %.4f\n", found);
  CHECK(found >= 0.5);  // a tenth without learning
}
