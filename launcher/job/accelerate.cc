#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <array>

#include "command_line.h"
#include "option_tables.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A flag outranks the configuration file. Both together say in which of six ways accelerate starts
// its processes; from the way follows whether they are our descendants, and whether the number of
// processes means anything.
namespace safelaunch::job {
namespace {

/// The part that we need of accelerate's YAML (or JSON) configuration file.
struct AccelerateConfig {
  std::string distributed_type = "NO";  ///< "MULTI_GPU", "DEEPSPEED", "FSDP", "MULTI_CPU", …
  std::optional<int> num_processes;
  std::optional<int> num_machines;
  std::string main_process_port;
  std::string machine_rank;
  std::string main_process_ip;
  bool sagemaker = false;  ///< the job runs in Amazon's cloud
  bool tpu_cluster = false;
  std::string rendezvous;          ///< rdzv_backend
  std::string deepspeed_launcher;  ///< "standard", "pdsh", "nossh", …
  bool mpirun = false;
};

// A configuration has some fifty lines. We do not parse a much larger one, since it is no
// configuration.
constexpr std::size_t kLargestFile = 256 * 1024;

template <class T>
std::optional<T> value(const YAML::Node& map, const char* key) {
  const YAML::Node node = map[key];
  T result;
  if (!node.IsDefined() || !YAML::convert<T>::decode(node, result)) return std::nullopt;
  return result;
}

std::string text(const YAML::Node& map, const char* key) {
  return value<std::string>(map, key).value_or("");
}

/// The text of a key in a map that stands under another key.
std::string text(const YAML::Node& map, const char* outer, const char* key) {
  const YAML::Node inner = map[outer];  // IsMap() throws where it is not defined
  return inner.IsDefined() && inner.IsMap() ? text(inner, key) : std::string();
}

bool flag(const YAML::Node& map, const char* key) {
  return value<bool>(map, key).value_or(false);
}

AccelerateConfig read(const YAML::Node& root) {
  AccelerateConfig config;
  config.distributed_type = value<std::string>(root, "distributed_type").value_or("NO");
  config.num_processes = value<int>(root, "num_processes");
  config.num_machines = value<int>(root, "num_machines");
  config.main_process_port = text(root, "main_process_port");
  config.machine_rank = text(root, "machine_rank");
  config.main_process_ip = text(root, "main_process_ip");
  config.sagemaker = text(root, "compute_environment") == "AMAZON_SAGEMAKER";
  config.tpu_cluster = flag(root, "tpu_use_cluster");
  config.rendezvous = text(root, "rdzv_backend");
  config.deepspeed_launcher = text(root, "deepspeed_config", "deepspeed_multinode_launcher");
  config.mpirun = !text(root, "mpirun_config", "mpirun_hostfile").empty();
  return config;
}

/// Reads the text of such a file; nullopt for any other text.
std::optional<AccelerateConfig> parse_accelerate_config(const std::string& text) {
  if (text.size() > kLargestFile) return std::nullopt;
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() ? std::optional(read(root)) : std::nullopt;
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

/// How accelerate starts the processes; see `launch_command` in its source.
enum class Mode {
  torchrun,   ///< in its own process
  deepspeed,  ///< torchrun on one node; deepspeed's launcher on several
  simple,     ///< one `python script`
  mpirun,
  tpu,     ///< its own spawn
  remote,  ///< TPU pods, SageMaker
};

constexpr std::array kTorchrunTypes = {"MULTI_GPU", "MULTI_NPU",  "MULTI_MLU", "MULTI_SDAA",
                                       "MULTI_XPU", "MULTI_MUSA", "MULTI_HPU", "MULTI_NEURON",
                                       "FSDP",      "MEGATRON_LM"};

class AccelerateReader {
 public:
  AccelerateReader(const CommandLine& line, Command& command)
      : line_(line),
        command_(command),
        walk_(walk_options(line.argv, command.launcher_word + 1, kAccelerateTable)) {}

  void read() {
    find_script(line_, walk_, script_kind(), command_);
    load_config();
    mode_ = find_mode();
    read_topology();
    read_port();
    read_meeting();
    read_rank_logs();
    command_.max_restarts = number("max_restarts").value_or(0);
  }

 private:
  std::string text(std::string_view name) const { return line_.text(walk_, name); }

  std::optional<int> number(std::string_view name) const { return to_number(text(name)); }

  ScriptKind script_kind() const {
    if (walk_.has("no_python")) return ScriptKind::program;
    return walk_.has("module") ? ScriptKind::module : ScriptKind::file;
  }

  /// Reads the file of `--config_file`, else the one that `accelerate config` leaves, which --cpu
  /// ignores.
  void load_config() {
    const std::string named = text("config_file");
    if (named.empty() && walk_.has("cpu")) return;
    config_path_ = named.empty() ? default_config_path() : named;
    const FileAt file = line_.read_file(config_path_);
    if (!file.exists && named.empty()) return;
    if (file.text) config_ = parse_accelerate_config(*file.text);
    unread_ = !config_;
    if (unread_) warn_unread(file.text ? "is no YAML map" : "cannot be read");
  }

  void warn_unread(std::string_view why) {
    std::string text = fmt::format("accelerate's configuration {} {}", config_path_, why);
    if (!number("num_machines"))
      text += ": how many machines there are is not known, so the port stays as it is";
    command_.warnings.push_back({Warning::unreadable_config, std::move(text)});
  }

  std::string variable(std::string_view name) const {
    const auto setting = line_.variables.find(name);
    return setting ? setting->value : std::string();
  }

  std::string default_config_path() const {
    std::string base = variable("HF_HOME");
    if (base.empty()) {
      base = variable("XDG_CACHE_HOME");
      base = (base.empty() ? "~/.cache" : base) + "/huggingface";
    }
    if (base.starts_with("~/")) base.replace(0, 1, variable("HOME"));
    return base + "/accelerate/default_config.yaml";
  }

  Mode find_mode() const {
    const bool mpirun = walk_.has("mpirun_hostfile") || (config_ && config_->mpirun);
    const Mode simple = mpirun ? Mode::mpirun : Mode::simple;
    if (walk_.has("cpu")) return simple;
    if (walk_.has("use_deepspeed")) return Mode::deepspeed;
    if (walk_.has("use_fsdp") || walk_.has("use_megatron_lm") || walk_.has("multi_gpu"))
      return Mode::torchrun;
    if (walk_.has("tpu")) return walk_.has("tpu_cluster") ? Mode::remote : Mode::tpu;
    if (config_) return mode_of(*config_, simple);
    // If neither options nor file say so, accelerate itself looks for several GPUs.
    return mpirun ? Mode::mpirun : Mode::torchrun;
  }

  static Mode mode_of(const AccelerateConfig& config, Mode simple) {
    if (config.sagemaker) return Mode::remote;
    if (config.distributed_type == "DEEPSPEED") return Mode::deepspeed;
    if (config.distributed_type == "XLA") return config.tpu_cluster ? Mode::remote : Mode::tpu;
    const bool torchrun =
        std::ranges::find(kTorchrunTypes, config.distributed_type) != kTorchrunTypes.end();
    return torchrun ? Mode::torchrun : simple;
  }

  void read_rank_logs() {
    command_.rank_logs = text("log_dir");
    command_.keeps_rank_logs = !command_.rank_logs.empty() || !text("tee").empty();
  }

  /// nullopt where a file that we have not read may say it, or where a rank is told to this machine
  /// without the number of machines: then there may well be others.
  std::optional<int> number_of_nodes() const {
    auto machines = number("num_machines");
    if (!machines && config_) machines = config_->num_machines;
    if (!machines && (unread_ || walk_.has("machine_rank"))) return std::nullopt;
    return std::max(1, machines.value_or(1));
  }

  void read_topology() {
    const std::optional<int> nodes = number_of_nodes();
    if (nodes) command_.nodes = NodeRange{*nodes, *nodes};
    command_.processes_per_node = processes_per_node(nodes);
    command_.descendants = descendants(nodes);
  }

  /// accelerate counts the processes of all nodes together.
  std::optional<ProcessCount> processes_per_node(std::optional<int> nodes) {
    auto processes = number("num_processes");
    if (!processes && config_) processes = config_->num_processes;
    if (mode_ == Mode::simple) {
      if (processes.value_or(1) > 1) warn_one_process(*processes);
      return 1;
    }
    if (!processes && (config_ || unread_)) return std::nullopt;
    if (!processes) return CountWord::gpu;
    if (*processes < 1 || !nodes) return std::nullopt;
    if (*processes % *nodes != 0) warn_uneven(*processes, *nodes);
    return std::max(1, *processes / *nodes);
  }

  void warn_one_process(int processes) {
    command_.warnings.push_back(
        {Warning::one_process_on_cpu,
         fmt::format("accelerate starts one process here, not the {} of num_processes: on CPU run "
                     "ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes {}",
                     processes, processes)});
  }

  void warn_uneven(int processes, int nodes) {
    command_.warnings.push_back(
        {Warning::uneven_processes,
         fmt::format("{} processes do not divide into {} machines: accelerate starts {} on each, "
                     "{} in all",
                     processes, nodes, processes / nodes, processes / nodes * nodes)});
  }

  Descendants descendants(std::optional<int> nodes) const {
    if (mode_ == Mode::remote) return Descendants::none;
    if (nodes == 1) return Descendants::all;
    if (mode_ == Mode::mpirun || !nodes) return Descendants::some;
    const std::string named = text("deepspeed_multinode_launcher");
    const std::string launcher = !named.empty() ? named
                                 : config_      ? config_->deepspeed_launcher
                                                : std::string();
    const bool on_each_node = launcher == "standard" || launcher == "nossh";
    return mode_ == Mode::deepspeed && !on_each_node ? Descendants::none : Descendants::some;
  }

  void read_meeting() {
    const auto keep = [&](std::string_view name, const std::string& in_file) {
      const std::string typed = text(name);
      keep_meeting(name, typed.empty() ? in_file : typed, command_);
    };
    keep("machine_rank", config_ ? config_->machine_rank : "");
    keep("main_process_ip", config_ ? config_->main_process_ip : "");
  }

  void read_port() {
    if (const auto port = line_.setting(walk_, "main_process_port"))
      command_.port = port_in(*port);
    else if (config_ && !config_->main_process_port.empty())
      command_.port = port_in({config_->main_process_port, InFile{config_path_}});
    command_.port.option = {"--main_process_port", {}};
    command_.rendezvous = text("rdzv_backend");
    if (command_.rendezvous.empty() && config_) command_.rendezvous = config_->rendezvous;
    if (command_.rendezvous.empty()) command_.rendezvous = "static";
  }

  const CommandLine& line_;
  Command& command_;
  OptionWalk walk_;
  std::string config_path_;
  std::optional<AccelerateConfig> config_;
  bool unread_ = false;  ///< accelerate reads a file that we have not understood
  Mode mode_ = Mode::torchrun;
};

}  // namespace

void read_accelerate(const CommandLine& line, Command& command) {
  AccelerateReader(line, command).read();
}

}  // namespace safelaunch::job
