#include "sealed.h"

#include <tuple>

#include "codec.h"
#include "mac.h"

namespace safelaunch::agree {
namespace {

/// Digits of a MAC in a file's name: 128 bits. A name has room for 255 bytes.
constexpr std::size_t kDigitsInName = 32;

Digest mac_of(std::string_view key, std::string_view name, std::string_view body) {
  return hmac(key, {Writer().text(name).take(), body});
}

}  // namespace

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

std::string sealed_name(std::string_view key, std::string_view name) {
  const std::string mac = hexadecimal(bytes_of(mac_of(key, name, {})));
  return std::string(name).append(".").append(mac, 0, kDigitsInName);
}

std::optional<std::string_view> unsealed_name(std::string_view key, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view bare = name.substr(0, dot);
  if (!same_secret(sealed_name(key, bare), name)) return std::nullopt;
  return bare;
}

}  // namespace safelaunch::agree
