#include "archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "safelaunch/base/format.h"

namespace safelaunch::report {
namespace {

constexpr std::size_t kBlock = 512;

// The header of a file as POSIX.1-1988 lays it out. Numbers are octal text.
struct Header {
  char name[100] = {};
  char mode[8] = {};
  char uid[8] = {};
  char gid[8] = {};
  char size[12] = {};
  char modified[12] = {};
  char checksum[8] = {};
  char type = '0';
  char link_name[100] = {};
  char magic[6] = {'u', 's', 't', 'a', 'r', '\0'};
  char version[2] = {'0', '0'};
  char user[32] = {};
  char group[32] = {};
  char device_major[8] = {};
  char device_minor[8] = {};
  char prefix[155] = {};
  char unused[12] = {};
};
static_assert(sizeof(Header) == kBlock);

template <std::size_t Size>
void put_octal(char (&field)[Size], std::uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, Size - 1);
  std::memcpy(field, digits.data(), Size - 1);
}

struct SplitName {
  std::string_view prefix;
  std::string_view name;
};

std::optional<SplitName> split(std::string_view path) {
  constexpr std::size_t kName = sizeof(Header::name);
  constexpr std::size_t kPrefix = sizeof(Header::prefix);
  if (path.size() <= kName) return SplitName{{}, path};
  const std::size_t slash = path.find('/', path.size() - kName - 1);
  if (slash == std::string_view::npos || slash > kPrefix) return std::nullopt;
  return SplitName{path.substr(0, slash), path.substr(slash + 1)};
}

// Writes the sum of the header's bytes, with the checksum's own field counted as blanks.
void put_checksum(Header& header) {
  std::memset(header.checksum, ' ', sizeof header.checksum);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  unsigned sum = 0;
  for (std::size_t i = 0; i < sizeof header; ++i) sum += bytes[i];
  const std::string digits = fmt::format("{:06o}", sum);
  std::memcpy(header.checksum, digits.data(), 6);
  header.checksum[6] = '\0';
}

}  // namespace

bool UstarWriter::add(std::string_view name, std::string_view text) {
  const std::optional<SplitName> parts = split(name);
  if (!parts || name.empty()) return false;
  Header header;
  parts->name.copy(header.name, sizeof header.name);
  parts->prefix.copy(header.prefix, sizeof header.prefix);
  put_octal(header.mode, 0600);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_octal(header.size, text.size());
  put_octal(header.modified, static_cast<std::uint64_t>(std::max<std::time_t>(0, modified_)));
  put_checksum(header);
  archive_.append(reinterpret_cast<const char*>(&header), sizeof header);
  archive_.append(text);
  archive_.append((kBlock - text.size() % kBlock) % kBlock, '\0');
  return true;
}

std::string UstarWriter::finish() {
  archive_.append(2 * kBlock, '\0');
  return std::move(archive_);
}

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = MAX_WBITS + 16;  // zlib's way to ask for gzip's header
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  // zlib takes no const input, and does not write to it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int end = deflate(&stream, Z_FINISH);  // the bound has room for all of it
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (end != Z_STREAM_END) throw std::logic_error("zlib's own bound is too small");
  return result;
}

}  // namespace safelaunch::report
