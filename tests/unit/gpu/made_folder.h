#pragma once

#include <elf.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::testing {

/// The bytes of a shared library that does nothing: just what the loader reads first.
class MadeLibrary {
 public:
  MadeLibrary& needs(std::string_view name) { return entry(DT_NEEDED, name); }
  MadeLibrary& rpath(std::string_view folders) { return entry(DT_RPATH, folders); }
  MadeLibrary& runpath(std::string_view folders) { return entry(DT_RUNPATH, folders); }
  MadeLibrary& of_machine(Elf64_Half machine) {
    machine_ = machine;
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    const std::size_t dynamic_size = (entries_.size() + 2) * sizeof(Elf64_Dyn);
    const std::size_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    const std::size_t names_at = dynamic_at + dynamic_size;
    std::string bytes;
    append(bytes, header());
    append(bytes, segment(PT_LOAD, 0, names_at + names_.size()));
    append(bytes, segment(PT_DYNAMIC, dynamic_at, dynamic_size));
    for (const auto& one : entries_) append(bytes, one);
    append(bytes, made_entry(DT_STRTAB, kAddress + names_at));
    append(bytes, made_entry(DT_NULL, 0));
    return bytes + names_;
  }

 private:
  static constexpr std::size_t kAddress = 0x10000;  // where the file would be mapped

  static Elf64_Dyn made_entry(Elf64_Sxword tag, std::size_t value) {
    Elf64_Dyn made{};
    made.d_tag = tag;
    made.d_un.d_val = value;
    return made;
  }

  [[nodiscard]] Elf64_Ehdr header() const {
    Elf64_Ehdr made{};
    std::memcpy(made.e_ident, ELFMAG, SELFMAG);
    made.e_ident[EI_CLASS] = ELFCLASS64;
    made.e_machine = machine_;
    made.e_phoff = sizeof(Elf64_Ehdr);
    made.e_phnum = 2;
    return made;
  }

  static Elf64_Phdr segment(Elf64_Word type, std::size_t offset, std::size_t size) {
    Elf64_Phdr made{};
    made.p_type = type;
    made.p_offset = offset;
    made.p_vaddr = kAddress + offset;
    made.p_filesz = size;
    return made;
  }

  MadeLibrary& entry(Elf64_Sxword tag, std::string_view text) {
    entries_.push_back(made_entry(tag, names_.size()));
    names_.append(text).push_back('\0');
    return *this;
  }

  template <class Value>
  static void append(std::string& bytes, const Value& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  static Elf64_Half our_machine() {
    Elf64_Ehdr own{};
    std::ifstream("/proc/self/exe", std::ios::binary)
        .read(reinterpret_cast<char*>(&own), sizeof own);
    return own.e_machine;
  }

  Elf64_Half machine_ = our_machine();
  std::vector<Elf64_Dyn> entries_;
  std::string names_ = std::string(1, '\0');
};

/// A folder with whatever a test puts into it, gone at its end.
class MadeFolder {
 public:
  MadeFolder() {
    std::string name = std::filesystem::temp_directory_path() / "safelaunch-gpu-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  ~MadeFolder() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(std::string_view below = {}) const {
    return below.empty() ? root_.string() : (root_ / below).string();
  }

  /// Writes a file and the folders above it; gives its path.
  std::string file(std::string_view below, std::string_view text = {}) const {
    const std::filesystem::path made = root_ / below;
    std::filesystem::create_directories(made.parent_path());
    std::ofstream(made, std::ios::binary) << text;
    return made.string();
  }

  std::string library(std::string_view below, const MadeLibrary& made = {}) const {
    return file(below, made.bytes());
  }

  /// A library whose text says its version, as NCCL's does.
  std::string nccl(std::string_view below, std::string_view version) const {
    return file(below,
                MadeLibrary().bytes() + "NCCL version " + std::string(version) + "+cuda13.0");
  }

  std::string folder(std::string_view below) const {
    std::filesystem::create_directories(root_ / below);
    return path(below);
  }

  std::string link(std::string_view below, std::string_view target) const {
    std::filesystem::create_directories((root_ / below).parent_path());
    std::filesystem::create_symlink(target, root_ / below);
    return path(below);
  }

  /// A file that exec would take.
  std::string program(std::string_view below) const {
    const std::string made = library(below);
    std::filesystem::permissions(made, std::filesystem::perms::owner_all);
    return made;
  }

 private:
  std::filesystem::path root_;
};

/// A virtual environment of Python 3.11 in a made folder.
class MadeVenv : public MadeFolder {
 public:
  MadeVenv() {
    program("venv/bin/python");
    file("venv/pyvenv.cfg", "home = " + path("base/bin") +
                                "\ninclude-system-site-packages = false\nversion = 3.11.7\n");
    folder(kPackages);
  }

  [[nodiscard]] std::string python() const { return path("venv/bin/python"); }
  [[nodiscard]] static std::string in_packages(std::string_view below) {
    return std::string(kPackages) + "/" + std::string(below);
  }

  /// A torch with a CUDA library as the wheels have it, but for what is given.
  void torch(const MadeLibrary& cuda_library) const {
    file(in_packages("torch/version.py"),
         "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda']\n"
         "__version__ = '2.13.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n"
         "hip: Optional[str] = None\n");
    library(in_packages("torch/lib/libtorch_cuda.so"), cuda_library);
  }

 private:
  static constexpr std::string_view kPackages = "venv/lib/python3.11/site-packages";
};

}  // namespace safelaunch::testing
