#include "modes.h"
#include "nccl_library.h"
#include "print_json.h"

namespace safelaunch::probe {
namespace {

using Json = nlohmann::ordered_json;

Result<void> make_id(const NcclLibrary& nccl) {
  ncclUniqueId id;
  return nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
}

}  // namespace

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
