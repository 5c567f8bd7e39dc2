#pragma once

#include <array>

#include "options.h"

namespace safelaunch::job {

/// The options of deepspeed's runner, up to 0.19.8. It takes underscores alone.
inline constexpr std::array kDeepspeedOptions = {
    OptionSpec{"help", Takes::nothing, 'h'},
    OptionSpec{"hostfile", Takes::value, 'H'},
    OptionSpec{"include", Takes::value, 'i'},
    OptionSpec{"exclude", Takes::value, 'e'},
    OptionSpec{"num_nodes"},
    OptionSpec{"num_gpus", Takes::value, 0, "num_accelerators"},
    OptionSpec{"master_port"},
    OptionSpec{"master_addr"},
    OptionSpec{"node_rank"},
    OptionSpec{"launcher"},
    OptionSpec{"launcher_args"},
    OptionSpec{"module", Takes::nothing},
    OptionSpec{"no_python", Takes::nothing},
    OptionSpec{"no_local_rank", Takes::nothing},
    OptionSpec{"no_ssh", Takes::nothing},
    OptionSpec{"no_ssh_check", Takes::nothing},
    OptionSpec{"force_multi", Takes::nothing},
    OptionSpec{"save_pid", Takes::nothing},
    OptionSpec{"enable_each_rank_log"},
    OptionSpec{"autotuning"},
    OptionSpec{"bind_cores_to_rank", Takes::nothing},
    OptionSpec{"bind_core_list"},
    OptionSpec{"ssh_port"},
    OptionSpec{"venv_script"},
    OptionSpec{"log_level"},
    OptionSpec{"quiet", Takes::nothing, 'q'},
    // Of older versions.
    OptionSpec{"elastic_training", Takes::nothing},
    OptionSpec{"min_elastic_nodes"},
    OptionSpec{"max_elastic_nodes"},
    OptionSpec{"comment"},
    OptionSpec{"account"},
};

inline constexpr OptionTable kDeepspeedTable = {kDeepspeedOptions, Grammar::argparse,
                                                Spelling::exact, Abbreviations::unique_prefix};

}  // namespace safelaunch::job
