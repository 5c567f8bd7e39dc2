#include "library_files.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// Reads the few facts that decide which library a job loads, each from one kind of file: an ELF
// file's own search path, the loader's cache, torch's version file, the names of wheels. Every file
// may be garbage, so each size and offset is checked before it is used.
namespace safelaunch::gpu {

// ---- ELF files ----------------------------------------------------------------------------------

namespace {

// A file may be garbage, or made to do harm, so no count in it is believed beyond these.
constexpr std::size_t kMostSegments = 128;
constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kLongestName = 16'384;  // torch's RPATH alone has a kilobyte

class ElfReader {
 public:
  explicit ElfReader(const std::string& path) {
    if (Result<UniqueFd> file = open_user_file(path)) fd_ = std::move(*file);
  }

  template <class Value>
  [[nodiscard]] std::optional<Value> read(std::size_t offset) const {
    Value value;
    const auto size = ::pread(fd_.get(), &value, sizeof value, static_cast<off_t>(offset));
    return size == sizeof value ? std::optional(value) : std::nullopt;
  }

  [[nodiscard]] std::string text_at(std::size_t offset) const {
    std::string text(kLongestName, '\0');
    const auto size = ::pread(fd_.get(), text.data(), text.size(), static_cast<off_t>(offset));
    text.resize(size > 0 ? ::strnlen(text.data(), static_cast<std::size_t>(size)) : 0);
    return text;
  }

 private:
  UniqueFd fd_;
};

std::optional<Elf64_Ehdr> header_of(const ElfReader& file) {
  const auto header = file.read<Elf64_Ehdr>(0);
  const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
  return is_elf ? header : std::nullopt;
}

/// True if the loader would take the file. It passes over files of another class or machine than
/// its own, and its own is that of our executable. A file that names neither is broken; the loader
/// stops at it.
bool is_of_this_machine(const Elf64_Ehdr& header) {
  const auto own = header_of(ElfReader("/proc/self/exe"));
  const auto same = [](unsigned theirs, unsigned ours) { return theirs == 0 || theirs == ours; };
  return own && same(header.e_machine, own->e_machine) &&
         same(header.e_ident[EI_CLASS], own->e_ident[EI_CLASS]);
}

/// The segments that tell where the dynamic section stands, and where an address lies in the file.
struct Segments {
  std::vector<Elf64_Phdr> loaded;
  std::optional<Elf64_Phdr> dynamic;

  [[nodiscard]] std::optional<std::size_t> offset_of(std::size_t address) const {
    for (const auto& segment : loaded)
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return std::nullopt;
  }
};

Segments segments_of(const ElfReader& file, const Elf64_Ehdr& header) {
  Segments segments;
  for (std::size_t i = 0; i < header.e_phnum && i < kMostSegments; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    if (segment->p_type == PT_LOAD) segments.loaded.push_back(*segment);
    if (segment->p_type == PT_DYNAMIC) segments.dynamic = *segment;
  }
  return segments;
}

std::vector<Elf64_Dyn> dynamic_entries(const ElfReader& file, const Segments& segments) {
  std::vector<Elf64_Dyn> entries;
  if (!segments.dynamic) return entries;
  while (entries.size() < kMostEntries) {
    const auto entry =
        file.read<Elf64_Dyn>(segments.dynamic->p_offset + entries.size() * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    entries.push_back(*entry);
  }
  return entries;
}

std::string with_origin(std::string_view folder, std::string_view origin) {
  for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
    if (folder.starts_with(word))
      return std::string(origin) + std::string(folder.substr(word.size()));
  return std::string(folder);
}

std::vector<std::string> folders_in(std::string_view list, std::string_view origin) {
  std::vector<std::string> folders;
  while (!list.empty())
    if (const auto folder = take_word(list, ':'); !folder.empty())
      folders.push_back(with_origin(folder, origin));
  return folders;
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
  const ElfReader file(path);
  const auto header = header_of(file);
  if (!header || !is_of_this_machine(*header)) return std::nullopt;
  const Segments segments = segments_of(file, *header);
  const auto entries = dynamic_entries(file, segments);

  std::optional<std::size_t> names;
  for (const auto& entry : entries)
    if (entry.d_tag == DT_STRTAB) names = segments.offset_of(entry.d_un.d_ptr);
  ElfFile elf;
  if (!names) return elf;
  const std::string origin = path.substr(0, path.rfind('/'));
  for (const auto& entry : entries) {
    const auto text = [&] { return file.text_at(*names + entry.d_un.d_val); };
    if (entry.d_tag == DT_NEEDED) elf.needed.push_back(text());
    if (entry.d_tag == DT_RPATH) elf.rpath = folders_in(text(), origin);
    if (entry.d_tag == DT_RUNPATH) elf.runpath = folders_in(text(), origin);
  }
  return elf;
}

bool is_loadable(const std::string& path) {
  const auto header = header_of(ElfReader(path));
  return header && is_of_this_machine(*header);
}

// ---- the loader's cache -------------------------------------------------------------------------

namespace {

/// The cache's format, from glibc's sysdeps/generic/dl-cache.h. Older hosts have a table of an
/// older form in front of it.
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

// ---- torch's files ------------------------------------------------------------------------------

namespace {

/// The folder of the torch package; empty where there is none.
std::string torch_folder(const PythonPlaces& python) {
  std::error_code error;
  for (const auto& packages : python.packages)
    if (std::filesystem::exists(packages + "/torch/version.py", error)) return packages + "/torch";
  return {};
}

}  // namespace

std::string python_text(std::string_view source, std::string_view name) {
  while (!source.empty()) {
    const auto line = take_word(source, '\n');
    const bool is_it = line.starts_with(name) && line.size() > name.size() &&
                       (line[name.size()] == ':' || line[name.size()] == ' ');
    const auto first = is_it ? line.find_first_of("'\"") : std::string_view::npos;
    if (first == std::string_view::npos) continue;
    const auto text = line.substr(first + 1);
    return std::string(text.substr(0, text.find(line[first])));
  }
  return {};
}

TorchFiles read_torch(const PythonPlaces& python) {
  constexpr std::size_t kLongest = 4096;
  TorchFiles torch;
  const std::string folder = torch_folder(python);
  if (folder.empty()) return torch;
  const std::string source = user_file_text(folder + "/version.py", kLongest).value_or("");
  torch.version = python_text(source, "__version__");
  torch.cuda = python_text(source, "cuda");
  // conda-forge keeps the library among those of the environment.
  for (const auto& library : {folder + "/lib", python.prefix + "/lib"}) {
    const auto elf = read_elf(library + "/libtorch_cuda.so");
    if (!elf) continue;
    const auto is_nccl = [](const std::string& name) { return name.starts_with("libnccl.so"); };
    torch.holds_nccl = std::ranges::none_of(elf->needed, is_nccl);
    torch.rpath = elf->rpath;
    torch.runpath = elf->runpath;
    break;
  }
  return torch;
}

// ---- versions -----------------------------------------------------------------------------------

namespace {

/// The digits and dots that `text` begins with.
std::string_view numbers_at(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789."));
}

bool is_version(std::string_view numbers) {
  return !numbers.ends_with('.') && std::ranges::count(numbers, '.') >= 2;
}

/// The wheels that may have brought PACKAGES/nvidia/nccl/lib/libnccl.so.2.
std::vector<std::string> wheels_of(const std::filesystem::path& library) {
  const auto folder = library.parent_path();
  if (!folder.string().ends_with("/nvidia/nccl/lib")) return {};
  return nccl_wheels_in(folder.parent_path().parent_path().parent_path().string());
}

}  // namespace

std::string version_in_file_name(std::string_view file) {
  constexpr std::string_view kBefore = ".so.";
  const auto found = file.rfind(kBefore);
  if (found == std::string_view::npos) return {};
  const auto numbers = file.substr(found + kBefore.size());
  return numbers_at(numbers) == numbers && is_version(numbers) ? std::string(numbers)
                                                               : std::string();
}

std::string version_of_wheel(std::string_view wheel) {
  const auto dash = wheel.rfind('-');
  return dash == std::string_view::npos ? std::string() : std::string(wheel.substr(dash + 1));
}

std::vector<std::string> nccl_wheels_in(const std::string& packages) {
  constexpr std::string_view kBegin = "nvidia_nccl_cu";
  constexpr std::string_view kEnd = ".dist-info";
  std::vector<std::string> wheels;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd))
      wheels.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  std::ranges::sort(wheels);
  return wheels;
}

std::string nccl_version_inside(const std::string& path) {
  // The words stand among the library's constants, at 4 MB in 2.32.3. The hundreds of megabytes for
  // GPUs come after them.
  constexpr std::size_t kSearched = std::size_t{32} << 20;
  constexpr std::string_view kBefore = "NCCL version ";
  const std::string bytes = user_file_text(path, kSearched).value_or("");
  const std::string_view all = bytes;
  for (auto at = all.find(kBefore); at != std::string_view::npos; at = all.find(kBefore, at + 1)) {
    const auto numbers = numbers_at(all.substr(at + kBefore.size(), 32));
    if (is_version(numbers)) return std::string(numbers);
  }
  return {};
}

std::string version_of_library(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (auto version = version_in_file_name(real.filename().string()); !version.empty())
    return version;
  if (!real.filename().string().starts_with("libnccl.")) return {};
  // If two wheels have overwritten each other's library, only the library itself knows its
  // version.
  if (const auto wheels = wheels_of(real); wheels.size() == 1) return version_of_wheel(wheels[0]);
  return nccl_version_inside(path);
}

}  // namespace safelaunch::gpu
