// The data service: whoever computes a sample, and whoever is killed meanwhile, batches have the bits of the local pipeline.
#include <regimen/service/remote.hpp>
#include <regimen/service/serve.hpp>
#include <regimen/service/unpacked.hpp>

#include <regimen/data/class_weights.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/pipeline.hpp>
#include <regimen/data/split_source.hpp>

#include "../temporary.hpp"
#include "comm/relay.hpp"
#include "support/catch.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <random>
#include <thread>

using namespace regimen;
using namespace regimen::data::service;
using comm::detail::connect_to;
using comm::detail::PendingConnections;
using comm::detail::receive_all;
using comm::detail::send_all;
using comm::detail::Transcript;
using std::chrono::milliseconds;
using test::error_of;

namespace {

/// Whether a text has all these parts.
bool says(const std::string& text, const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return test::says(text, part); });
}

const std::string secret = "what nobody but these machines know", another = "what nobody but those machines know";

/// Holds whoever comes to it while it is shut; nobody longer than a test may take.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !is_shut_; });
    --held_;
  }
  void shut(bool shuts) {
    const std::lock_guard lock(mutex_);
    is_shut_ = shuts;
    changed_.notify_all();
  }
  /// Waits until so many are held.
  bool holds(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return held_ == count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  bool is_shut_ = false;
};

/// Samples that change with the epoch and the seed; uneven in time, so that answers overtake one another.
struct Pictures {
  std::size_t count = 210;
  std::string label = "pictures";
  std::uint64_t other = 0;  // another program
  std::size_t broken = ~std::size_t{0};
  std::size_t odd = ~std::size_t{0};  // of this one alone
  int slow = 1;                       // · 40 us, for some
  Gate* gate = nullptr;               // before sample 2

  std::string name() const { return label; }
  std::size_t size(const SampleShape& shape) const {
    regimen::detail::expect_extents(label, shape, 33, 3);
    return count;
  }
  void read(const data::Key& key, Sample<float, std::int32_t> sample) const {
    if (key.index == broken) throw Error(label + ", sample " + std::to_string(key.index), "a picture", "a hole");
    if (gate != nullptr && key.index == 2) gate->pass();
    if (key.index % 5 == 2) std::this_thread::sleep_for(std::chrono::microseconds(40 * slow));
    for (std::size_t i = 0; i < sample.input.size(); ++i)
      sample.input[i] = static_cast<float>(key.bits(i + other + (key.index == odd ? 1 : 0)) % 1000) / 7;
    for (std::size_t i = 0; i < sample.target.size(); ++i) sample.target[i] = static_cast<std::int32_t>(key.index + i);
  }
};
constexpr SampleShape shape{.input = 33, .target = 3};

using Server = data::Server<float, std::int32_t>;
using Remote = data::Remote<float, std::int32_t>;

data::ServeOptions served(std::size_t threads = 2) {
  data::ServeOptions options;
  options.secret = secret;
  options.address = "127.0.0.1";
  options.workers = threads;
  return options;
}
data::RemoteOptions options() {
  data::RemoteOptions options;
  options.secret = secret;
  options.deadline = milliseconds(20000);
  options.patience = milliseconds(20000);
  options.says = false;
  return options;
}
std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
std::uint16_t free_port() {
  const Socket socket = comm::detail::listen_at({htonl(INADDR_LOOPBACK), 0});
  return ntohs(comm::detail::address_of(*socket).port);
}

struct Batch {
  std::vector<float> input;
  std::vector<std::int32_t> target;
  std::uint64_t epoch;
  bool operator==(const Batch&) const = default;
};
template <class S>
std::vector<Batch> batches_of(const S& source, const LoaderOptions& how, std::size_t most = 1000) {
  Loader<float, std::int32_t, S> loader(source, shape, how);
  std::vector<Batch> all;
  for (auto batch = loader.next(); batch && all.size() < most; batch = loader.next())
    all.push_back({{batch.input.begin(), batch.input.end()}, {batch.target.begin(), batch.target.end()}, batch.epoch});
  return all;
}

/// A trainer as a stranger may write one, after an honest handshake.
struct Stranger {
  Socket socket;
  Transcript transcript;
  std::string answer;
  comm::detail::HandshakeReply heard{};

  explicit Stranger(std::uint16_t port, const std::string& known = secret, std::uint64_t version = protocol) {
    const auto soon = Clock::now() + std::chrono::seconds(20);
    socket = connect_to({htonl(INADDR_LOOPBACK), htons(port)}, soon);
    transcript.hello.to = addressee;
    transcript.hello.channel = channel;
    transcript.hello.fingerprint = version;
    REQUIRE(comm::detail::prove(*socket, transcript, known, soon) == comm::detail::HandshakeReply::Challenge);
    heard = comm::detail::hear(*socket, transcript, known, soon, answer);
  }
  bool say(const void* bytes, std::size_t count) const {
    return send_all(*socket, bytes, count, Clock::now() + std::chrono::seconds(20));
  }
  bool say(const Frame& frame, const std::string& rest) const {
    return say(&frame, sizeof frame) && say(rest.data(), rest.size());
  }
  bool open(const Extents& wanted = {33, 3, 0, 0, sizeof(float), sizeof(std::int32_t)}) const {
    const std::string question = packed(wanted, words_of_types<float, std::int32_t>());
    Frame frame;
    return say(frame_of(Kind::Open, 0, bytes_of(question)), question) && receive(frame) && frame.kind == Kind::Opened;
  }
  bool receive(Frame& frame) const {
    const auto soon = Clock::now() + std::chrono::seconds(20);
    if (!receive_all(*socket, &frame, sizeof frame, soon) || !frame.is_whole()) return false;
    std::vector<char> rest(frame.bytes);
    return receive_all(*socket, rest.data(), rest.size(), soon);
  }
  /// Whether the worker hangs up.
  bool is_dropped() const {
    char byte = 0;
    for (;;)
      if (!receive_all(*socket, &byte, 1, Clock::now() + std::chrono::seconds(20))) return errno != ETIMEDOUT;
  }
};

/// A worker that says what a test wants to each who has proved the secret; `say` returns to hang up.
class FalseWorker {
 public:
  template <class Say>
  explicit FalseWorker(const Say& say, const std::string& known = secret)
      : secret_(known), listener_(comm::detail::listen_at({htonl(INADDR_LOOPBACK), 0})) {
    thread_ = std::thread([this, say] {
      PendingConnections pending(*listener_, addressee, secret_, 8);
      while (!stop_) {
        auto arrival = pending.next(Clock::now() + milliseconds(20));
        if (!arrival) continue;
        comm::detail::Answer answer;
        answer.proof = arrival->transcript.proof_of_answer(secret_, answer, comm::detail::Sha256().finish());
        const auto soon = Clock::now() + std::chrono::seconds(5);
        send_all(*arrival->socket, &answer, sizeof answer, soon);
        ++calls;
        say(*arrival->socket, *this);
      }
    });
  }
  ~FalseWorker() {
    stop_ = true;
    thread_.join();
  }
  std::string address() const { return at(ntohs(comm::detail::address_of(*listener_).port)); }
  bool is_stopped() const { return stop_; }

  /// Answers Open as an honest worker of `pictures` does; then the first Read has come: its keys, and its frame.
  std::vector<data::Key> until_asked(int socket, Frame& frame, const Pictures& pictures) {
    const auto soon = Clock::now() + std::chrono::seconds(5);
    for (;;) {
      if (!receive_all(socket, &frame, sizeof frame, soon)) return {};
      std::string text(frame.bytes, ' ');
      if (!receive_all(socket, text.data(), text.size(), soon)) return {};
      if (frame.kind == Kind::Read) {
        std::vector<data::Key> keys(text.size() / sizeof(data::Key));
        std::memcpy(keys.data(), text.data(), text.size());
        return keys;
      }
      Extents wanted;
      std::string types;
      unpack(text, wanted, types);
      const SamplesOf<float, std::int32_t, Pictures> samples(pictures);
      PipelineFacts opened = identify(samples, wanted);
      opened.memory = 1 << 20;
      opened.threads = 2;
      const std::string answer = packed(opened, pictures.label);
      const Frame reply = frame_of(Kind::Opened, frame.number, bytes_of(answer));
      send_all(socket, &reply, sizeof reply, soon);
      send_all(socket, answer.data(), answer.size(), soon);
    }
  }

  std::atomic<int> calls{0};

 private:
  const std::string secret_;
  Socket listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("batches of 1, 2 and 3 workers have the bits of the local pipeline, on 1, 2 and 4 ranks, and resumed") {
  const Pictures local;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> addresses;
  for (std::size_t workers = 1; workers <= 3; ++workers) {
    servers.push_back(std::make_unique<Server>(local, shape, served(workers)));
    addresses.push_back(at(servers.back()->port()));
    for (const std::size_t ranks : {1u, 2u, 4u}) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Remote remote(addresses, options());
        for (const Order order : {Order::Shuffled, Order::Random}) {
          LoaderOptions how{.batch = 16, .order = order, .seed = 7, .epochs = 2, .workers = workers};
          how.rank = rank;
          how.ranks = ranks;
          if (rank == 0) how.remainder = Remainder::Wrap;  // batches of two epochs
          const std::vector<Batch> all = batches_of(local, how);
          REQUIRE(batches_of(remote, how) == all);
          how.first.samples = 16 * ranks;
          how.workers = 0;
          const std::vector<Batch> rest = batches_of(remote, how);
          REQUIRE(rest == std::vector<Batch>(all.begin() + 1, all.end()));
        }
        CHECK(remote.name() == "pictures");
        for (const data::RemoteWorker& worker : remote.workers()) CHECK(worker.is_connected);
      }
    }
  }
  for (const auto& server : servers) CHECK(server->samples() > 0);
}

TEST_CASE("one sample at a time, few at a time, and a worker with hardly any memory") {
  data::ServeOptions little = served(3);
  little.memory = 1 << 16;
  const Server server(Pictures{}, shape, little);
  const LoaderOptions how{.batch = 70, .seed = 3, .epochs = 1, .workers = 2};
  const std::vector<Batch> all = batches_of(Pictures{}, how);
  for (const std::size_t chunk : {0u, 1u, 7u, 256u}) {
    for (const std::size_t depth : {0u, 1u, 200u}) {
      data::RemoteOptions few = options();
      few.chunk = chunk;
      few.depth = depth;
      REQUIRE(batches_of(Remote({at(server.port())}, few), how) == all);
    }
  }
}

namespace {

/// Worker processes, each started again whenever it ends. The supervisors are forked before this process has threads.
class Processes {
 public:
  explicit Processes(const Pictures& pictures, std::size_t count) {
    numbers_ = static_cast<std::atomic<::pid_t>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(numbers_ != MAP_FAILED);
    const ::pid_t parent = ::getpid();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t port = free_port();
      addresses.push_back(at(port));
      const ::pid_t supervisor = ::fork();
      if (supervisor == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        for (;;) {
          const ::pid_t own = ::getpid(), worker = ::fork();
          if (worker == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != own) ::_exit(1);
            data::ServeOptions options = served(2);
            options.port = port;
            try {
              data::serve<float, std::int32_t>(pictures, shape, options);
            } catch (const std::exception& error) { std::fprintf(stderr, "worker: %s\n", error.what()); }
            ::_exit(1);
          }
          numbers_[i] = worker;
          ::waitpid(worker, nullptr, 0);
          std::this_thread::sleep_for(milliseconds(10 * i));
        }
      }
      supervisors_.push_back(supervisor);
    }
  }
  ~Processes() {
    for (const ::pid_t supervisor : supervisors_) {
      ::kill(supervisor, SIGKILL);  // and its worker with it
      test::reap(supervisor);
    }
    ::munmap(numbers_, 4096);
  }
  void kill(std::size_t i) const {
    const ::pid_t worker = numbers_[i];
    if (worker > 0) ::kill(worker, SIGKILL);
  }

  std::vector<std::string> addresses;

 private:
  std::atomic<::pid_t>* numbers_ = nullptr;
  std::vector<::pid_t> supervisors_;
};

}  // namespace

TEST_CASE("workers are killed at any moment: every sample comes once, with its bits") {
  Pictures pictures;
  pictures.count = 4000;
  pictures.slow = 50;
  const LoaderOptions how{.batch = 32, .seed = 11, .epochs = 1, .workers = 3, .ahead = 4};
  const std::vector<Batch> all = batches_of(pictures, how);
  const Processes processes(pictures, 3);
  const Remote remote(processes.addresses, options());
  std::atomic<bool> is_done = false;
  std::atomic<int> kills = 0;
  std::thread killer([&] {
    std::mt19937 draw(5);
    std::array<std::uint64_t, 3> seen{};
    while (!is_done) {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + draw() % 20000));
      const std::size_t victim = draw() % 3;
      const std::uint64_t samples = remote.workers()[victim].samples;
      if (samples == seen[victim]) continue;  // lost again and again, a part would be given up
      seen[victim] = samples;
      processes.kill(victim);
      ++kills;
    }
  });
  const std::vector<Batch> come = batches_of(remote, how);
  is_done = true;
  killer.join();
  CHECK(come == all);
  std::vector<int> times(pictures.count);
  for (const Batch& batch : come)
    for (std::size_t i = 0; i < batch.target.size(); i += 3) ++times[static_cast<std::size_t>(batch.target[i])];
  CHECK(times == std::vector<int>(pictures.count, 1));
  CHECK(kills > 5);
  std::size_t sent = 0, lost = 0;
  for (const data::RemoteWorker& worker : remote.workers()) {
    sent += static_cast<std::size_t>(worker.samples);
    lost += worker.reason.empty() ? 0 : 1;
  }
  CHECK(sent == pictures.count);
  CHECK(lost > 0);
}

TEST_CASE("another secret, or none, is refused by both sides") {
  const auto meeting = [](const std::string& workers, const std::string& trainers) {
    data::ServeOptions serving = served();
    serving.secret = workers;
    const Server server(Pictures{}, shape, serving);
    data::RemoteOptions asking = options();
    asking.secret = trainers;
    const Remote remote({at(server.port())}, asking);
    return error_of([&] { static_cast<void>(remote.size(shape)); });
  };
  for (const std::string& text : {meeting(secret, another), meeting(secret, ""), meeting("", secret)}) {
    INFO(text);
    CHECK(says(text, {"the data worker at 127.0.0.1:", "to know the same secret", "REGIMEN_SECRET"}));
  }
  CHECK(meeting("", "").empty());
}

TEST_CASE("unlike pipelines are refused, and both are named") {
  const Server server(Pictures{}, shape, served());
  const auto beside = [&](const Pictures& other) {
    const Server second(other, shape, served());
    const Remote remote({at(server.port()), at(second.port())}, options());
    return error_of([&] { static_cast<void>(remote.size(shape)); });
  };
  Pictures other;
  CHECK(beside(other).empty());
  other.label = "paintings";
  CHECK(
      says(beside(other), {"workers of one pipeline", "\"pictures\" of 210 samples", "\"paintings\" of 210 samples"}));
  other = Pictures{};
  other.count = 209;
  CHECK(says(beside(other), {"\"pictures\" of 210 samples", "\"pictures\" of 209 samples"}));
  other = Pictures{};
  other.other = 1;
  CHECK(says(beside(other), {"workers of one pipeline", "a sum of three of them"}));
  for (const std::size_t index : {0u, 105u, 209u}) {  // the first, the middle and the last sample, each alone
    other = Pictures{};
    other.odd = index;
    CHECK(says(beside(other), {"workers of one pipeline", "a sum of three of them"}));
  }
  other = Pictures{};
  other.other = 1;

  const data::Remote<float, std::int64_t> types({at(server.port())}, options());
  CHECK(says(error_of([&] { static_cast<void>(types.size(shape)); }),
             {"a trainer that reads inputs of fp32, targets of int32", "inputs of fp32, targets of int64"}));
  const Remote extents({at(server.port())}, options());
  CHECK(says(error_of([&] { static_cast<void>(extents.size({.input = 34, .target = 3})); }),
             {"a trainer whose samples have 33 inputs of 4 bytes and 3 targets of 4 bytes, found 34 inputs"}));
  const Remote two({at(server.port())}, options());
  CHECK(two.size(shape) == 210);
  CHECK(says(error_of([&] { static_cast<void>(two.size({.input = 34, .target = 3})); }), {"one model's shape"}));
  // A worker's own pipeline is compared, too.
  const Remote with(std::vector<std::string>{at(server.port())}, options(), other);
  CHECK(
      says(error_of([&] { static_cast<void>(with.size(shape)); }), {"this machine serves", "workers of one pipeline"}));
  const Stranger old(server.port(), secret, protocol + 1);
  CHECK(old.heard == comm::detail::HandshakeReply::Refusal);
  CHECK(says(old.answer, {"version 1", "version 2"}));
}

TEST_CASE("a worker survives whoever calls") {
  data::ServeOptions serving = served();
  serving.deadline = milliseconds(700);
  const Server server(Pictures{}, shape, serving);
  const LoaderOptions how{.batch = 16, .seed = 7, .epochs = 1, .workers = 2};
  const std::vector<Batch> all = batches_of(Pictures{}, how);
  const auto soon = Clock::now() + std::chrono::seconds(20);
  const auto call = [&] { return connect_to({htonl(INADDR_LOOPBACK), htons(server.port())}, soon); };

  std::vector<Socket> silent;  // half-open, and more than the handshake keeps
  for (int i = 0; i < 100; ++i) silent.push_back(call());
  std::mt19937 draw(3);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::uint32_t> noise(1 + draw() % 2000);
    for (auto& word : noise) word = static_cast<std::uint32_t>(draw());
    const Socket socket = call();
    send_all(*socket, noise.data(), noise.size() * 4, soon);
    silent.push_back(call());
  }
  {  // who knows the secret, and speaks nonsense
    std::vector<std::uint32_t> noise(100000, 0xFFFF'FFFF);
    const Stranger noisy(server.port());
    noisy.say(noise.data(), noise.size() * 4);
    CHECK(noisy.is_dropped());
  }
  const auto dropped = [&](const Frame& frame, const std::string& rest, bool opens = true) {
    const Stranger stranger(server.port());
    if (opens) REQUIRE(stranger.open());
    stranger.say(frame, rest);
    return stranger.is_dropped();
  };
  const auto frame_with = [](Kind kind, std::uint32_t bytes, std::uint32_t first) {
    Frame frame = frame_of(kind, 1, {});
    frame.bytes = bytes;
    frame.first = first;
    frame.own = frame.sum();
    return frame;
  };
  const data::Key good{5, 0, 0}, beyond{210, 0, 0};
  const auto text_of = [](const data::Key& key) {
    return std::string(reinterpret_cast<const char*>(&key), sizeof key);
  };
  CHECK(dropped(frame_with(Kind::Read, 0xFFFF'FFF0, 0xFFFF'FFF0), ""));  // a huge length
  CHECK(dropped(frame_with(Kind::Read, 0, 0), ""));                      // no key
  CHECK(dropped(frame_with(Kind::Read, 25, 25), std::string(25, ' ')));  // no whole number of keys
  CHECK(dropped(frame_with(Kind::Open, 0xFFFF'FFFF, 0xFFFF'FFFF), "", false));
  CHECK(dropped(frame_with(Kind::Open, 3, 3), "abc", false));                              // shorter than a shape
  CHECK(dropped(frame_of(Kind::Read, 1, bytes_of(text_of(good))), text_of(good), false));  // before it opens
  CHECK(dropped(frame_of(Kind::Samples, 1, bytes_of(text_of(good))), text_of(good)));      // a worker's word
  CHECK(dropped(frame_of(Kind::Read, 1, bytes_of(text_of(beyond))), text_of(beyond)));     // a sample that is none
  CHECK(dropped(frame_of(Kind::Read, 1, bytes_of(text_of(beyond))), text_of(good)));       // a wrong sum
  CHECK(dropped(frame_of(Kind::Read, 1, bytes_of(text_of(good))), "half of it"));          // the deadline
  {
    const Extents endless{~std::uint64_t{0}, 3, 0, 0, 4, 4};
    const std::string question = packed(endless, words_of_types<float, std::int32_t>());
    CHECK(dropped(frame_of(Kind::Open, 0, bytes_of(question)), question, false));
  }
  for (const std::uint64_t of_input : {0u, 1u, 4u, 8u})
    for (const std::uint64_t of_target : {0u, 1u, 4u, 8u}) {  // sizes of elements that the types do not have
      INFO(of_input << " and " << of_target << " bytes");
      const Stranger stranger(server.port());
      CHECK(stranger.open({33, 3, 0, 0, of_input, of_target}) == (of_input == 4 && of_target == 4));
    }
  CHECK(Stranger(server.port()).is_dropped());  // opens nothing

  // Asks for much and reads nothing: the worker keeps what .memory allows, and hangs up.
  data::ServeOptions small = serving;
  small.memory = 1 << 16;
  small.connections = 1;  // the next one is let in when it has hung up
  const Server little(Pictures{}, shape, small);
  const Stranger deaf(little.port());
  REQUIRE(deaf.open());
  std::string many;
  for (int i = 0; i < 250; ++i) many += text_of(good);
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const Frame frame = frame_of(Kind::Read, i, bytes_of(many));
    const auto now = Clock::now() + milliseconds(100);
    if (!send_all(*deaf.socket, &frame, sizeof frame, now) || !send_all(*deaf.socket, many.data(), many.size(), now))
      break;
  }
  REQUIRE(batches_of(Remote({at(little.port())}, options()), how) == all);
  REQUIRE(batches_of(Remote({at(server.port())}, options()), how) == all);
  // The memory for what it did not read is free again: this needs more than the half of all.
  const auto admitted = [&](const Server& only_one) {  // when the last one is gone
    const auto until = Clock::now() + std::chrono::seconds(20);
    auto next = std::make_unique<Stranger>(only_one.port());
    for (; next->heard == comm::detail::HandshakeReply::Later && Clock::now() < until;
         next = std::make_unique<Stranger>(only_one.port()))
      std::this_thread::sleep_for(milliseconds(1));
    REQUIRE(next->heard == comm::detail::HandshakeReply::Welcome);
    return next;
  };
  const auto has_memory = [&](const Server& only_one) {
    const auto next = admitted(only_one);
    Frame answer;
    return next->open() && next->say(frame_of(Kind::Read, 1, bytes_of(many)), many) && next->receive(answer) &&
           answer.kind == Kind::Samples;
  };
  CHECK(has_memory(little));

  // Who asks, and has gone before the answer: the memory for it is free again.
  Gate gate;
  Pictures gated;
  gated.gate = &gate;
  small.deadline = milliseconds(20000);
  const Server again(gated, shape, small);
  const std::unique_ptr<Gate, void (*)(Gate*)> opens(&gate, [](Gate* of) { of->shut(false); });  // however this ends
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += text_of({2, 0, 0});
  for (int i = 0; i < 16; ++i) {
    auto hasty = admitted(again);  // so the last one is gone; two of its requests are computed yet
    gate.shut(false);
    REQUIRE(hasty->open());
    gate.shut(true);
    for (std::uint32_t number = 1; number <= 8; ++number)  // of which some are never begun
      REQUIRE(hasty->say(frame_of(Kind::Read, number, bytes_of(ten)), ten));
    REQUIRE(gate.holds(2));
  }
  gate.shut(false);
  CHECK(has_memory(again));
  REQUIRE(batches_of(Remote({at(again.port())}, options()), how) == all);
}

TEST_CASE("no more connections than a worker was told") {
  data::ServeOptions one = served();
  one.connections = 1;
  const Server server(Pictures{}, shape, one);
  std::optional<Remote> first;
  first.emplace(std::vector<std::string>{at(server.port())}, options());
  CHECK(first->size(shape) == 210);
  data::RemoteOptions impatient = options();
  impatient.patience = milliseconds(300);
  const Remote second({at(server.port())}, impatient);
  const std::string text = error_of([&] { static_cast<void>(second.size(shape)); });
  INFO(text);
  CHECK(says(text, {"one of its workers within 300 ms", "serves 1 connections", "end another trainer"}));

  // Who waits is let in when the other has gone.
  const Remote third({at(server.port())}, options());
  std::thread ends([&] {
    std::this_thread::sleep_for(milliseconds(300));
    first.reset();
  });
  const std::string none = error_of([&] { CHECK(third.size(shape) == 210); });
  ends.join();
  CHECK(none == "");
  CHECK(says(third.workers()[0].reason, {"serves 1 connections"}));
}

TEST_CASE("a trainer survives whatever workers answer, and says why it left them") {
  const Pictures pictures;
  const LoaderOptions how{.batch = 16, .seed = 7, .epochs = 2, .workers = 2};
  const std::vector<Batch> all = batches_of(pictures, how);
  const Server honest(pictures, shape, served());
  enum Lie { Noise, Length, Split, Sum, SumOfInputs, Number, Kinds, Silence, Half, Never, Failure };
  const std::vector<std::pair<Lie, std::string>> lies{{Noise, "bytes that are no answer"},
                                                      {Length, "bytes in place of"},
                                                      {Split, "bytes in place of"},
                                                      {Sum, "damaged on its way"},
                                                      {SumOfInputs, "damaged on its way"},
                                                      {Number, "nothing that was asked"},
                                                      {Kinds, "another kind"},
                                                      {Silence, "no answer within 300 ms"},
                                                      {Half, "no answer within 300 ms"},
                                                      {Never, "it hung up"},
                                                      {Failure, ""}};  // it stays
  for (const auto& [lie, reason] : lies) {
    INFO(reason);
    std::atomic<int> failures = 0;
    FalseWorker liar([&pictures, &failures, lie = lie](int socket, FalseWorker& self) {
      Frame asked;
      std::vector<data::Key> keys = self.until_asked(socket, asked, pictures);
      for (; lie == Failure && !keys.empty(); keys = self.until_asked(socket, asked, pictures)) {
        const std::string words = "a hole in the disk";
        const Frame failed = frame_of(Kind::Failed, asked.number, bytes_of(words));
        const auto soon = Clock::now() + std::chrono::seconds(5);
        ++failures;
        send_all(socket, &failed, sizeof failed, soon);
        send_all(socket, words.data(), words.size(), soon);
      }
      if (keys.empty() || lie == Never) return;
      std::vector<float> input(keys.size() * 33, 1);  // not the samples: nobody may see them
      std::vector<std::int32_t> target(keys.size() * 3, 1);
      if (lie == Length) target.push_back(1);
      auto first = std::as_bytes(std::span(input)), second = std::as_bytes(std::span(target));
      Frame frame = frame_of(Kind::Samples, asked.number, first, second);
      if (lie == Noise) frame.own ^= 1;
      if (lie == Split) frame.first -= 4;
      if (lie == Sum) frame.sums[1] ^= 1;
      if (lie == SumOfInputs) frame.sums[0] ^= 1;
      if (lie == Number) frame.number += 1000;
      if (lie == Kinds) frame.kind = Kind::Opened;
      if (lie != Noise) frame.own = frame.sum();
      const auto soon = Clock::now() + std::chrono::seconds(5);
      if (lie != Silence) {
        send_all(socket, &frame, sizeof frame, soon);
        send_all(socket, first.data(), lie == Half ? first.size() / 2 : first.size(), soon);
        if (lie != Half) send_all(socket, second.data(), second.size(), soon);
      }
      // Who hangs up before all is read may take back what was sent: reads until the trainer hangs up, or for a second.
      const auto until = Clock::now() + std::chrono::seconds(1);
      char byte = 0;
      while (!self.is_stopped() && Clock::now() < until)
        if (!receive_all(socket, &byte, 1, Clock::now() + milliseconds(50)) && errno != ETIMEDOUT) return;
    });
    data::RemoteOptions impatient = options();
    impatient.deadline = milliseconds(lie == Silence || lie == Half ? 300 : 2000);
    const Remote remote({liar.address(), at(honest.port())}, impatient);
    REQUIRE(batches_of(remote, how) == all);
    CHECK(liar.calls > 0);
    INFO(remote.workers()[0].reason);
    if (lie == Failure) CHECK(remote.workers()[0].reason.empty());
    else CHECK(says(remote.workers()[0].reason, {reason}));
    CHECK((failures > 0) == (lie == Failure));
    CHECK(remote.workers()[0].samples == 0);
  }
}

TEST_CASE("without any worker there is an error that names each, or the samples are computed here") {
  const std::string nobody = at(free_port()), nowhere = at(free_port());
  data::RemoteOptions impatient = options();
  impatient.patience = milliseconds(1500);
  const Remote none({nobody, nowhere}, impatient);
  CHECK(says(error_of([&] { static_cast<void>(none.size(shape)); }),
             {"one of its workers within 1500 ms", nobody + ": Connection refused", nowhere + ": Connection refused"}));

  const LoaderOptions how{.batch = 16, .seed = 7, .epochs = 2, .workers = 2};
  const std::vector<Batch> all = batches_of(Pictures{}, how);
  const Remote alone({nobody}, impatient, Pictures{});
  REQUIRE(batches_of(alone, how) == all);

  impatient.patience = milliseconds(1400);  // more than a call takes
  auto server = std::make_unique<Server>(Pictures{}, shape, served());
  const std::string address = at(server->port());
  const Remote remote({address, nowhere}, impatient), helped({address}, impatient, Pictures{});
  Loader<float, std::int32_t, Remote> loader(remote, shape, how);
  Loader<float, std::int32_t, Remote> with(helped, shape, how);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 3) server.reset();
    const auto batch = with.next();
    REQUIRE(std::equal(batch.input.begin(), batch.input.end(), all[i].input.begin(), all[i].input.end()));
  }
  const std::string text = error_of([&] {
    while (loader.next()) {}
  });
  INFO(text);
  CHECK(says(text, {"a sample within 1400 ms after the last one", address + ": ", nowhere + ": Connection refused",
                    "resume"}));
}

TEST_CASE("patience begins when somebody waits, however long the worker was there before") {
  data::ServeOptions serving = served();
  auto server = std::make_unique<Server>(Pictures{}, shape, serving);
  serving.port = server->port();
  data::RemoteOptions patient = options();
  patient.patience = milliseconds(1500);
  const Remote remote({at(serving.port)}, patient);
  CHECK(remote.size(shape) == 210);
  std::this_thread::sleep_for(milliseconds(1600));
  server.reset();
  std::thread again([&] {
    std::this_thread::sleep_for(milliseconds(100));
    server = std::make_unique<Server>(Pictures{}, shape, serving);
  });
  std::vector<float> input(33);
  std::vector<std::int32_t> target(3);
  const std::string error = error_of([&] { remote.read(data::Key{7, 0, 0}, {input, target}); });
  again.join();
  CHECK(error == "");
  CHECK(target[0] == 7);
}

namespace {

struct Integers {
  std::size_t size() const { return 100; }
  float at(const data::Key& key) const { return static_cast<float>(key.index); }
  std::string name() const { return "integers"; }
};
/// Writes so many targets, whatever the sample has room for.
auto writes(std::size_t inputs, std::size_t targets) {
  return Integers{} | data::samples([=](float value, Sample<float, std::int32_t> sample) {
           for (std::size_t i = 0; i < inputs; ++i) sample.input[i] = value;
           for (std::size_t i = 0; i < targets; ++i) sample.target[i] = static_cast<std::int32_t>(i);
         });
}

}  // namespace

TEST_CASE("what a trainer says is never the extent of what a worker's source writes") {
  const SampleShape own{.input = 2, .target = 64, .vocabulary_or_classes = 1000, .classes = 64};
  const Server server(writes(2, 64), own, served());
  const std::uint64_t most = ~std::uint64_t{0};
  for (const std::uint64_t inputs : {std::uint64_t{2}, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, most})
    for (const std::uint64_t targets : {std::uint64_t{64}, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65}, most})
      for (const std::uint64_t bound : {std::uint64_t{1000}, std::uint64_t{0}, std::uint64_t{999}, most}) {
        INFO(inputs << " inputs, " << targets << " targets, ids below " << bound);
        const Stranger stranger(server.port());
        CHECK(stranger.open({inputs, targets, bound, 0, 4, 4}) ==
              (inputs == 2 && targets == 64 && (bound == 1000 || bound == 0)));
      }
  const Remote remote({at(server.port())}, options()), other({at(server.port())}, options());
  REQUIRE(remote.size(own) == 100);
  std::vector<float> input(2);
  std::vector<std::int32_t> target(64);
  remote.read(data::Key{7, 0, 0}, {input, target});
  CHECK(input == std::vector<float>(2, 7));
  CHECK(target[63] == 63);
  const std::string text =
      error_of([&] { static_cast<void>(other.size({.input = 2, .target = 1, .vocabulary_or_classes = 1000})); });
  INFO(text);
  CHECK(says(text, {"the data worker at ", "worker of integers",
                    "whose samples have 2 inputs of 4 bytes and 64 targets", "ids below 1000, classes below 64",
                    "found 2 inputs of 4 bytes and 1 target of 4 bytes", "serve the shape of the model"}));
}

TEST_CASE("a worker whose first, middle or last sample cannot be read does not begin, nor does one of no shape") {
  for (const std::size_t index : {0u, 105u, 209u}) {
    Pictures pictures;
    pictures.broken = index;
    CHECK(says(error_of([&] { Server(pictures, shape, served()); }),
               {"pictures, sample " + std::to_string(index) + ": expected a picture, found a hole"}));
    const Server whole(Pictures{}, shape, served());
    const Remote local({at(whole.port())}, options(), pictures);
    CHECK(says(error_of([&] { static_cast<void>(local.size(shape)); }), {"expected a picture, found a hole"}));
  }
  CHECK(says(error_of([] { Server(writes(0, 0), {}, served()); }), {"serve, shape", "Trainer::sample_shape()"}));
  data::ServeOptions little = served();
  little.memory = 1 << 16;
  CHECK(says(error_of([&] { Server(writes(1, 1), {.input = 8200, .target = 1}, little); }),
             {"samples of at most 32768 bytes, half of .memory", "32804"}));
}

namespace {

/// A worker that opens as `opened` says, and then does what `answers` says of each request: (socket, frame, keys).
template <class Answers>
FalseWorker opens_and(const Answers& answers) {
  return FalseWorker([answers](int socket, FalseWorker& self) {
    for (;;) {
      Frame asked;
      const std::vector<data::Key> keys = self.until_asked(socket, asked, Pictures{});
      if (keys.empty() || !answers(socket, asked, keys.size(), self)) return;
    }
  });
}
bool sends_less(int socket, const Frame& asked, std::size_t samples, FalseWorker&) {
  const std::vector<float> input((samples - 1) * 33, 1);
  const std::vector<std::int32_t> target((samples - 1) * 3, 1);
  const auto first = std::as_bytes(std::span(input)), second = std::as_bytes(std::span(target));
  const Frame frame = frame_of(Kind::Samples, asked.number, first, second);
  const auto soon = Clock::now() + std::chrono::seconds(5);
  return send_all(socket, &frame, sizeof frame, soon) && send_all(socket, first.data(), first.size(), soon) &&
         send_all(socket, second.data(), second.size(), soon);
}
bool says_nothing(int, const Frame&, std::size_t, FalseWorker&) { return true; }  // and waits for the next request
/// A byte at a time: something always moves, and no sample ever comes.
bool drips(int socket, const Frame& asked, std::size_t samples, FalseWorker& self) {
  const std::vector<std::byte> input(samples * 33 * 4), target(samples * 3 * 4);
  const Frame frame = frame_of(Kind::Samples, asked.number, input, target);
  const auto soon = Clock::now() + std::chrono::seconds(30);
  bool goes_on = send_all(socket, &frame, sizeof frame, soon);
  for (std::size_t i = 0; goes_on && !self.is_stopped() && i < input.size(); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    goes_on = send_all(socket, &input[i], 1, soon);
  }
  return false;
}

}  // namespace

TEST_CASE(
    "workers that send no sample end the run after the patience, however often they connect, each with its reason") {
  using Answers = bool (*)(int, const Frame&, std::size_t, FalseWorker&);
  struct Case {
    Answers answers;
    int deadline;  // shorter and longer than the patience
    std::string reason;
  };
  data::RemoteOptions patient = options();
  patient.patience = milliseconds(1500);
  for (const auto& [answers, deadline, reason] : {Case{sends_less, 400, "bytes in place of"},
                                                  {says_nothing, 400, "no answer within 400 ms"},
                                                  {says_nothing, 60000, "no answer within 1500 ms"},
                                                  {drips, 60000, "no answer within 1500 ms"}}) {
    patient.deadline = milliseconds(deadline);
    const FalseWorker first = opens_and(answers), second = opens_and(answers);
    const Remote remote({first.address(), second.address()}, patient);
    REQUIRE(remote.size(shape) == 210);
    const LoaderOptions how{.batch = 16, .seed = 7, .epochs = 1, .workers = 3};
    const auto began = Clock::now();
    const std::string text = error_of([&] { batches_of(remote, how); });
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    INFO(text << " after " << took << " s, deadline " << deadline << " ms");
    CHECK(says(text, {"the data service", first.address() + ": ", second.address() + ": ", reason}));
    CHECK(took < 1.5 * 1.5);
    // What the workers cannot send is computed here.
    const Remote helped({first.address(), second.address()}, patient, Pictures{});
    const auto again = Clock::now();
    REQUIRE(batches_of(helped, how) == batches_of(Pictures{}, how));
    CHECK(Clock::now() - again < milliseconds(4000));  // the patience is lost once, not for each batch
  }
}

TEST_CASE("patience is for the next sample, not for the batch") {
  Pictures pictures;
  pictures.slow = 5000;  // a fifth of the samples take 200 ms each
  const Server server(pictures, shape, served(1));
  data::RemoteOptions patient = options();
  patient.patience = milliseconds(1500);
  patient.chunk = 1;
  const Remote remote({at(server.port())}, patient);
  REQUIRE(remote.size(shape) == 210);
  std::vector<data::Key> keys(60);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].index = i;
  std::vector<float> input(60 * 33);
  std::vector<std::int32_t> target(60 * 3);
  const auto began = Clock::now();
  CHECK(error_of([&] { remote.read(keys, {input, target}); }) == "");
  CHECK(Clock::now() - began > milliseconds(2000));  // longer than the patience
  CHECK(target[59 * 3] == 59);
}

TEST_CASE("a worker that says what cannot be is refused") {
  const std::uint64_t most = ~std::uint64_t{0};
  const std::vector<std::pair<PipelineFacts, std::string>> lies{
      {{most, 1 << 20, 2, 0}, "18446744073709551615 samples"},
      {{most / 2, 1 << 20, 2, 0}, "9223372036854775807 samples"},
      {{most_samples + 1, 1 << 20, 2, 0}, "281474976710657 samples"},
      {{64, 1 << 20, 0, 0}, "0 threads"},
      {{64, 1 << 20, 1025, 0}, "1025 threads"},
      {{64, 1, 2, 0}, "1 bytes of memory"}};
  for (const auto& [lie, words] : lies) {
    const FalseWorker liar([said = lie](int socket, FalseWorker&) {
      const auto soon = Clock::now() + std::chrono::seconds(5);
      Frame asked;
      if (!receive_all(socket, &asked, sizeof asked, soon)) return;
      std::string rest(asked.bytes, ' ');
      receive_all(socket, rest.data(), rest.size(), soon);
      const std::string answer = packed(said, "pictures");
      const Frame reply = frame_of(Kind::Opened, asked.number, bytes_of(answer));
      send_all(socket, &reply, sizeof reply, soon);
      send_all(socket, answer.data(), answer.size(), soon);
      receive_all(socket, &asked, 1, Clock::now() + std::chrono::seconds(2));
    });
    const Remote remote({liar.address()}, options());
    const std::string text = error_of([&] { static_cast<void>(remote.size(shape)); });
    INFO(text);
    CHECK(says(text, {"the data worker at " + liar.address(), words, "correct the address"}));
  }
}

TEST_CASE("the words of a worker are said whole, with control characters as escapes") {
  const FalseWorker liar([](int socket, FalseWorker&) {
    const auto soon = Clock::now() + std::chrono::seconds(5);
    Frame asked;
    if (!receive_all(socket, &asked, sizeof asked, soon)) return;
    std::string rest(asked.bytes, ' ');
    receive_all(socket, rest.data(), rest.size(), soon);
    const std::string words("before\0\x1b[2J after", 17);
    const Frame reply = frame_of(Kind::Failed, asked.number, bytes_of(words));
    send_all(socket, &reply, sizeof reply, soon);
    send_all(socket, words.data(), words.size(), soon);
    receive_all(socket, &asked, 1, Clock::now() + std::chrono::seconds(2));
  });
  const Remote remote({liar.address()}, options());
  const std::string text = error_of([&] { static_cast<void>(remote.size(shape)); });
  INFO(text);
  CHECK(says(text, {"found before\\0\\x1b[2J after; serve data that fit the model"}));
}

TEST_CASE("who has opened and asks for nothing loses the seat to who needs it, after the deadline") {
  data::ServeOptions two = served();
  two.connections = 2;
  two.deadline = milliseconds(1000);
  Gate gate;
  Pictures gated;
  gated.gate = &gate;
  const Server server(gated, shape, two);
  const std::unique_ptr<Gate, void (*)(Gate*)> opens(&gate, [](Gate* of) { of->shut(false); });
  const Stranger idle(server.port()), works(server.port());
  REQUIRE(works.open());
  REQUIRE(idle.open());
  gate.shut(true);
  const data::Key slow{2, 0, 0};
  const std::string key(reinterpret_cast<const char*>(&slow), sizeof slow);
  REQUIRE(works.say(frame_of(Kind::Read, 1, bytes_of(key)), key));  // has waited for its answer for the longest time
  REQUIRE(gate.holds(1));
  CHECK(Stranger(server.port()).heard == comm::detail::HandshakeReply::Later);  // not yet
  const Remote third({at(server.port())}, options());
  CHECK(third.size(shape) == 210);
  CHECK(idle.is_dropped());
  gate.shut(false);
  Frame answer;
  CHECK(works.receive(answer));
  CHECK(answer.kind == Kind::Samples);
  // Where there is a seat nobody loses one: a trainer may save and evaluate for as long as it likes.
  std::this_thread::sleep_for(milliseconds(1500));
  std::vector<float> input(33);
  std::vector<std::int32_t> target(3);
  third.read(data::Key{7, 0, 0}, {input, target});
  CHECK(third.workers()[0].reason.find("serves 2 connections") != std::string::npos);  // from before it was let in
  CHECK(target[0] == 7);
}

TEST_CASE("a byte that is changed between a trainer and a worker: never other samples, no hang, and no seat is lost") {
  data::ServeOptions few = served();
  few.connections = 16;
  const Server server(Pictures{}, shape, few);
  const std::array keys{data::Key{7, 1, 5}, data::Key{8, 0, 9}, data::Key{2, 3, 4}};
  const auto read_by = [&](const auto& source) {
    Batch batch{std::vector<float>(3 * 33), std::vector<std::int32_t>(3 * 3), 0};
    for (std::size_t i = 0; i < keys.size(); ++i)
      source.read(keys[i], Sample<float, std::int32_t>{std::span(batch.input).subspan(i * 33, 33),
                                                       std::span(batch.target).subspan(i * 3, 3)});
    return batch;
  };
  const Batch right = read_by(Pictures{});
  data::RemoteOptions patient = options();
  patient.deadline = milliseconds(400);  // for lengths that were changed
  patient.patience = milliseconds(8000);
  std::pair<std::size_t, std::size_t> bytes;
  // "": the right samples; what else, in words.
  const auto outcome = [&](std::size_t up, std::size_t down, bool counts = false) -> std::string {
    const test::Relay relay(server.port(), {.position = up}, {.position = down});
    const auto began = Clock::now();
    std::string words;
    try {
      const Remote remote({at(relay.port())}, patient);
      if (remote.size(shape) != 210) return "another size";
      if (read_by(remote) != right) return "other samples";
      if (counts) bytes = {relay.bytes_up, relay.bytes_down};
    } catch (const Error& error) { words = error.what(); }
    return Clock::now() - began < milliseconds(12000) ? words : "it took too long";
  };
  REQUIRE(outcome(test::Tamper::none, test::Tamper::none, true) == "");
  REQUIRE(bytes.first > 300);
  REQUIRE(bytes.second > 600);
  std::vector<std::string> words(bytes.first + bytes.second);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 12; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < words.size(); i += 12)
        words[i] = i < bytes.first ? outcome(i, test::Tamper::none) : outcome(test::Tamper::none, i - bytes.first);
    });
  for (std::thread& thread : threads) thread.join();
  std::size_t errors = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    INFO("byte " << i << " of " << bytes.first << " and " << bytes.second << ": " << words[i]);
    const bool is_right = words[i].empty(), is_error = says(words[i], {"the data worker at 127.0.0.1:"});
    CHECK((is_right || is_error));
    errors += is_error ? 1 : 0;
  }
  CHECK(errors > 50);                // proofs
  CHECK(errors < words.size() / 2);  // frames, which are asked for again
  std::vector<std::unique_ptr<Stranger>> all;
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (all.size() < few.connections && Clock::now() < until) {
    auto one = std::make_unique<Stranger>(server.port());
    if (one->heard == comm::detail::HandshakeReply::Welcome) all.push_back(std::move(one));
  }
  CHECK(all.size() == few.connections);
}

TEST_CASE("who proves another rank, program, world or port than it says has no seat") {
  data::ServeOptions one = served();
  one.connections = 1;
  const Server server(Pictures{}, shape, one);
  comm::detail::Hello own;
  own.fingerprint = protocol;
  own.to = addressee;
  own.channel = channel;
  std::vector<Socket> held;
  const auto knock = [&](const comm::detail::Hello& said, const comm::detail::Hello& proved) {
    const auto soon = Clock::now() + std::chrono::seconds(20);
    Transcript both{proved, {}};
    const Socket& socket = held.emplace_back(connect_to({htonl(INADDR_LOOPBACK), htons(server.port())}, soon));
    if (!send_all(*socket, &said, sizeof said, soon) ||
        !receive_all(*socket, &both.challenge, sizeof both.challenge, soon))
      return;
    const comm::detail::Digest proof = both.proof_of_caller(secret);
    comm::detail::Answer answer;
    if (!send_all(*socket, &proof, sizeof proof, soon) || !receive_all(*socket, &answer, sizeof answer, soon)) return;
    CHECK(answer.refused != 0);
  };
  const auto with = [&](auto comm::detail::Hello::* field) {
    comm::detail::Hello other = own;
    other.*field += 1;
    return other;
  };
  using Hello = comm::detail::Hello;
  for (const Hello& other : {with(&Hello::rank), with(&Hello::size), with(&Hello::to), with(&Hello::port),
                             with(&Hello::channel), with(&Hello::fingerprint)}) {
    knock(own, other);
    knock(other, own);
  }
  for (const Hello& other : {with(&Hello::to), with(&Hello::channel), with(&Hello::fingerprint)}) knock(other, other);
  CHECK(Stranger(server.port()).heard == comm::detail::HandshakeReply::Welcome);  // while the others are connected yet
}

TEST_CASE("what a pipeline throws is said, after every worker was asked") {
  Pictures pictures;
  pictures.broken = 77;
  const Server first(pictures, shape, served()), second(pictures, shape, served());
  const LoaderOptions how{.batch = 16, .order = Order::Sequential, .epochs = 1, .workers = 1};
  const Remote remote({at(first.port()), at(second.port())}, options());
  const std::string text = error_of([&] { batches_of(remote, how); });
  INFO(text);
  CHECK(says(text, {"the data service, ", "a pipeline that computes them",
                    "127.0.0.1:", "pictures, sample 77: expected a picture, found a hole"}));
  const Remote helped({at(first.port())}, options(), pictures);
  CHECK(says(error_of([&] { batches_of(helped, how); }), {"pictures, sample 77"}));
  // A worker that is not there is not waited for.
  const Remote halved({at(first.port()), at(free_port())}, options());
  CHECK(says(error_of([&] { batches_of(halved, how); }), {"pictures, sample 77"}));
}

TEST_CASE("a sample that ends every worker that computes it ends the run, too") {
  const FalseWorker ends([](int socket, FalseWorker& self) {
    Frame asked;
    static_cast<void>(self.until_asked(socket, asked, Pictures{}));
  });
  const Remote remote({ends.address()}, options());
  Loader<float, std::int32_t, Remote> loader(remote, shape, {.batch = 4, .order = Order::Sequential, .workers = 0});
  const std::string text = error_of([&] { loader.next(); });
  INFO(text);
  CHECK(says(text, {"1 sample, the first of index ", "8 connections that ended", ends.address() + ": it hung up",
                    "does one of these samples"}));
}

TEST_CASE("a fork of the process that connected a Remote is refused, and does not wait") {
  const Server server(Pictures{}, shape, served());
  auto remote = std::make_unique<const Remote>(std::vector<std::string>{at(server.port())}, options());
  CHECK(remote->size(shape) == 210);
  std::atomic<bool> is_done = false;
  std::thread asks([&] {  // has the lock in some of the forks
    while (!is_done) static_cast<void>(remote->workers());
  });
  int refused = 0, times = 0;
  for (; times < 20; ++times) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      std::vector<float> input(33);
      std::vector<std::int32_t> target(3);
      const bool reads = !says(error_of([&] { static_cast<void>(remote->size(shape)); }), {"a fork of it"}) ||
                         !says(error_of([&] { remote->read(data::Key{}, {input, target}); }), {"a fork of it"});
      const data::RemoteWorker worker = remote->workers()[0];
      const bool knows = says(remote->name(), {at(server.port())}) && worker.address == at(server.port()) &&
                         !worker.is_connected && says(worker.reason, {"another process"});
      remote.reset();
      ::_exit(!reads && knows ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    refused += status == 0;
  }
  is_done = true;
  asks.join();
  CHECK(refused == times);

  // The connection is as it was.
  std::vector<float> input(33);
  std::vector<std::int32_t> target(3);
  remote->read(data::Key{7, 0, 0}, {input, target});
  CHECK(target[0] == 7);
  CHECK(remote->name() == "pictures");
  CHECK(remote->workers()[0].is_connected);
  CHECK(remote->workers()[0].reason == "");
}

TEST_CASE("a fork of the process that made a Server is refused, does not wait, and leaves it serving") {
  auto server = std::make_unique<Server>(Pictures{}, shape, served());
  const std::uint16_t port = server->port();
  const Remote remote({at(port)}, options());
  CHECK(remote.size(shape) == 210);
  std::atomic<bool> is_done = false;
  std::thread asks([&] {  // so that the worker's threads have its lock in some of the forks
    std::vector<float> input(33);
    std::vector<std::int32_t> target(3);
    while (!is_done) remote.read(data::Key{7, 0, 0}, {input, target});
  });
  int refused = 0, times = 0;
  for (; times < 20; ++times) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      const bool uses = !says(error_of([&] { server->wait(); }), {"Server: ", "a fork of it", "after the fork"}) ||
                        !says(error_of([&] { server->stop(); }), {"Server: ", "a fork of it"});
      const bool knows = server->port() == port;
      server.reset();
      ::_exit(!uses && knows ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    refused += status == 0;
  }
  is_done = true;
  asks.join();
  CHECK(refused == times);
  CHECK(remote.workers()[0].is_connected);
  CHECK(remote.workers()[0].reason == "");

  // A fork that has destroyed its copy keeps no port; and one may serve with a Server of its own.
  int ready[2], ends[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(ends) == 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    server.reset();
    std::uint16_t own = 0;
    char end = 0;
    try {
      const Server second(Pictures{}, shape, served());
      own = second.port();
      if (::write(ready[1], &own, sizeof own) != sizeof own) ::_exit(1);
      [[maybe_unused]] const ::ssize_t ended = ::read(ends[0], &end, 1);
    } catch (...) { ::_exit(1); }
    ::_exit(0);
  }
  std::uint16_t second = 0;
  REQUIRE(::read(ready[0], &second, sizeof second) == sizeof second);
  const LoaderOptions how{.batch = 16, .seed = 7, .epochs = 1, .workers = 2};
  const std::vector<Batch> all = batches_of(Pictures{}, how);
  CHECK(batches_of(Remote({at(second)}, options()), how) == all);
  server.reset();
  data::ServeOptions again = served();
  again.port = port;
  server = std::make_unique<Server>(Pictures{}, shape, again);
  CHECK(batches_of(Remote({at(port)}, options()), how) == all);
  REQUIRE(::write(ends[1], "x", 1) == 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (const int end : {ready[0], ready[1], ends[0], ends[1]}) ::close(end);
}

TEST_CASE("a part of a Remote, with weights of classes, asks for whole batches") {
  struct Far {
    std::atomic<int>* calls;
    std::size_t size(const SampleShape&) const { return 40; }
    void read(const data::Key&, Sample<float, std::int32_t>) const { *calls += 1000; }
    void read(std::span<const data::Key> keys, Sample<float, std::int32_t> samples) const {
      ++*calls;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        samples.input[i] = static_cast<float>(keys[i].index);
        samples.target[i] = static_cast<std::int32_t>(keys[i].index % 3);
      }
    }
  };
  using Weighed = Bundled<Value<std::int32_t, Shape<1>>, Value<fp32, Shape<1>>>;
  std::atomic<int> calls = 0;
  const auto parts = data::split(Far{&calls}, 0.5, {.input = 1, .target = 1});
  const data::ClassWeights weighted(parts.validation, {1, 0.25f, 4});
  std::vector<float> input(8);
  std::vector<Weighed> target(8);
  std::vector<data::Key> keys(8);
  for (std::size_t i = 0; i < 8; ++i) keys[i].index = 2 * i;
  weighted.read(std::span<const data::Key>(keys), Sample<float, Weighed>{input, target});
  CHECK(calls == 1);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t index = 20 + 2 * i;
    CHECK(input[i] == static_cast<float>(index));
    CHECK(target[i].get<0>()[0] == static_cast<std::int32_t>(index % 3));
    CHECK(target[i].get<1>()[0] == std::vector<float>{1, 0.25f, 4}[index % 3]);
  }
}

TEST_CASE("options and addresses that make no sense") {
  for (const char* const address : {"10.0.0.7", ":7000", "host:", "host:0", "host:70000", "host:7x", ""})
    CHECK(says(error_of([&] { Remote({address}, options()); }), {"host:port", "from 1 to 65535", address}));
  CHECK(says(error_of([] { Remote({}, options()); }), {"the addresses of 1 to"}));
  const Remote unnamed({"a name that is none:7000"}, [] {
    auto impatient = options();
    impatient.patience = milliseconds(100);
    return impatient;
  }());
  CHECK(says(error_of([&] { static_cast<void>(unnamed.size(shape)); }), {"a name that is none"}));
  const Server server(Pictures{}, shape, served());
  data::ServeOptions taken = served();
  taken.port = server.port();
  CHECK(says(error_of([&] { Server(Pictures{}, shape, taken); }), {"a port that is free", "in use"}));
  std::vector<float> input(33);
  std::vector<std::int32_t> target(3);
  const Remote early({at(server.port())}, options());
  CHECK(says(error_of([&] { early.read(data::Key{}, {input, target}); }), {"size(shape) to be called before read"}));
}

TEST_CASE("types in words") {
  CHECK(words_of_types<std::uint8_t, std::int32_t>() == "inputs of uint8, targets of int32");
  CHECK(words_of_types<bf16, double>() == "inputs of bf16, targets of fp64");
}

TEST_CASE("bytes on the wire, floats in the model") {
  struct Bytes {
    std::size_t size(const SampleShape& extents) const {
      regimen::detail::expect_extents("bytes", extents, 5, 1);
      return 40;
    }
    void read(std::size_t index, Sample<std::uint8_t, std::int32_t> sample) const {
      for (std::size_t i = 0; i < 5; ++i) sample.input[i] = static_cast<std::uint8_t>(7 * index + i);
      sample.target[0] = static_cast<std::int32_t>(index);
    }
  };
  const data::Server<std::uint8_t, std::int32_t> server(Bytes{}, {.input = 5, .target = 1}, served());
  const data::Remote<std::uint8_t, std::int32_t> remote({at(server.port())}, options());
  const auto write = [](Sample<const std::uint8_t, const std::int32_t> sent, Sample<float, std::int32_t> sample) {
    if (sent.target[0] == 39) throw Error("write", "another", "39");
    for (std::size_t i = 0; i < 10; ++i) sample.input[i] = static_cast<float>(sent.input[i / 2]) / 255;
    sample.target[0] = sent.target[0];
  };
  const auto source = data::unpacked(remote, write, {.input = 5});
  Loader<float, std::int32_t, std::remove_const_t<decltype(source)>> loader(
      source, {.input = 10, .target = 1}, {.batch = 39, .order = Order::Sequential, .epochs = 1});
  const auto batch = loader.next();
  REQUIRE(batch.samples == 39);
  for (std::size_t s = 0; s < 39; ++s) {
    CHECK(batch.target[s] == static_cast<std::int32_t>(s));
    for (std::size_t i = 0; i < 10; ++i)
      REQUIRE(batch.input[s * 10 + i] == static_cast<float>((7 * s + i / 2) % 256) / 255);
  }
  CHECK(says(error_of([&] { loader.next(); }), {"unpacked, value 39", "expected another"}));
}
