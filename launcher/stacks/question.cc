#include "safelaunch/stacks/question.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/host/local_socket.h"

// The answer is JSON up to the end of the connection, so a safelaunch that dies in the middle has
// not answered. The kernel vouches for the user at the other end: anybody may make a socket of this
// name.
namespace safelaunch::stacks {
namespace {

using Json = nlohmann::ordered_json;

// Ten thousand ranks with a hundred frames each say less.
constexpr std::size_t kMostOfAnswer = 256U << 20;

KnownRank rank_from(const Json& json) {
  return {Rank{number_of<int>(json, "rank").value_or(0)},
          {number_of<int>(json, "pid").value_or(0),
           number_of<std::uint64_t>(json, "start_ticks").value_or(0)},
          text_of(json, "standing"),
          text_of(json, "where"),
          text_of(json, "frames"),
          is_true(json, "from_outside"),
          number_of<std::int64_t>(json, "collectives")};
}

/// All that comes until the end of the connection; nullopt where the end does not come in time.
std::optional<std::string> read_until_closed(int fd, TimePoint until) {
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() <= kMostOfAnswer) {
    const auto left = std::chrono::duration_cast<Duration>(until - Clock::now());
    pollfd waited{fd, POLLIN, 0};
    if (left <= Duration::zero() || poll(&waited, 1, static_cast<int>(left.count())) <= 0)
      return std::nullopt;
    const ssize_t size = read(fd, piece.data(), piece.size());
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

}  // namespace

std::string door_of(std::string_view run_id) {
  return fmt::format("@safelaunch/stacks/{}", run_id);
}

std::string answer_text(const SupervisorAnswer& answer) {
  Json json{{"ranks", Json::array()}};
  for (const KnownRank& one : answer.ranks) {
    Json& rank = json["ranks"].emplace_back(Json{{"rank", one.rank.value},
                                                 {"pid", one.process.pid},
                                                 {"start_ticks", one.process.start_ticks},
                                                 {"standing", one.standing},
                                                 {"where", one.where},
                                                 {"frames", one.frames},
                                                 {"from_outside", one.from_outside}});
    if (one.collectives) rank["collectives"] = *one.collectives;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<SupervisorAnswer> read_answer(std::string_view text) {
  const Json json = parse_json<Json>(text);
  if (!json.is_object()) return std::nullopt;
  const auto ranks = json.find("ranks");
  if (ranks == json.end() || !ranks->is_array()) return std::nullopt;
  SupervisorAnswer answer;
  for (const Json& one : *ranks)
    if (one.is_object()) answer.ranks.push_back(rank_from(one));
  return answer;
}

Result<SupervisorAnswer> ask_supervisor(std::string_view run_id, Duration limit) {
  const TimePoint until = Clock::now() + limit;
  const auto fd = host::connect_locally(door_of(run_id), SOCK_STREAM);
  if (!fd) return fd.error();
  // If our safelaunch has no socket, another user may have made one of that name.
  const auto peer = host::peer_of(fd->get());
  if (!peer || peer->uid != geteuid())
    return Error{Errc::os, fmt::format("{} is another user's", door_of(run_id))};
  const auto text = read_until_closed(fd->get(), until);
  auto answer = text ? read_answer(*text) : std::nullopt;
  if (!answer) return Error{Errc::os, "the safelaunch that runs it does not answer"};
  return *answer;
}

}  // namespace safelaunch::stacks
