#include "elf_file.h"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

namespace safelaunch::gpu {
namespace {

// A file may be garbage, or made to hurt: no count in it is believed beyond these.
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

/// The loader passes over what is of another class or machine than its own, which is that of our
/// own executable. What names neither is broken: it does not go on from there.
bool is_of_this_machine(const Elf64_Ehdr& header) {
  const auto own = header_of(ElfReader("/proc/self/exe"));
  const auto same = [](unsigned theirs, unsigned ours) { return theirs == 0 || theirs == ours; };
  return own && same(header.e_machine, own->e_machine) &&
         same(header.e_ident[EI_CLASS], own->e_ident[EI_CLASS]);
}

/// The segments that tell where the dynamic section stands, and where addresses lie in the file.
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
  while (!list.empty()) {
    const auto folder = list.substr(0, list.find(':'));
    if (!folder.empty()) folders.push_back(with_origin(folder, origin));
    list.remove_prefix(std::min(folder.size() + 1, list.size()));
  }
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

}  // namespace safelaunch::gpu
