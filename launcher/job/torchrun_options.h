#pragma once

#include <array>

#include "options.h"

namespace safelaunch::job {

/// torchrun's options, up to torch 2.13, and those of torch.distributed.launch.
inline constexpr std::array kTorchrunOptions = {
    OptionSpec{"help", Takes::nothing, 'h'},
    OptionSpec{"nnodes"},
    OptionSpec{"nproc_per_node"},
    OptionSpec{"rdzv_backend"},
    OptionSpec{"rdzv_endpoint"},
    OptionSpec{"rdzv_id"},
    OptionSpec{"rdzv_conf"},
    OptionSpec{"standalone", Takes::nothing},
    OptionSpec{"max_restarts"},
    OptionSpec{"monitor_interval"},
    OptionSpec{"start_method"},
    OptionSpec{"event_log_handler"},
    OptionSpec{"role"},
    OptionSpec{"module", Takes::nothing, 'm'},
    OptionSpec{"no_python", Takes::nothing},
    OptionSpec{"run_path", Takes::nothing},
    OptionSpec{"log_dir"},
    OptionSpec{"redirects", Takes::value, 'r'},
    OptionSpec{"tee", Takes::value, 't'},
    OptionSpec{"local_ranks_filter"},
    OptionSpec{"duplicate_stdout_filters"},
    OptionSpec{"duplicate_stderr_filters"},
    OptionSpec{"node_rank"},
    OptionSpec{"master_addr"},
    OptionSpec{"master_port"},
    OptionSpec{"local_addr"},
    OptionSpec{"logs_specs"},
    OptionSpec{"numa_binding"},
    OptionSpec{"signals_to_handle"},
    OptionSpec{"shutdown_timeout"},
    OptionSpec{"virtual_local_rank", Takes::nothing},
    OptionSpec{"use_env", Takes::nothing},  // torch.distributed.launch alone
};

inline constexpr OptionTable kTorchrunTable = {kTorchrunOptions, Grammar::argparse,
                                               Spelling::dashes_too, Abbreviations::unique_prefix};

}  // namespace safelaunch::job
