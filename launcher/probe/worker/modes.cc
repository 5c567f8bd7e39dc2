#include "modes.h"

#include "opened_libraries.h"
#include "probe_device.h"

// The driver's mode prints one object when all is known. NCCL's mode prints the version before it
// asks for an id, so that the parent has the version even where that call hangs.
namespace safelaunch::probe {
namespace {

Result<std::vector<std::string>> gpu_names(const CudaDriver& cuda) {
  const auto count = count_gpus(cuda);
  if (!count) return count.error();
  std::vector<std::string> names;
  for (int i = 0; i < *count; ++i) {
    CUdevice device = 0;
    if (const auto found = cuda.check(cuda.device(&device, i), "cuDeviceGet"); !found)
      return found.error();
    auto name = name_of_gpu(cuda, device);
    if (!name) return name.error();
    names.push_back(std::move(*name));
  }
  return names;
}

/// `lacking`: what is not here at all, so that nothing is ill.
int refuse(const Error& error, const char* lacking) {
  nlohmann::ordered_json object{{"failed", error.message}};
  if (error.code == Errc::not_found) object["lacks"] = lacking;
  print_json(object);
  return 1;
}

using Json = nlohmann::ordered_json;

Result<void> make_id(const NcclLibrary& nccl) {
  ncclUniqueId id;
  return nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
}

}  // namespace

int show_driver() {
  const auto cuda = CudaDriver::open();
  if (!cuda) return refuse(cuda.error(), "driver");
  const auto names = gpu_names(*cuda);
  if (!names) return refuse(names.error(), "gpu");
  int version = 0;
  (void)cuda->version(&version);
  print_json({{"cuda", version}, {"gpus", *names}});
  return 0;
}

int show_nccl(const std::string& file) {
  const auto nccl = NcclLibrary::open(file);
  const auto version = nccl ? nccl->version_text() : Result<std::string>(nccl.error());
  if (!version) {
    print_json(Json{{"failed", version.error().message}});
    return 1;
  }
  // Before the id, which may take long where a network is ill.
  print_json(Json{{"nccl", *version}, {"file", file}});
  const auto made = make_id(*nccl);
  print_json(made ? Json{{"unique_id", true}} : Json{{"failed", made.error().message}});
  return made ? 0 : 1;
}
}  // namespace safelaunch::probe
