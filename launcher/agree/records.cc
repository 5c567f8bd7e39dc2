#include "records.h"

#include "codec.h"
#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A record is read field by field in the order in which it is written. Where anything is missing or
// left over it counts as none, since another version may have written it. An agent joins a board
// only if job, nodes and terms are the same for both: agents with different leases would not agree
// on when a seat is free.
namespace safelaunch::agree {
namespace {

constexpr std::string_view kRecordVersion = "safelaunch board 2";
constexpr std::size_t kLongestJobName = 64;

Duration read_duration(Reader& reader) {
  return Duration(reader.number<std::int64_t>());
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string to_bytes(const BoardRecord& record) {
  return Writer()
      .text(kRecordVersion)
      .text(record.id)
      .text(record.job)
      .number(record.seats)
      .number(std::int64_t{record.terms.lease.count()})
      .number(std::int64_t{record.terms.renew_every.count()})
      .number(std::int64_t{record.terms.kill_margin.count()})
      .take();
}

std::optional<BoardRecord> board_record(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.text() != kRecordVersion) return std::nullopt;
  BoardRecord record;
  record.id = reader.text();
  record.job = reader.text();
  record.seats = reader.number<int>();
  record.terms.lease = read_duration(reader);
  record.terms.renew_every = read_duration(reader);
  record.terms.kill_margin = read_duration(reader);
  return reader.whole() ? std::optional(record) : std::nullopt;
}

std::string to_bytes(const NewsRecord& record) {
  return Writer()
      .text(record.incarnation)
      .number(record.version)
      .text(record.host)
      .text(record.text)
      .take();
}

std::optional<NewsRecord> news_record(std::string_view bytes) {
  Reader reader(bytes);
  NewsRecord record;
  record.incarnation = reader.text();
  record.version = reader.number<std::uint64_t>();
  record.host = reader.text();
  record.text = reader.text();
  return reader.whole() ? std::optional(record) : std::nullopt;
}

std::optional<std::string> difference(const BoardRecord& board, const Claim& claim,
                                      const Terms& terms) {
  if (board.job != claim.job)
    return fmt::format("it belongs to job '{}', not to '{}'", board.job, claim.job);
  if (board.seats != claim.seats)
    return fmt::format("the board is for {} nodes, and this node expects {}", board.seats,
                       claim.seats);
  const auto differs = [](const char* name, Duration there, Duration here) {
    return fmt::format("the board has a {} of {}, and this node has {}", name,
                       format_duration(there), format_duration(here));
  };
  if (board.terms.lease != terms.lease) return differs("lease", board.terms.lease, terms.lease);
  if (board.terms.renew_every != terms.renew_every)
    return differs("time between renewals", board.terms.renew_every, terms.renew_every);
  if (board.terms.kill_margin != terms.kill_margin)
    return differs("margin to kill", board.terms.kill_margin, terms.kill_margin);
  return std::nullopt;
}

std::string not_taken_in_words(const Word& word, int seat, std::uint64_t number,
                               std::uint64_t generation) {
  return fmt::format(
      "the board does not take word {} of generation {} from node {}: it is at word {} of "
      "generation {}",
      word.number, word.generation, seat, number, generation);
}

std::string random_id() {
  return to_hex(bytes_of(random_digest()).substr(0, 16));
}

std::string plain_job_name(std::string_view job) {
  std::string name;
  for (const char c : job.substr(0, kLongestJobName)) name += is_plain(c) ? c : '_';
  return name + "-" + to_hex(bytes_of(hmac("safelaunch job", {job})).substr(0, 6));
}

}  // namespace safelaunch::agree
