// What a consumer gets: the headers, and the libraries that the macros promise. regimen.hpp reads no header of a
// component's library.
#include <regimen/core/number.hpp>
#if __has_include(<regimen/regimen.hpp>)
#include <regimen/regimen.hpp>
#endif

#include <zlib.h>
#include <boost/mp11.hpp>
#if defined(REGIMEN_HAS_CBLAS)
#include <cblas.h>
#endif
#if defined(REGIMEN_HAS_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif
#if defined(JPEG_LIB_VERSION) || defined(PNG_LIBPNG_VER) || defined(PCRE2_MAJOR) || defined(NLOHMANN_JSON_VERSION_MAJOR)
#error "regimen.hpp includes a header of a component's library"
#endif
#if defined(REGIMEN_HAS_JPEG) || defined(REGIMEN_HAS_PNG) || defined(REGIMEN_HAS_PCRE2)
#error "regimen::regimen brings a component"
#endif

static_assert(__cplusplus >= 202002L);

int main() {
  bool right = static_cast<float>(regimen::bf16(0.5f)) == 0.5f && zlibVersion() != nullptr;
#if defined(REGIMEN_HAS_CBLAS)
  const float two = 2;
  float six = 0;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 3.0f, &two, 1, &two, 1, 0.0f, &six, 1);
  right = right && six == 12;
#endif
#if defined(REGIMEN_HAS_ONEDNN)
  right = right && dnnl_version()->major >= 2;
#endif
  return right ? 0 : 1;
}
