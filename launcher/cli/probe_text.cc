#include "probe_text.h"

#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/diagnose/catalogue.h"

// A probe's result is a table for people and an object for programs. Both are made of the same
// values.
namespace safelaunch::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The cause in the catalogue's words, else what the rank said.
std::string words_for(const probe::ProbedProfile& probed) {
  if (probed.cause.empty()) return tr(probe::reason(probed.verdict));
  return fmt::format("{} ({})", tr(diagnose::catalogue().at(probed.cause).title), probed.cause);
}

std::string init_column(const probe::Verdict& verdict) {
  const auto* works = std::get_if<probe::Works>(&verdict);
  return works != nullptr ? fmt::format("{:.0f} ms", works->init_ms) : "-";
}

std::string bandwidth_column(const probe::Verdict& verdict) {
  const auto* works = std::get_if<probe::Works>(&verdict);
  if (works == nullptr || !works->bus_gb_per_s) return "-";
  return fmt::format("{:.{}f} GB/s", *works->bus_gb_per_s, *works->bus_gb_per_s < 10 ? 2 : 1);
}

const char* kind_of(const probe::Verdict& verdict) {
  constexpr std::array kKinds{"works", "failed", "hung", "not probed"};
  return kKinds[verdict.index()];
}

Json failures_json(const probe::Failed& failed) {
  Json failures = Json::array();
  for (const probe::RankFailure& one : failed.failures)
    failures.push_back({{"rank", one.rank}, {"phase", name(one.phase)}, {"words", one.words}});
  return failures;
}

Json row_json(const probe::ProbedProfile& probed) {
  Json row{{"profile", probed.profile}, {"verdict", kind_of(probed.verdict)}};
  if (const auto* works = std::get_if<probe::Works>(&probed.verdict)) {
    row["init_ms"] = works->init_ms;
    row["first_all_reduce_ms"] = works->first_all_reduce_ms;
    row["bus_gb_per_s"] = works->bus_gb_per_s ? Json(*works->bus_gb_per_s) : Json();
    return row;
  }
  if (const auto phase = probe::stopped_at(probed.verdict)) row["phase"] = name(*phase);
  if (const auto* hung = std::get_if<probe::Hung>(&probed.verdict)) row["ranks"] = hung->ranks;
  if (const auto* failed = std::get_if<probe::Failed>(&probed.verdict))
    row["failures"] = failures_json(*failed);
  row["why"] = probe::reason(probed.verdict);
  if (!probed.cause.empty()) row["cause"] = probed.cause;
  return row;
}

}  // namespace

std::string version_text(const probe::NcclSurvey& nccl) {
  return nccl.version ? to_string(*nccl.version) : "of unknown version";
}

std::string profile_json(const probe::ProbedProfile& probed) {
  return row_json(probed).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string render_nccl(const ProbeGround& ground) {
  const probe::NcclSurvey& nccl = ground.nccl;
  std::string text = fmt::format("NCCL {} ({}: {})", tr(version_text(nccl)), tr(ground.nccl_origin),
                                 ground.nccl_file);
  if (!nccl.failure.empty())
    return text + "\n" + tr("  no rank could meet another: {}", nccl.failure) + "\n";
  if (!nccl.interface.empty())
    text += "\n" + tr("  ranks meet over {} ({})", nccl.interface, nccl.address);
  return text + "\n";
}

std::string render_driver(const ProbeGround& ground) {
  const auto& gpus = ground.driver.names;
  const int count = static_cast<int>(gpus.size());
  std::string text =
      fmt::format("{} GPU{} ({}), CUDA {}, {} rank{}", count, count == 1 ? "" : "s", gpus.front(),
                  ground.driver.cuda, ground.ranks, ground.ranks == 1 ? "" : "s");
  if (ground.ranks > count)
    text += "\n" + tr("  ranks share a GPU: what follows tells nothing of links between GPUs");
  return text + "\n";
}

std::string render_probe_header(std::size_t width) {
  return fmt::format("\n{:<{}}  {:>9}  {:>11}\n", "profile", width, "init", tr("bandwidth"));
}

std::string render_probe_row(const probe::ProbedProfile& probed, int ranks, std::size_t width) {
  const std::string why = words_for(probed);
  const bool untold = std::holds_alternative<probe::Untold>(probed.verdict);
  return fmt::format("{:<{}}  {:>9}  {:>11}  {}{}{}\n", probed.profile, width,
                     init_column(probed.verdict), bandwidth_column(probed.verdict),
                     tr(probe::steps(probed.verdict, ranks)),
                     untold        ? ": "
                     : why.empty() ? ""
                                   : " ",
                     why);
}

std::string render_conclusion(const probe::Conclusion& conclusion) {
  std::string text = fmt::format("\n{}\n", tr(conclusion.sentence));
  if (!conclusion.use.empty()) text += tr("use: {}", conclusion.use) + "\n";
  return text;
}

std::string probe_json(const ProbeGround& ground, std::span<const probe::ProbedProfile> probed,
                       const probe::Conclusion& conclusion) {
  Json rows = Json::array();
  for (const probe::ProbedProfile& one : probed) rows.push_back(row_json(one));
  const Json object{{"nccl",
                     {{"file", ground.nccl_file},
                      {"version", ground.nccl.version ? to_string(*ground.nccl.version) : ""},
                      {"interface", ground.nccl.interface},
                      {"address", ground.nccl.address}}},
                    {"cuda", ground.driver.cuda},
                    {"gpus", ground.driver.names},
                    {"ranks", ground.ranks},
                    {"profiles", rows},
                    {"fastest", conclusion.profile},
                    {"conclusion", conclusion.sentence},
                    {"use", conclusion.use}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::cli
