// What a temporary gives: readers and loaders give references to what is their own to whoever holds them, and of a temporary
// values, so that nothing refers to what is gone. What looks into a file of tensors is refused (tests/misuse/weights.cpp).
#include <regimen/data/cache.hpp>
#include <regimen/data/cifar.hpp>
#include <regimen/data/csv.hpp>
#include <regimen/data/idx.hpp>
#include <regimen/data/idx_array.hpp>
#include <regimen/data/image.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/json_lines.hpp>
#include <regimen/data/npy.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/tar.hpp>
#include <regimen/data/text.hpp>
#include <regimen/data/token_file.hpp>
#include <regimen/data/tokenizer.hpp>
#include <regimen/data/tokens.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/saves/safetensors.hpp>
#include <regimen/saves/sharded_file.hpp>
#include <regimen/saves/tensor_rows.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/tune/trials.hpp>
#include <regimen/watch/report.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace regimen;
using data::Key;

namespace {

/// Whether what is asked of an object refers to it, and of a temporary, constant or not, is a value that owns itself.
template <class Own, class Value, class Ask>
constexpr bool gives(Ask) {
  using OfTemporary = std::invoke_result_t<Ask, Own>;
  return !std::is_same_v<std::invoke_result_t<Ask, const Own&>, Value> && std::is_same_v<OfTemporary, Value> &&
         std::is_same_v<std::invoke_result_t<Ask, const Own>, Value>;
}
constexpr auto name = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).name(); };
constexpr auto path = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).path(); };
constexpr auto extents = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).extents(); };
constexpr auto skipped = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).skipped(); };
constexpr auto at = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).at(Key{}); };
constexpr auto metadata = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).metadata(); };
constexpr auto planned = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).planned(); };
constexpr auto options = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).options(); };
constexpr auto pixels = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).pixels(); };
constexpr auto row = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).row(0); };
constexpr auto classes = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).classes(); };
constexpr auto damaged = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).damaged(); };
constexpr auto path_of = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).path(0); };
constexpr auto token = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).token(0); };
constexpr auto before = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).before(); };
constexpr auto behind = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).behind(); };
constexpr auto alphabet = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).alphabet(); };
constexpr auto files = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).files(); };
constexpr auto folder = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).folder(); };
constexpr auto history = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).history(); };
constexpr auto first = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).template get<0>(); };
constexpr auto value = [](auto&& own) -> decltype(auto) { return std::forward<decltype(own)>(own).value(""); };

using Words = std::vector<std::string>;
using Extents = std::vector<std::size_t>;
using Pixels = std::vector<std::uint8_t>;
using Ids = std::vector<std::int32_t>;
using Metadata = std::map<std::string, std::string>;
struct Net : Model<Input<Vector<4>>, Linear<3>> {};
using Train = Trainer<Net>;

static_assert(gives<data::Npy<float>, std::string>(name) && gives<data::IdxArray<std::uint8_t>, std::string>(name) &&
              gives<data::ImageFolder, std::string>(name) && gives<data::Tokenizer, std::string>(name) &&
              gives<Idx, std::string>(name) && gives<Text, std::string>(name) && gives<TokenFile, std::string>(name));
static_assert(gives<data::Npy<float>, Extents>(extents) && gives<data::IdxArray<std::uint8_t>, Extents>(extents) &&
              gives<data::TensorRows<float>, Extents>(extents) && gives<Idx, Extents>(extents));
static_assert(gives<data::Npy<float>, std::vector<float>>(at) && gives<data::IdxArray<std::uint8_t>, Pixels>(at) &&
              gives<data::TensorRows<float>, std::vector<float>>(at));
static_assert(gives<data::Csv<float>, data::Skipped>(skipped) &&
              gives<data::JsonLines<float>, data::Skipped>(skipped) && gives<data::Tar, data::Skipped>(skipped) &&
              gives<data::ImageFolder, data::Skipped>(skipped));
static_assert(gives<data::ImageFolder, Words>(classes) && gives<data::ImageFolder, Words>(damaged) &&
              gives<data::ImageFolder, std::string>(path_of) && gives<data::Paths, Words>(files));
static_assert(gives<data::Image, Pixels>(pixels) && gives<data::Image, Pixels>(row));
static_assert(gives<data::Tokenizer, std::string>(token) && gives<data::Tokenizer, Ids>(before) &&
              gives<data::Tokenizer, Ids>(behind) && gives<Text, std::string>(alphabet));
static_assert(gives<safetensors::File, std::string>(path) && gives<safetensors::File, Metadata>(metadata) &&
              gives<safetensors::File, std::string>(value) && gives<saves::SavedState, Metadata>(metadata));
static_assert(gives<Train, MemoryPlan>(planned) && gives<Inference<Net>, MemoryPlan>(planned) &&
              gives<Train, Train::Options>(options));
static_assert(gives<HtmlReport, History>(history) && gives<tune::Trials, std::string>(folder));
static_assert(gives<Bundled<Value<float, Shape<2>>, Value<std::int32_t, Shape<1>>>, std::array<float, 2>>(first));

/// What has a reference into a temporary that is gone, under a sanitizer, ends here.
TEST_CASE("a loop over what a temporary has") {
  std::size_t sum = 0;
  for (const std::uint8_t pixel : data::Image(2, 3, 1, {1, 2, 3, 4, 5, 6}).pixels()) sum += pixel;
  CHECK(sum == 21);
  const auto last = data::Image(2, 3, 1, {1, 2, 3, 4, 5, 6}).row(1);
  CHECK(last == Pixels{4, 5, 6});
}

}  // namespace
