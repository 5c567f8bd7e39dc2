#include "mac.h"

// The simple interface of libcrypto. The newer one (EVP) links OpenSSL's whole provider: megabytes
// of program, and relocations at every start of safelaunch.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <tuple>

#include "codec.h"
#include "safelaunch/base/random.h"

namespace safelaunch::agree {
namespace {

constexpr std::size_t kBlock = 64;  // the block of SHA-256, in bytes

unsigned char* raw(Digest& digest) {
  return reinterpret_cast<unsigned char*>(digest.data());
}

Digest sha256(std::initializer_list<std::string_view> parts) {
  SHA256_CTX state;
  SHA256_Init(&state);
  for (const std::string_view part : parts) SHA256_Update(&state, part.data(), part.size());
  Digest digest;
  SHA256_Final(raw(digest), &state);
  return digest;
}

std::array<char, kBlock> padded(std::string_view key, char pad) {
  std::array<char, kBlock> block;
  block.fill(pad);
  for (std::size_t i = 0; i < key.size(); ++i) block[i] = static_cast<char>(key[i] ^ pad);
  return block;
}

Digest mac_of(std::string_view key, std::string_view name, std::string_view body) {
  return hmac(key, {Writer().text(name).take(), body});
}

}  // namespace

Digest hmac(std::string_view key, std::initializer_list<std::string_view> parts) {
  const Digest shortened = key.size() > kBlock ? sha256({key}) : Digest{};
  if (key.size() > kBlock) key = bytes_of(shortened);
  const auto inner_key = padded(key, 0x36);
  const auto outer_key = padded(key, 0x5c);
  SHA256_CTX state;
  SHA256_Init(&state);
  SHA256_Update(&state, inner_key.data(), inner_key.size());
  for (const std::string_view part : parts) SHA256_Update(&state, part.data(), part.size());
  Digest inner;
  SHA256_Final(raw(inner), &state);
  return sha256({{outer_key.data(), outer_key.size()}, bytes_of(inner)});
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

Digest random_digest() {
  Digest digest;
  fill_with_random(std::as_writable_bytes(std::span(digest)));
  return digest;
}

std::string sealed(std::string_view key, std::string_view name, std::string_view body) {
  return std::string(bytes_of(mac_of(key, name, body))).append(body);
}

std::optional<std::string> unsealed(std::string_view key, std::string_view name,
                                    std::string_view record) {
  if (record.size() < std::tuple_size_v<Digest>) return std::nullopt;
  const std::string_view mac = record.substr(0, std::tuple_size_v<Digest>);
  const std::string_view body = record.substr(mac.size());
  if (!same_secret(mac, bytes_of(mac_of(key, name, body)))) return std::nullopt;
  return std::string(body);
}

}  // namespace safelaunch::agree
