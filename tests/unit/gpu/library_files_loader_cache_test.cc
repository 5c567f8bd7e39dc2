#include "launcher/gpu/library_files.h"

#include <array>
#include <cstdint>

#include "catch.h"

namespace safelaunch::gpu {
namespace {

/// The bytes that ldconfig writes for pairs of name and path.
std::string made_cache(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string strings;
  std::string table;
  const auto begin = static_cast<std::uint32_t>(48 + 24 * entries.size());
  const auto add = [&](const std::string& text) {
    const auto at = begin + static_cast<std::uint32_t>(strings.size());
    strings += text;
    strings.push_back('\0');
    return at;
  };
  for (const auto& [name, path] : entries) {
    const std::array<std::uint32_t, 6> entry{0x0303, add(name), add(path), 0, 0, 0};
    table.append(reinterpret_cast<const char*>(entry.data()), sizeof entry);
  }
  const std::array<std::uint32_t, 7> counts{static_cast<std::uint32_t>(entries.size()),
                                            static_cast<std::uint32_t>(strings.size())};
  std::string header = "glibc-ld.so.cache1.1";
  header.append(reinterpret_cast<const char*>(counts.data()), sizeof counts);
  return header + table + strings;
}

using Paths = std::vector<std::string>;

TEST_CASE("the loader's cache gives the paths of a name in its order") {
  const auto cache = made_cache({{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"},
                                 {"libcuda.so", "/usr/lib/libcuda.so"},
                                 {"libcuda.so.1", "/usr/lib/libcuda.so.1"}});
  CHECK(cached_paths(cache, "libcuda.so.1") ==
        Paths{"/usr/lib/wsl/lib/libcuda.so.1", "/usr/lib/libcuda.so.1"});
  CHECK(cached_paths(cache, "libnccl.so.2").empty());
}

TEST_CASE("a cache of the older form has the newer one behind it") {
  const auto cache = "ld.so-1.7.0" + std::string(37, '\0') + made_cache({{"libnccl.so.2", "/n"}});
  CHECK(cached_paths(cache, "libnccl.so.2") == Paths{"/n"});
}

TEST_CASE("a cache that was cut anywhere gives what is left of it, and no more") {
  const auto cache = made_cache({{"libnccl.so.2", "/usr/lib/libnccl.so.2"}});
  for (std::size_t size = 0; size < cache.size(); ++size)
    for (const auto& path : cached_paths(cache.substr(0, size), "libnccl.so.2"))
      CHECK(std::string_view("/usr/lib/libnccl.so.2").starts_with(path));
}

}  // namespace
}  // namespace safelaunch::gpu
