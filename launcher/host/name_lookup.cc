#include "safelaunch/host/name_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "safelaunch/host/proc.h"

namespace safelaunch::host {
namespace {

/// The answer is shared with the thread, which may outlive the question.
struct LookedUp {
  std::mutex mutex;
  std::condition_variable arrived;
  bool there = false;
  int error = 0;
  std::vector<std::string> addresses;
};

std::vector<std::string> texts_of(const addrinfo* first) {
  std::vector<std::string> addresses;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
      continue;
    if (std::ranges::find(addresses, text.data()) == addresses.end())
      addresses.emplace_back(text.data());
  }
  return addresses;
}

void ask(const std::string& name, LookedUp& answer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &first);
  std::vector<std::string> addresses = texts_of(first);
  if (first != nullptr) ::freeaddrinfo(first);
  const std::lock_guard lock(answer.mutex);
  answer.error = error;
  answer.addresses = std::move(addresses);
  answer.there = true;
  answer.arrived.notify_all();
}

/// False where the host gives us no thread.
bool ask_in_background(const std::string& name, const std::shared_ptr<LookedUp>& answer) {
  try {
    std::thread([name, answer] { ask(name, *answer); }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  const auto word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

NameLookup address_itself(const std::string& address) {
  NameLookup lookup;
  lookup.outcome = NameLookup::Outcome::found;
  lookup.name = address;
  lookup.addresses = {address};
  return lookup;
}

}  // namespace

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

NameLookup look_up(const std::string& name, Duration deadline) {
  if (is_address(name)) return address_itself(name);
  NameLookup lookup;
  lookup.name = name;
  const TimePoint began = Clock::now();
  const auto answer = std::make_shared<LookedUp>();
  if (!ask_in_background(name, answer)) return lookup;
  std::unique_lock lock(answer->mutex);
  const bool there = answer->arrived.wait_for(lock, deadline, [&] { return answer->there; });
  lookup.took = std::chrono::duration_cast<Duration>(Clock::now() - began);
  if (!there) {
    lookup.outcome = NameLookup::Outcome::late;
  } else if (answer->error != 0) {
    lookup.outcome = NameLookup::Outcome::unknown;
    lookup.why = ::gai_strerror(answer->error);
  } else {
    lookup.outcome = NameLookup::Outcome::found;
    lookup.addresses = answer->addresses;
  }
  return lookup;
}

std::vector<std::string> addresses_in_hosts(std::string_view hosts, std::string_view name) {
  std::vector<std::string> addresses;
  while (!hosts.empty()) {
    std::string_view line = take_word(hosts, '\n');
    line = line.substr(0, line.find('#'));
    const auto address = next_word(line);
    for (auto word = next_word(line); !word.empty(); word = next_word(line))
      if (word == name) addresses.emplace_back(address);
  }
  return addresses;
}

NameLookup look_up_in_hosts_file(const std::string& name) {
  if (is_address(name)) return address_itself(name);
  NameLookup lookup;
  lookup.name = name;
  lookup.addresses = addresses_in_hosts(read_whole("/etc/hosts").value_or(""), name);
  if (!lookup.addresses.empty()) lookup.outcome = NameLookup::Outcome::found;
  return lookup;
}

}  // namespace safelaunch::host
