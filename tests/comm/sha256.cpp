// The published vectors, and every length around a block's end.
#include <regimen/comm/detail/handshake.hpp>

#include "support/catch.hpp"

#include <cstdio>
#include <string>

using regimen::comm::detail::Digest;
using regimen::comm::detail::Hmac;
using regimen::comm::detail::is_equal;
using regimen::comm::detail::Sha256;

namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}
std::string sha256(const std::string& text) { return hex(Sha256().add(text.data(), text.size()).finish()); }
std::string hmac(const std::string& key, const std::string& text) {
  return hex(Hmac(key).add(text.data(), text.size()).finish());
}

}  // namespace

TEST_CASE("SHA-256 has the digests of FIPS 180-4's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the bytes were added") {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string text(length, static_cast<char>('a' + length % 26));
    Sha256 bytes;
    for (const char& byte : text) bytes.add(&byte, 1);
    INFO(length << " bytes");
    CHECK(hex(bytes.finish()) == sha256(text));
  }
}

TEST_CASE("HMAC-SHA-256 has the values of RFC 4231") {
  CHECK(hmac(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(
      hmac(
          std::string(131, '\xaa'),
          "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being "
          "used by the HMAC algorithm.") == "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE("digests are equal when all of their bits are") {
  const Digest digest = Sha256().finish();
  CHECK(is_equal(digest, digest));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    Digest other = digest;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ (1u << bit % 8));
    CHECK(!is_equal(digest, other));
  }
}
