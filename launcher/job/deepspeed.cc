#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "command_line.h"
#include "option_tables.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A hostfile decides whether the job has one node. Where it has several, and --no_ssh does not say
// that somebody starts deepspeed on each, its ranks begin on hosts that we cannot see. The filters
// are applied in deepspeed's own order, since the first host that is left is the master.
namespace safelaunch::job {
namespace {

/// A host of deepspeed's resource pool, and how many of its slots are used.
struct HostSlots {
  std::string host;
  std::vector<int> slots;
};

constexpr int kMostSlots =
    1024;  // no node has more devices; the limit keeps a typing error from eating memory

std::optional<HostSlots> parse_host_line(std::string_view line) {
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(blank));
  if (!rest.starts_with("slots=")) return std::nullopt;
  const std::size_t end = std::min(rest.find_first_of(" \t#"), rest.size());
  const auto count = to_number(rest.substr(6, end - 6));
  if (!count || *count < 0 || *count > kMostSlots) return std::nullopt;
  std::vector<int> slots(static_cast<std::size_t>(*count));
  std::iota(slots.begin(), slots.end(), 0);
  return HostSlots{std::string(line.substr(0, blank)), std::move(slots)};
}

const HostSlots* find_host(const std::vector<HostSlots>& hosts, std::string_view name) {
  const auto it = std::ranges::find(hosts, name, &HostSlots::host);
  return it == hosts.end() ? nullptr : &*it;
}

// Reads `HOST slots=N` lines; nullopt where deepspeed would refuse the file (a host named twice,
// no host at all, any other text).
std::optional<std::vector<HostSlots>> parse_hostfile(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_word(text, '\n'));
    if (line.empty() || line[0] == '#') continue;
    auto host = parse_host_line(line);
    if (!host || find_host(hosts, host->host) != nullptr) return std::nullopt;
    hosts.push_back(*std::move(host));
  }
  return hosts.empty() ? std::nullopt : std::optional(std::move(hosts));
}

// The hosts of a filter by itself, without a pool: `localhost:0,1` uses two slots.
std::vector<HostSlots> parse_host_filter(std::string_view filter) {
  std::vector<HostSlots> hosts;
  while (!filter.empty()) {
    std::string_view node = take_word(filter, '@');
    HostSlots host{std::string(take_word(node, ':')), {}};
    while (!node.empty())
      if (const auto slot = to_number(take_word(node, ','))) host.slots.push_back(*slot);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// Keeps the hosts and slots that `--include` names, or drops those that `--exclude` names:
// `HOST[:SLOT,…][@HOST…]`.
std::vector<HostSlots> include_hosts(std::vector<HostSlots> pool, std::string_view filter) {
  const std::vector<HostSlots> named = parse_host_filter(filter);
  std::erase_if(pool, [&](HostSlots& host) {
    const HostSlots* wanted = find_host(named, host.host);
    if (wanted != nullptr && !wanted->slots.empty()) host.slots = wanted->slots;
    return wanted == nullptr;
  });
  return pool;
}

std::vector<HostSlots> exclude_hosts(std::vector<HostSlots> pool, std::string_view filter) {
  const std::vector<HostSlots> named = parse_host_filter(filter);
  std::erase_if(pool, [&](HostSlots& host) {
    const HostSlots* unwanted = find_host(named, host.host);
    if (unwanted == nullptr) return host.slots.empty();
    std::erase_if(host.slots, [&](int slot) {
      return std::ranges::find(unwanted->slots, slot) != unwanted->slots.end();
    });
    return unwanted->slots.empty() || host.slots.empty();
  });
  return pool;
}

constexpr std::string_view kDefaultHostfile = "/job/hostfile";

class DeepspeedReader {
 public:
  DeepspeedReader(const CommandLine& line, Command& command)
      : line_(line),
        command_(command),
        walk_(walk_options(line.argv, command.launcher_word + 1, kDeepspeedTable)) {}

  void read() {
    const bool program = walk_.has("no_python");
    const bool module = walk_.has("module");
    find_script(line_, walk_,
                program  ? ScriptKind::program
                : module ? ScriptKind::module
                         : ScriptKind::file,
                command_);
    if (const auto port = line_.setting(walk_, "master_port")) command_.port = port_in(*port);
    command_.port.option = {"--master_port", {}};
    command_.autotuning = !text("autotuning").empty();
    command_.names_devices = !text("include").empty() || !text("exclude").empty();
    for (const std::string_view name : {"node_rank", "master_addr"})
      keep_meeting(name, text(name), command_);
    if (const auto pool = resource_pool())
      read_hosts(*pool);
    else
      read_local();
  }

 private:
  std::string text(std::string_view name) const { return line_.text(walk_, name); }

  std::optional<int> number(std::string_view name) const { return to_number(text(name)); }

  /// The hosts of the hostfile; nullopt where there is none and the job is local.
  std::optional<std::vector<HostSlots>> resource_pool() {
    const std::string named = text("hostfile");
    const std::string path = named.empty() ? std::string(kDefaultHostfile) : named;
    const FileAt file = line_.read_file(path);
    if (!file.text) {
      judge_unread(path, file.exists || (!named.empty() && line_.elsewhere && path[0] != '/'));
      return std::nullopt;
    }
    auto pool = parse_hostfile(*file.text);
    if (!pool)
      command_.warnings.push_back(
          {Warning::unreadable_config, "deepspeed will refuse its hostfile " + path +
                                           ": each line must read HOST slots=N, each host once"});
    return pool;
  }

  /// Without the hosts: where there may be a hostfile, or the command is one of those that somebody
  /// starts on each host, there may well be others. A hostfile that is missing means one host.
  void judge_unread(const std::string& path, bool may_be_there) {
    several_perhaps_ = may_be_there || walk_.has("no_ssh") || walk_.has("node_rank");
    if (!may_be_there) return;
    command_.warnings.push_back(
        {Warning::unreadable_config,
         fmt::format("deepspeed's hostfile {} cannot be read: how many hosts there are is not "
                     "known, so the port stays as it is",
                     path)});
  }

  /// The hosts that are left after deepspeed's own filters, which it applies in this order.
  std::vector<HostSlots> active(std::vector<HostSlots> pool) const {
    if (const std::string filter = text("include"); !filter.empty())
      pool = include_hosts(std::move(pool), filter);
    if (const std::string filter = text("exclude"); !filter.empty())
      pool = exclude_hosts(std::move(pool), filter);
    if (const auto nodes = number("num_nodes"); nodes && *nodes > 0)
      pool.resize(std::min(pool.size(), static_cast<std::size_t>(*nodes)));
    return pool;
  }

  void read_hosts(const std::vector<HostSlots>& pool) {
    const std::vector<HostSlots> hosts = active(pool);
    const int nodes = std::max(1, static_cast<int>(hosts.size()));
    command_.nodes = NodeRange{nodes, nodes};
    const bool even = std::ranges::all_of(
        hosts, [&](const HostSlots& host) { return host.slots.size() == hosts[0].slots.size(); });
    const auto gpus = number("num_gpus");
    if (gpus && *gpus > 0)
      command_.processes_per_node = *gpus;
    else if (!hosts.empty() && even)
      command_.processes_per_node = static_cast<int>(hosts[0].slots.size());
    const bool remote = (walk_.has("force_multi") || nodes > 1) && !walk_.has("no_ssh");
    command_.descendants = remote      ? Descendants::none
                           : nodes > 1 ? Descendants::some
                                       : Descendants::all;
    if (remote && nodes > 1) warn_of_ssh(hosts.front().host, nodes);
  }

  void warn_of_ssh(const std::string& first, int nodes) {
    std::vector<std::string> words(line_.argv.begin(), line_.argv.end());
    const auto behind_name = static_cast<std::ptrdiff_t>(command_.launcher_word) + 1;
    words.insert(words.begin() + behind_name,
                 {"--no_ssh", "--node_rank", "$NODE", "--master_addr", first});
    command_.warnings.push_back(
        {Warning::starts_elsewhere,
         fmt::format("deepspeed starts the ranks of {} hosts by ssh, and safelaunch sees none of "
                     "them; start this on each host instead, with NODE=0 on {} up to NODE={}:\n"
                     "    safelaunch {}",
                     nodes, first, nodes - 1, join(words, " "))});
  }

  void read_local() {
    if (several_perhaps_)
      command_.descendants = Descendants::some;
    else
      command_.nodes = NodeRange{};
    command_.processes_per_node = local_processes();
    if (walk_.has("force_multi") && !walk_.has("no_ssh")) command_.descendants = Descendants::none;
  }

  ProcessCount local_processes() const {
    if (const auto gpus = number("num_gpus"); gpus && *gpus > 0) return *gpus;
    std::string filter = text("include");
    if (filter.empty() && text("exclude").empty())
      if (const auto visible = line_.variables.find("CUDA_VISIBLE_DEVICES"))
        filter = visible->value.empty() ? "" : "localhost:" + visible->value;
    const auto hosts = parse_host_filter(filter);
    if (hosts.size() == 1 && !hosts[0].slots.empty())
      return static_cast<int>(hosts[0].slots.size());
    return CountWord::automatic;
  }

  const CommandLine& line_;
  Command& command_;
  OptionWalk walk_;
  bool several_perhaps_ = false;  ///< the hosts are not known, and there may be more than one
};

}  // namespace

void read_deepspeed(const CommandLine& line, Command& command) {
  DeepspeedReader(line, command).read();
}

}  // namespace safelaunch::job
