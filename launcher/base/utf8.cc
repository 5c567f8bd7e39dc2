#include "safelaunch/base/utf8.h"

namespace safelaunch {
namespace {

struct Lead {
  std::size_t length;
  char32_t bits;
  char32_t smallest;  // a lower value in this form is overlong
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xc0 && byte < 0xe0) return {2, byte & 0x1fU, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {3, byte & 0x0fU, 0x800};
  if (byte >= 0xf0 && byte < 0xf8) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

bool is_scalar(char32_t value) {
  return value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead lead = lead_of(byte_at(0));
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {CodePoint::Kind::incomplete, 0, i};
    if ((byte_at(i) & 0xc0U) != 0x80) return {};
    value = (value << 6U) | (byte_at(i) & 0x3fU);
  }
  if (lead.length == 0 || value < lead.smallest || !is_scalar(value)) return {};
  return {CodePoint::Kind::valid, value, lead.length};
}

}  // namespace safelaunch
