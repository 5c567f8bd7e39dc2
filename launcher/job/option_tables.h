#pragma once

#include <algorithm>
#include <array>

#include "option_walk.h"

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

template <std::size_t A, std::size_t B>
constexpr std::array<OptionSpec, A + B> both(const std::array<OptionSpec, A>& a,
                                             const std::array<OptionSpec, B>& b) {
  std::array<OptionSpec, A + B> result{};
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), result.begin()));
  return result;
}

/// The options of ft_launcher, up to 0.7. All of its own that begin with --ft- take a value, except
/// one.
inline constexpr std::array kFtLauncherOptions = both(
    kTorchrunOptions, std::array{OptionSpec{"term_timeout"}, OptionSpec{"workers_stop_timeout"},
                                 OptionSpec{"ft_ignore_missing_cfg", Takes::nothing}});

inline constexpr OptionTable kFtLauncherTable = {kFtLauncherOptions, Grammar::argparse,
                                                 Spelling::dashes_too, Abbreviations::none, "ft_"};

/// The options of dlrover-run, up to 0.6.1.
inline constexpr std::array kDlroverOptions = both(
    kTorchrunOptions,
    std::array{
        OptionSpec{"precheck"}, OptionSpec{"node_unit"}, OptionSpec{"auto_config", Takes::nothing},
        OptionSpec{"auto_tunning", Takes::nothing}, OptionSpec{"exclude_straggler", Takes::nothing},
        OptionSpec{"save_at_breakpoint", Takes::nothing}, OptionSpec{"accelerator"},
        OptionSpec{"training_port"}, OptionSpec{"numa_affinity", Takes::nothing},
        OptionSpec{"membind_policy"}, OptionSpec{"network_check", Takes::nothing},
        OptionSpec{"comm_perf_test", Takes::nothing}, OptionSpec{"ucp_device_type"}});

inline constexpr OptionTable kDlroverTable = {kDlroverOptions, Grammar::argparse,
                                              Spelling::dashes_too, Abbreviations::none};

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

/// The options of `accelerate launch`, up to 1.15, and those that older versions had.
inline constexpr std::array kAccelerateOptions = {
    OptionSpec{"help", Takes::nothing, 'h'},
    OptionSpec{"config_file"},
    OptionSpec{"quiet", Takes::nothing, 'q'},
    OptionSpec{"cpu", Takes::nothing},
    OptionSpec{"multi_gpu", Takes::nothing},
    OptionSpec{"tpu", Takes::nothing},
    OptionSpec{"mixed_precision"},
    OptionSpec{"num_processes"},
    OptionSpec{"num_machines"},
    OptionSpec{"num_cpu_threads_per_process"},
    OptionSpec{"enable_cpu_affinity", Takes::nothing},
    OptionSpec{"dynamo_backend"},
    OptionSpec{"dynamo_mode"},
    OptionSpec{"dynamo_use_fullgraph", Takes::nothing},
    OptionSpec{"dynamo_use_dynamic", Takes::nothing},
    OptionSpec{"dynamo_use_regional_compilation", Takes::nothing},
    OptionSpec{"use_deepspeed", Takes::nothing},
    OptionSpec{"use_fsdp", Takes::nothing},
    OptionSpec{"use_parallelism_config", Takes::nothing},
    OptionSpec{"use_megatron_lm", Takes::nothing},
    OptionSpec{"gpu_ids"},
    OptionSpec{"same_network", Takes::nothing},
    OptionSpec{"machine_rank"},
    OptionSpec{"main_process_ip"},
    OptionSpec{"main_process_port"},
    OptionSpec{"tee", Takes::value, 't'},
    OptionSpec{"log_dir"},
    OptionSpec{"role"},
    OptionSpec{"rdzv_backend"},
    OptionSpec{"rdzv_conf"},
    OptionSpec{"max_restarts"},
    OptionSpec{"monitor_interval"},
    OptionSpec{"module", Takes::nothing, 'm'},
    OptionSpec{"no_python", Takes::nothing},
    OptionSpec{"tpu_cluster", Takes::nothing},
    OptionSpec{"no_tpu_cluster", Takes::nothing},
    OptionSpec{"tpu_use_sudo", Takes::nothing},
    OptionSpec{"vm"},
    OptionSpec{"env"},
    OptionSpec{"main_training_function"},
    OptionSpec{"downcast_bf16", Takes::nothing},
    OptionSpec{"deepspeed_config_file"},
    OptionSpec{"zero_stage"},
    OptionSpec{"offload_optimizer_device"},
    OptionSpec{"offload_param_device"},
    OptionSpec{"offload_optimizer_nvme_path"},
    OptionSpec{"offload_param_nvme_path"},
    OptionSpec{"gradient_accumulation_steps"},
    OptionSpec{"gradient_clipping"},
    OptionSpec{"zero3_init_flag"},
    OptionSpec{"zero3_save_16bit_model"},
    OptionSpec{"deepspeed_hostfile"},
    OptionSpec{"deepspeed_exclusion_filter"},
    OptionSpec{"deepspeed_inclusion_filter"},
    OptionSpec{"deepspeed_multinode_launcher"},
    OptionSpec{"deepspeed_moe_layer_cls_names"},
    OptionSpec{"fsdp_version"},
    OptionSpec{"fsdp_offload_params"},
    OptionSpec{"fsdp_min_num_params"},
    OptionSpec{"fsdp_sharding_strategy"},
    OptionSpec{"fsdp_reshard_after_forward"},
    OptionSpec{"fsdp_auto_wrap_policy"},
    OptionSpec{"fsdp_transformer_layer_cls_to_wrap"},
    OptionSpec{"fsdp_backward_prefetch"},
    OptionSpec{"fsdp_state_dict_type"},
    OptionSpec{"fsdp_forward_prefetch"},
    OptionSpec{"fsdp_use_orig_params"},
    OptionSpec{"fsdp_cpu_ram_efficient_loading"},
    OptionSpec{"fsdp_sync_module_states"},
    OptionSpec{"fsdp_activation_checkpointing"},
    OptionSpec{"fsdp_activation_checkpointing_offload"},
    OptionSpec{"megatron_lm_tp_degree"},
    OptionSpec{"megatron_lm_use_custom_fsdp"},
    OptionSpec{"megatron_lm_no_load_optim"},
    OptionSpec{"megatron_lm_eod_mask_loss"},
    OptionSpec{"megatron_lm_overlap_cpu_optimizer_d2h_h2d"},
    OptionSpec{"megatron_lm_no_save_optim"},
    OptionSpec{"megatron_lm_optimizer_cpu_offload"},
    OptionSpec{"megatron_lm_use_precision_aware_optimizer"},
    OptionSpec{"megatron_lm_decoder_last_pipeline_num_layers"},
    OptionSpec{"megatron_lm_pp_degree"},
    OptionSpec{"megatron_lm_num_micro_batches"},
    OptionSpec{"megatron_lm_sequence_parallelism"},
    OptionSpec{"megatron_lm_recompute_activations"},
    OptionSpec{"megatron_lm_use_distributed_optimizer"},
    OptionSpec{"megatron_lm_gradient_clipping"},
    OptionSpec{"megatron_lm_recompute_granularity"},
    OptionSpec{"megatron_lm_recompute_method"},
    OptionSpec{"megatron_lm_recompute_num_layers"},
    OptionSpec{"megatron_lm_attention_backend"},
    OptionSpec{"megatron_lm_expert_model_parallel_size"},
    OptionSpec{"megatron_lm_context_parallel_size"},
    OptionSpec{"megatron_lm_attention_dropout"},
    OptionSpec{"megatron_lm_hidden_dropout"},
    OptionSpec{"megatron_lm_attention_softmax_in_fp32"},
    OptionSpec{"megatron_lm_expert_tensor_parallel_size"},
    OptionSpec{"megatron_lm_calculate_per_token_loss"},
    OptionSpec{"megatron_lm_use_rotary_position_embeddings"},
    OptionSpec{"fp8_backend"},
    OptionSpec{"fp8_use_autocast_during_eval", Takes::nothing},
    OptionSpec{"fp8_margin"},
    OptionSpec{"fp8_interval"},
    OptionSpec{"fp8_format"},
    OptionSpec{"fp8_amax_history_len"},
    OptionSpec{"fp8_amax_compute_algo"},
    OptionSpec{"fp8_override_linear_precision"},
    OptionSpec{"fp8_opt_level"},
    OptionSpec{"fp8_enable_fsdp_float8_all_gather"},
    OptionSpec{"fp8_pad_inner_dim"},
    OptionSpec{"aws_access_key_id"},
    OptionSpec{"aws_secret_access_key"},
    OptionSpec{"debug", Takes::nothing},
    OptionSpec{"mpirun_hostfile"},
    OptionSpec{"parallelism_config_dp_replicate_size"},
    OptionSpec{"parallelism_config_dp_shard_size"},
    OptionSpec{"parallelism_config_tp_size"},
    OptionSpec{"parallelism_config_cp_size"},
    OptionSpec{"parallelism_config_cp_backend"},
    OptionSpec{"parallelism_config_cp_comm_strategy"},
    OptionSpec{"parallelism_config_sp_size"},
    OptionSpec{"parallelism_config_sp_backend"},
    OptionSpec{"parallelism_config_sp_seq_length"},
    OptionSpec{"parallelism_config_sp_seq_length_is_variable"},
    OptionSpec{"parallelism_config_sp_attn_implementation"},
    // Of older versions.
    OptionSpec{"ipex", Takes::nothing},
    OptionSpec{"use_xpu", Takes::nothing},
    OptionSpec{"multi_cpu", Takes::nothing},
    OptionSpec{"mps", Takes::nothing},
    OptionSpec{"fp16", Takes::nothing},
    OptionSpec{"mpirun_ccl"},
    OptionSpec{"fsdp_backward_prefetch_policy"},
};

inline constexpr OptionTable kAccelerateTable = {kAccelerateOptions, Grammar::argparse,
                                                 Spelling::dashes_too, Abbreviations::none};

}  // namespace safelaunch::job
