#include "safelaunch/nodes/node_evidence.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// A node's words must fit on the board with those of all others, so its streams share 32 KiB, and
// each keeps its end: that is where a failure shows. The text of another node is read with the same
// bounds, since it may be of another version.
namespace safelaunch::nodes {
namespace {

using EvidenceJson = nlohmann::json;

// For all streams of a node together; a traceback takes two or three.
constexpr std::size_t kMostOfANode = 32 * 1024;
constexpr std::size_t kMostOutputs = 64;
constexpr std::size_t kLongestRemark = 1'024;

std::string_view end_of(std::string_view text, std::size_t longest) {
  return text.size() <= longest ? text : text.substr(text.size() - longest);
}

}  // namespace

std::string to_text(const diagnose::Evidence& evidence) {
  const std::size_t count = std::clamp<std::size_t>(evidence.output.size(), 1, kMostOutputs);
  EvidenceJson outputs = EvidenceJson::array();
  for (const diagnose::Output& output : evidence.output) {
    if (outputs.size() == kMostOutputs) break;
    EvidenceJson one{{"source", output.source},
                     {"text", end_of(output.text, kMostOfANode / count)}};
    if (output.rank) one["rank"] = output.rank->value;
    outputs.push_back(std::move(one));
  }
  EvidenceJson remarks = EvidenceJson::array();
  for (const std::string& remark : evidence.remarks) remarks.push_back(cut(remark, kLongestRemark));
  return EvidenceJson{{"outputs", outputs}, {"remarks", remarks}}.dump(
      -1, ' ', false, EvidenceJson::error_handler_t::replace);
}

Result<void> add_evidence(std::string_view text, const ranks::NodeName& node,
                          diagnose::Evidence& evidence) {
  const EvidenceJson json = parse_json<EvidenceJson>(text);
  if (!json.is_object())
    return Error{
        Errc::peer_lost,
        fmt::format("node {} ({}) sent an unreadable report of its attempt", node.seat, node.host)};
  for (const EvidenceJson& one : array_of(json, "outputs")) {
    if (evidence.output.size() >= kMostOutputs * 16) break;
    diagnose::Output output;
    output.source = fmt::format("{}/{}", node.host, text_of(one, "source", kLongestRemark));
    if (const auto rank = number_of(one, "rank", 0, 10'000'000)) output.rank = Rank{*rank};
    output.text = text_of(one, "text", kMostOfANode);
    evidence.output.push_back(std::move(output));
  }
  for (const std::string& remark : texts_of(json, "remarks", kMostOutputs, kLongestRemark))
    evidence.remarks.push_back(fmt::format("{}: {}", node.host, remark));
  return {};
}

void add_failed(int seat, const std::vector<ranks::RankPicture>& ranks, ranks::RanksSeen& seen) {
  for (const ranks::RankPicture& one : ranks) {
    const bool failed = one.ended && one.status && !succeeded(*one.status);
    if (!failed || std::ranges::find(seen.exits, one.rank, &RankExited::rank) != seen.exits.end())
      continue;
    ProcessId process = one.process;
    process.node = seat;
    seen.exits.push_back({one.rank, process, one.status});
    if (!one.raised) continue;
    RankRaised raised = *one.raised;
    raised.process = process;
    ranks::note_raised(seen.raised, std::move(raised));
  }
}

void add_hosts(const std::map<int, std::string>& hosts, diagnose::Evidence& evidence) {
  const auto add = [&](const auto& deeds) {
    for (const auto& deed : deeds)
      if (const auto host = hosts.find(deed.process.node);
          !deed.process.is_here() && host != hosts.end())
        evidence.hosts[deed.rank] = host->second;
  };
  add(evidence.failure.raised);
  add(evidence.failure.ended);
  add(evidence.ended_in_stop);
}

}  // namespace safelaunch::nodes
