// What the components bring: each works in the program that links it, and the others are not missed.
#include <regimen/core/error.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/jpeg.hpp>
#include <regimen/data/png.hpp>
#if defined(HAS_JSON) || defined(HAS_TOKENIZERS)
#include <regimen/data/json_lines.hpp>
#include <regimen/data/tokenizer.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

/// Whether `write` gives bytes where `is_here`, and says which component it needs where not.
template <class Write>
bool works(bool is_here, const Write& write) {
  try {
    return write().size() > 0 && is_here;
  } catch (const regimen::Error& error) {
    return !is_here && std::string(error.what()).find("link regimen::images") != std::string::npos;
  }
}

}  // namespace

int main() {
#if defined(REGIMEN_HAS_PNG)
  constexpr bool has_png = true;
#else
  constexpr bool has_png = false;
#endif
#if defined(REGIMEN_HAS_JPEG)
  constexpr bool has_jpeg = true;
#else
  constexpr bool has_jpeg = false;
#endif
  const regimen::data::Image grey(2, 2, 1);
  bool right = works(has_png, [&] { return regimen::data::encode_png(grey); });
  right = works(has_jpeg, [&] { return regimen::data::encode_jpeg(grey, 90); }) && right;
#if defined(HAS_IMAGES)
  right = right && (has_png || has_jpeg);
#endif
#if defined(HAS_TOKENIZERS)
  try {
    const regimen::data::Tokenizer none("no such file");
    right = false;
  } catch (const regimen::Error& error) {
    right = right && std::string(error.what()).find("install") == std::string::npos;
  }
#endif
  if (!right) std::puts("a component does not work, or another is missed");
  return right ? 0 : 1;
}
