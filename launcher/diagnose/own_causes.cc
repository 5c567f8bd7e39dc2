#include "safelaunch/diagnose/own_causes.h"

#include "safelaunch/base/log.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/trust.h"

namespace safelaunch::diagnose {

std::vector<std::string> own_cause_files(const Environment& environment) {
  std::vector<std::string> files{"/etc/safelaunch/causes.yaml"};
  const std::string folder = profile::user_config_folder(environment);
  if (!folder.empty()) files.push_back(folder + "/causes.yaml");
  return files;
}

Result<Catalogue> load_catalogue(const std::vector<std::string>& files) {
  std::vector<CatalogueText> texts{Catalogue::builtin_text()};
  for (const std::string& file : files) {
    Result<std::optional<std::string>> text = profile::read_trusted_file(file);
    if (!text) return text.error();
    if (*text) texts.push_back({file, std::move(**text)});
  }
  return Catalogue::parse(texts);
}

const Catalogue& catalogue() {
  static const Result<Catalogue> loaded = [] {
    Result<Catalogue> read = load_catalogue(own_cause_files(current_environment()));
    if (!read) log_warning(read.error().message + "; causes of your own do not count");
    return read;
  }();
  return loaded ? *loaded : Catalogue::builtin();
}

}  // namespace safelaunch::diagnose
