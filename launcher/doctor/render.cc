#include "safelaunch/doctor/render.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"

namespace safelaunch::doctor {
namespace {

using Json = nlohmann::ordered_json;

const char* colour_of(Severity severity) {
  switch (severity) {
    case Severity::blocks: return "1;31";
    case Severity::risk: return "33";
    case Severity::note: return "2";
  }
  return "0";
}

std::string heading(const Finding& finding, Paint paint) {
  const std::string word = fmt::format("{:<8}", name(finding.severity));
  const std::string painted =
      paint == Paint::on ? fmt::format("\x1b[{}m{}\x1b[0m", colour_of(finding.severity), word)
                         : word;
  return fmt::format("{}  {}: {}\n", painted, finding.cause, finding.evidence);
}

Json to_json(const Advice& advice) {
  Json json;
  json["id"] = advice.finding.cause;
  json["severity"] = name(advice.finding.severity);
  json["evidence"] = advice.finding.evidence;
  json["remedy"] = advice.finding.remedy;
  json["fixable"] = advice.can_be_fixed();
  json["files"] = Json::array();
  for (const clean::StaleFile& one : advice.files) json["files"].push_back(one.file.path);
  json["pids"] = Json::array();
  for (const clean::StaleProcess& one : advice.processes)
    json["pids"].push_back(one.process.id.pid);
  return json;
}

Json versions(const HostFacts& facts) {
  Json json = Json::object();
  for (const Package& package : facts.packages) json[package.name] = package.version;
  if (!facts.libraries) return json;
  if (!facts.libraries->torch_version.empty()) json["torch"] = facts.libraries->torch_version;
  if (!facts.libraries->nccl.empty()) json["nccl"] = facts.libraries->nccl.front().version;
  return json;
}

}  // namespace

std::string render_looked_at(std::span<const LookedAt> themes, Paint paint) {
  std::string text;
  for (const LookedAt& theme : themes)
    text += fmt::format("{} {:<11} {}\n",
                        theme.is_well ? paint == Paint::on ? "\x1b[32m✓\x1b[0m" : "✓" : " ",
                        theme.name, theme.seen);
  return text;
}

std::string render_advices(std::span<const Advice> advices, Paint paint) {
  if (advices.empty()) return "nothing stands in the way of a run\n";
  std::string text;
  for (const Advice& advice : advices) {
    text += heading(advice.finding, paint);
    if (!advice.finding.remedy.empty())
      text += fmt::format("          remedy: {}\n", advice.finding.remedy);
  }
  return text;
}

std::string in_one_line(const Finding& finding) {
  const std::string text = fmt::format("{}: {}", finding.cause, finding.evidence);
  return finding.remedy.empty() ? text : fmt::format("{}; remedy: {}", text, finding.remedy);
}

std::string advices_json(const HostFacts& facts, std::span<const Advice> advices,
                         const FixReport& fixed) {
  Json json;
  json["blocked"] = std::ranges::any_of(advices, blocks, &Advice::finding);
  json["findings"] = Json::array();
  for (const Advice& advice : advices) json["findings"].push_back(to_json(advice));
  json["fixed"] = fixed;
  json["versions"] = versions(facts);
  json["looked_at"] = Json::array();
  for (const LookedAt& theme : looked_at(facts, advices))
    json["looked_at"].push_back(
        {{"what", theme.name}, {"seen", theme.seen}, {"ok", theme.is_well}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::doctor
