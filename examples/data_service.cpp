// examples/data_service.cpp — samples that other machines compute: one program, which serves or trains.
#include <regimen/data/pipeline.hpp>
#include <regimen/regimen.hpp>
#include <regimen/service/remote.hpp>
#include <regimen/service/serve.hpp>
#include <charconv>
#include <cstdio>
using namespace regimen;

struct Net : Model<Input<Vector<2>>, Linear<64>, Relu, Linear<64>, Relu, Linear<3>> {};
using Train = Trainer<Net, Batch<64>, Optimizer<AdamW>, Loss<CrossEntropy>>;

struct Point { float x, y; std::int32_t arm; };
struct Spirals {   // in place of files: any dataset that is the same on all machines
  std::size_t size() const { return 12'000; }
  Point at(const data::Key& key) const {
    const float far = float(key.index / 3 + 1) / 4000, turn = 9 * far + 2.0944f * float(key.index % 3);
    return {far * std::cos(turn), far * std::sin(turn), std::int32_t(key.index % 3)};
  }
  std::string name() const { return "spirals"; }
};
auto pipeline() {
  return Spirals{} | data::map([](Point point, const data::Key& key) {
    point.x += float(key.bits(0) % 1000) / 50'000;   // others in each epoch, the same on all machines
    return point;
  }, "jitter") | data::samples([](const Point& point, Sample<Train::Input, Train::Label> sample) {
    data::put(sample.input, std::array{point.x, point.y});
    sample.target[0] = point.arm;
  });
}

std::uint16_t port_of(const std::string& text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, code] = std::from_chars(text.data(), end, port); code != std::errc() || stop != end)
    throw Error("PORT", "a number from 0, a free one, to 65535", "\"" + text + "\"");
  return port;
}

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "serve") {
    data::Server<Train::Input, Train::Label> server(pipeline(), Train::sample_shape(), {.port = port_of(words[1])});
    std::printf("serving at port %d\n", server.port());
    std::fflush(stdout);
    return server.wait(), 0;   // until it is killed
  }
  if (words.size() < 2 || words[0] != "train")
    return std::puts("usage: data_service serve PORT\n       data_service train HOST:PORT..."), 2;
  const data::Remote<Train::Input, Train::Label> remote({words.begin() + 1, words.end()});
  Train trainer{{.optimizer = {.learning_rate = 3e-3}}};
  const Fitted fitted = trainer.fit(remote, {.epochs = 20, .workers = 4});   // four batches on their way
  for (const data::RemoteWorker& worker : remote.workers())
    std::printf("%s: %zu samples\n", worker.address.c_str(), std::size_t(worker.samples));
  return std::printf("loss %.6f\n", fitted.loss), 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
