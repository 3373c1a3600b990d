// What a consumer gets: the headers, and the libraries that the macros promise.
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
#if defined(REGIMEN_HAS_PCRE2)
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
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
#if defined(REGIMEN_HAS_PCRE2)
  right = right && pcre2_config_8(PCRE2_CONFIG_VERSION, nullptr) > 0;
#endif
  return right ? 0 : 1;
}
