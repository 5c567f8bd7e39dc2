#include "nccl/ras.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "nccl/settings.h"
#include "nccl/version.h"
#include "nccl/wire.h"

namespace safelaunch::testing {
namespace {

constexpr int kPatienceMs = 2'000;  // for a process that is stopped

/// Of whom a process asks another.
struct Question {
  std::uint64_t comm;
  int rank;
};

/// All that this process is a rank of. Never freed: its threads look until the process ends.
struct Members {
  std::mutex mutex;
  std::vector<std::weak_ptr<RasMember>> list;
};
Members& members() {
  static auto& all = *new Members;
  return all;
}

std::shared_ptr<RasMember> find(const Question& question) {
  const std::lock_guard lock(members().mutex);
  for (const auto& one : members().list)
    if (auto member = one.lock();
        member && member->comm == question.comm && member->self.rank == question.rank)
      return member;
  return nullptr;
}

std::shared_ptr<RasMember> newest() {
  const std::lock_guard lock(members().mutex);
  for (auto one = members().list.rbegin(); one != members().list.rend(); ++one)
    if (auto member = one->lock()) return member;
  return nullptr;
}

/// For as long as the process lives.
const Stop& never() {
  static auto& stop = *new Stop;
  return stop;
}

void answer_processes(int listener) {
  for (;;) {
    const UniqueFd connection = accept_from(listener, never());
    Question question{};
    if (receive_bytes(connection.get(), &question, sizeof question, never()) != Ended::done)
      continue;
    const auto member = find(question);
    const RasCounts counts = member ? member->counts() : RasCounts{};
    (void)send_bytes(connection.get(), &counts, sizeof counts, never());
  }
}

RasAnswer ask(const RasMember& member, const Peer& peer) {
  const UniqueFd connection = connect_once(peer.ras);
  if (!connection) return {RasAnswer::Kind::dead};
  const Question question{member.comm, peer.rank};
  (void)send_bytes(connection.get(), &question, sizeof question, never());
  pollfd readable{connection.get(), POLLIN, 0};
  if (::poll(&readable, 1, kPatienceMs) != 1) return {RasAnswer::Kind::silence};
  RasAnswer answer{RasAnswer::Kind::counts};
  const Ended ended =
      receive_bytes(connection.get(), &answer.counts, sizeof answer.counts, never());
  return ended == Ended::done ? answer : RasAnswer{RasAnswer::Kind::dead};
}

std::string status() {
  const auto member = newest();
  if (!member) return "No communicator data collected!\n";
  std::vector<RasAnswer> answers;
  for (const Peer& peer : member->peers) answers.push_back(ask(*member, peer));
  return ras_text(*member, answers);
}

std::string reply_to(const std::string& command) {
  if (command.starts_with("CLIENT PROTOCOL ")) return "SERVER PROTOCOL 2\n";
  if (command.starts_with("TIMEOUT ")) return "OK\n";
  if (command == "STATUS" || command == "VERBOSE STATUS") return status();
  return "ERROR: Unknown command " + command + "\n";
}

/// Line by line; a status is the last word.
void serve_client(const UniqueFd& connection) {
  std::string command;
  for (char byte = 0; receive_bytes(connection.get(), &byte, 1, never()) == Ended::done;) {
    if (byte != '\n') {
      command += byte;
      continue;
    }
    const std::string reply = reply_to(command);
    if (send_bytes(connection.get(), reply.data(), reply.size(), never()) != Ended::done) return;
    if (command.ends_with("STATUS")) return;
    command.clear();
  }
}

/// All processes of a host share the port, so that any of them may be asked.
UniqueFd listen_for_clients() {
  const std::string where = setting("NCCL_RAS_ADDR").value_or("localhost:28028");
  Address address{};
  address.four.sin_family = AF_INET;
  address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.set_port(static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1))));
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(listener.get(), &address.any, address.size()) != 0 || ::listen(listener.get(), 8) != 0)
    return UniqueFd();
  return listener;
}

void open_service() {
  static const bool opened = [] {
    UniqueFd listener = listen_for_clients();
    if (!listener) return false;
    std::thread([fd = listener.release()] {
      for (;;) serve_client(accept_from(fd, never()));
    }).detach();
    return true;
  }();
  (void)opened;
}

}  // namespace

std::shared_ptr<RasMember> RasMember::join(std::uint64_t comm, const Peer& self,
                                           const std::vector<Peer>& peers) {
  if (!has_ras()) return nullptr;
  auto member = std::make_shared<RasMember>(comm, self, peers);
  {
    const std::lock_guard lock(members().mutex);
    members().list.push_back(member);
  }
  open_service();
  return member;
}

void RasMember::launched(const Operation& operation) {
  const auto kind = std::ranges::find(kRasCounted, operation.kind);
  if (kind != kRasCounted.end()) ++launched_[static_cast<std::size_t>(kind - kRasCounted.begin())];
}

RasCounts RasMember::counts() const {
  RasCounts counts{};
  std::ranges::copy(launched_, counts.begin());
  return counts;
}

Address ras_door(const Address& interface) {
  static const Address door = [&] {
    Address address = interface;
    UniqueFd listener = listen_on(address);
    std::thread([fd = listener.release()] { answer_processes(fd); }).detach();
    return address;
  }();
  return door;
}

}  // namespace safelaunch::testing
