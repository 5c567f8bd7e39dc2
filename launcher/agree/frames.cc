#include "frames.h"

#include <algorithm>

#include "codec.h"
#include "safelaunch/base/format.h"

// The number of a body stands in its MAC and not in the frame: both sides count. So a frame that
// was repeated, left out or moved does not open, and costs no byte.
namespace safelaunch::agree {
namespace {

constexpr std::size_t kLengthSize = 4;
constexpr std::size_t kMacSize = 16;  // half of the digest: as RFC 4868 has it for SHA-256

}  // namespace

std::string framed(std::string_view body) {
  Writer frame;
  frame.text(body);
  return frame.take();
}

bool FrameReader::fill(std::string_view& bytes, std::size_t size) {
  const std::size_t wanted = std::min(size - std::min(size, partial_.size()), bytes.size());
  partial_ += bytes.substr(0, wanted);
  bytes.remove_prefix(wanted);
  return partial_.size() >= size;
}

Result<std::optional<std::string>> FrameReader::take(std::string_view& bytes) {
  if (!fill(bytes, kLengthSize)) return std::optional<std::string>();
  Reader head(partial_);
  const std::size_t size = head.number<std::uint32_t>();
  if (size > longest_)
    return Error{Errc::peer_lost,
                 fmt::format("a frame of {} bytes; {} are allowed", size, longest_)};
  if (!fill(bytes, kLengthSize + size)) return std::optional<std::string>();
  std::optional<std::string> body = partial_.substr(kLengthSize);
  partial_ = {};  // gives the memory back, which clear() does not
  return body;
}

std::string Seal::next_mac(std::string_view body) {
  Writer number;
  number.number(number_++);
  return std::string(bytes_of(hmac(bytes_of(key_), {number.take(), body})).substr(0, kMacSize));
}

std::string Seal::close(std::string_view body) {
  std::string sealed(body);
  sealed += next_mac(body);
  return framed(sealed);
}

std::optional<std::string_view> Seal::open(std::string_view sealed) {
  if (sealed.size() < kMacSize) return std::nullopt;
  const std::string_view body = sealed.substr(0, sealed.size() - kMacSize);
  if (!same_secret(next_mac(body), sealed.substr(body.size()))) return std::nullopt;
  return body;
}

}  // namespace safelaunch::agree
