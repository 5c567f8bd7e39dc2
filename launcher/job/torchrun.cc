#include <algorithm>
#include <cctype>

#include "command_line.h"
#include "option_tables.h"
#include "safelaunch/base/strings.h"

// An option of the command line outranks its variable PET_…, and the rendezvous decides which of
// them holds the port: the static one reads the endpoint, then the master's port; c10d reads the
// endpoint alone; of any other the port belongs to a server.
namespace safelaunch::job {
namespace {

/// torchrun's settings. Each comes from an option in argv, else from the variable PET_<OPTION>.
class Settings {
 public:
  Settings(const CommandLine& line, const OptionWalk& walk) : line_(line), walk_(walk) {}

  std::optional<LauncherVariable> find(std::string_view name) const {
    if (auto in_argv = line_.setting(walk_, name)) return in_argv;
    return line_.variables.find(variable_of(name));
  }

  std::string text(std::string_view name, std::string_view otherwise) const {
    const auto setting = find(name);
    return setting ? setting->value : std::string(otherwise);
  }

  bool flag(std::string_view name) const {
    return walk_.has(name) || line_.variables.number(variable_of(name)).value_or(0) != 0;
  }

 private:
  static std::string variable_of(std::string_view name) {
    std::string variable = "PET_" + std::string(name);
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return variable;
  }

  const CommandLine& line_;
  const OptionWalk& walk_;
};

std::optional<NodeRange> node_range(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto min = to_number(text.substr(0, colon));
  const auto max = colon == text.size() ? min : to_number(text.substr(colon + 1));
  if (!min || !max || *min < 1 || *max < *min) return std::nullopt;
  return NodeRange{*min, *max};
}

const OptionTable& table_of(TorchrunKind kind) {
  switch (kind) {
    case TorchrunKind::ft_launcher: return kFtLauncherTable;
    case TorchrunKind::dlrover: return kDlroverTable;
    case TorchrunKind::torch: break;
  }
  return kTorchrunTable;
}

std::string rendezvous_of(TorchrunKind kind, const Settings& settings) {
  if (kind == TorchrunKind::dlrover) return "dlrover-master";  // whatever the options say
  return settings.text("rdzv_backend", kind == TorchrunKind::ft_launcher ? "c10d" : "static");
}

ScriptKind script_kind(const Settings& settings) {
  if (settings.flag("no_python")) return ScriptKind::program;
  return settings.flag("module") ? ScriptKind::module : ScriptKind::file;
}

/// Finds the setting with the port, which depends on the rendezvous. An etcd server's port is not
/// ours.
CommandPort find_port(const Settings& settings, const std::string& rendezvous) {
  const auto endpoint = settings.find("rdzv_endpoint");
  const bool has_endpoint = endpoint && !endpoint->value.empty();
  const auto master_port = settings.find("master_port");
  if (rendezvous == "static") {
    CommandPort port = has_endpoint  ? port_in_endpoint(*endpoint)
                       : master_port ? port_in(*master_port)
                                     : CommandPort{};
    port.option = {"--master_port", {}};  // with underscores, since torch 1.13 knows no dashes
    return port;
  }
  if (rendezvous != "c10d") return {};
  CommandPort port = has_endpoint ? port_in_endpoint(*endpoint) : CommandPort{};
  port.option = {"--rdzv_endpoint", "localhost:"};
  return port;
}

}  // namespace

void read_torchrun(const CommandLine& line, TorchrunKind kind, Command& command) {
  const OptionWalk walk = walk_options(line.argv, command.launcher_word + 1, table_of(kind));
  const Settings settings(line, walk);
  find_script(line, walk, script_kind(settings), command);

  command.nodes = node_range(settings.text("nnodes", "1"));
  const auto count = parse_process_count(settings.text("nproc_per_node", "1"));
  if (count) command.processes_per_node = *count;
  const bool one_node = command.nodes && command.nodes->max == 1;
  command.descendants = one_node ? Descendants::all : Descendants::some;

  command.rendezvous = rendezvous_of(kind, settings);
  for (const std::string_view name :
       {"node_rank", "master_addr", "rdzv_endpoint", "rdzv_conf", "rdzv_id"})
    keep_meeting(name, settings.text(name, ""), command);
  command.standalone = settings.flag("standalone");
  if (!command.standalone) command.port = find_port(settings, command.rendezvous);
  command.max_restarts = to_number(settings.text("max_restarts", "0")).value_or(0);
  command.rank_logs = settings.text("log_dir", "");
  command.keeps_rank_logs =
      !command.rank_logs.empty() || settings.find("tee") || settings.find("redirects");
  command.shutdown_timeout = to_number(settings.text("shutdown_timeout", ""));
  if (const auto python = line.variables.find("PYTHON_EXEC")) command.python = python->value;
}

}  // namespace safelaunch::job
