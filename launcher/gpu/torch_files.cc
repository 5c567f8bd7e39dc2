#include "torch_files.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "elf_file.h"
#include "safelaunch/base/user_file.h"

namespace safelaunch::gpu {
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
    const auto line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(line.size() + 1, source.size()));
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
  // conda-forge keeps it among the environment's own libraries.
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

}  // namespace safelaunch::gpu
