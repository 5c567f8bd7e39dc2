#include "network.h"

#include <arpa/inet.h>

#include <charconv>
#include <vector>

#include "safelaunch/base/format.h"

namespace safelaunch::profile {
namespace {

using Bytes = std::vector<unsigned char>;

// An address as its 4 or 16 bytes; empty for what is none.
Bytes address_bytes(std::string_view text) {
  const std::string word(text);
  Bytes bytes(sizeof(in6_addr));
  if (inet_pton(AF_INET6, word.c_str(), bytes.data()) == 1) return bytes;
  if (inet_pton(AF_INET, word.c_str(), bytes.data()) != 1) return {};
  bytes.resize(sizeof(in_addr));
  return bytes;
}

struct Network {
  Bytes base;
  unsigned bits = 0;
};

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Network network{address_bytes(text.substr(0, slash))};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, network.bits);
  const bool right = read.ec == std::errc{} && read.ptr == end && !network.base.empty() &&
                     network.bits <= 8 * network.base.size();
  return right ? std::optional(network) : std::nullopt;
}

bool same_bits(const Bytes& a, const Bytes& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<unsigned char>(0x80U >> bit % 8);
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> refuse_network(std::string_view network) {
  if (parse_network(network)) return std::nullopt;
  return fmt::format("'{}' is not a network such as 10.8.0.0/16 or fd00::/8", network);
}

bool is_in_network(std::string_view address, std::string_view network) {
  const std::optional<Network> parsed = parse_network(network);
  const Bytes bytes = address_bytes(address);
  return parsed && bytes.size() == parsed->base.size() &&
         same_bits(bytes, parsed->base, parsed->bits);
}

}  // namespace safelaunch::profile
