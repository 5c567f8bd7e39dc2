#include "loader_cache.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace safelaunch::gpu {
namespace {

/// As glibc's sysdeps/generic/dl-cache.h has them. Older hosts put a table of an older form in
/// front.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[20];
  std::uint32_t count;
  std::uint32_t bytes_of_strings;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;  ///< offsets of strings, counted from the header
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

template <class Value>
std::optional<Value> read(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view string_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  bytes.remove_prefix(offset);
  return bytes.substr(0, bytes.find('\0'));
}

}  // namespace

std::vector<std::string> cached_paths(std::string_view cache, std::string_view soname) {
  std::vector<std::string> paths;
  const auto begin = cache.find(kMagic);
  if (begin == std::string_view::npos) return paths;
  cache.remove_prefix(begin);
  const auto header = read<CacheHeader>(cache, 0);
  for (std::size_t i = 0; header && i < header->count; ++i) {
    const auto entry = read<CacheEntry>(cache, sizeof(CacheHeader) + i * sizeof(CacheEntry));
    if (!entry) break;
    if (string_at(cache, entry->name) == soname) paths.emplace_back(string_at(cache, entry->path));
  }
  return paths;
}

}  // namespace safelaunch::gpu
