#include "safelaunch/profile/variables.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/backends.h"

// The truth about a variable is a table, taken from the sources of its readers. A name that is not
// in it is compared with the names of its family, so that a misspelt one is told and an unknown one
// is left alone.
namespace safelaunch::profile {
namespace {

using std::string_view_literals::operator""sv;

// torch's that need no explaining here (its ProcessGroupNCCL.hpp and gloo).
constexpr std::array kTorchNames{"TORCH_NCCL_BCAST_UNIQUEID"sv,
                                 "TORCH_NCCL_COORD_CHECK_MILSEC"sv,
                                 "TORCH_NCCL_CUDA_EVENT_CACHE"sv,
                                 "TORCH_NCCL_EXTRA_DUMP_ON_EXEC"sv,
                                 "TORCH_NCCL_HIGH_PRIORITY"sv,
                                 "TORCH_NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN"sv,
                                 "TORCH_NCCL_NAN_CHECK"sv,
                                 "TORCH_NCCL_PROPAGATE_ERROR"sv,
                                 "TORCH_NCCL_RANKS_PER_ROOT"sv,
                                 "TORCH_NCCL_RETHROW_CUDA_ERRORS"sv,
                                 "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING"sv,
                                 "TORCH_NCCL_TRACE_CPP_STACK"sv,
                                 "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"sv,
                                 "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"sv,
                                 "TORCH_FR_CPP_STACK"sv,
                                 "TORCH_FR_DUMP_TEMP_FILE"sv,
                                 "TORCH_FR_DUMP_DYNAMIC_FILE_NAME"sv,
                                 "GLOO_DEVICE_TRANSPORT"sv,
                                 "GLOO_DISABLE_CONNECTION_RETRIES"sv,
                                 "GLOO_LOG_LEVEL"sv};

// The options of JAX (jax.config.values of 0.10.2), each of which it reads from a variable, too.
constexpr std::array kJaxNames{"JAX_ALLOW_F16_REDUCTIONS"sv,
                               "JAX_ARRAY_GARBAGE_COLLECTION_GUARD"sv,
                               "JAX_AUTO_PCAST"sv,
                               "JAX_BACKEND_TARGET"sv,
                               "JAX_BCOO_CUSPARSE_LOWERING"sv,
                               "JAX_CAPTURED_CONSTANTS_REPORT_FRAMES"sv,
                               "JAX_CAPTURED_CONSTANTS_WARN_BYTES"sv,
                               "JAX_CHECK_PROXY_ENVS"sv,
                               "JAX_CHECK_STATIC_INDICES"sv,
                               "JAX_CHECK_TRACER_LEAKS"sv,
                               "JAX_COMPILATION_CACHE_CHECK_CONTENTS"sv,
                               "JAX_COMPILATION_CACHE_DIR"sv,
                               "JAX_COMPILATION_CACHE_EXPECT_PGLE"sv,
                               "JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY"sv,
                               "JAX_COMPILATION_CACHE_MAX_SIZE"sv,
                               "JAX_COMPILER_DETAILED_LOGGING_MIN_OPS"sv,
                               "JAX_COMPILER_ENABLE_REMAT_PASS"sv,
                               "JAX_CPU_ENABLE_ASYNC_DISPATCH"sv,
                               "JAX_CPU_GET_GLOBAL_TOPOLOGY_TIMEOUT_MINUTES"sv,
                               "JAX_CPU_GET_LOCAL_TOPOLOGY_TIMEOUT_MINUTES"sv,
                               "JAX_CROSS_HOST_TRANSFER_SOCKET_ADDRESS"sv,
                               "JAX_CROSS_HOST_TRANSFER_TIMEOUT_SECONDS"sv,
                               "JAX_CROSS_HOST_TRANSFER_TRANSFER_SIZE"sv,
                               "JAX_CROSS_HOST_TRANSPORT_ADDRESSES"sv,
                               "JAX_CUDA_VISIBLE_DEVICES"sv,
                               "JAX_CUSTOM_VJP3"sv,
                               "JAX_DEBUG_INFS"sv,
                               "JAX_DEBUG_KEY_REUSE"sv,
                               "JAX_DEBUG_LEAKED_CLIENTS_ON_CLEAR_BACKENDS"sv,
                               "JAX_DEBUG_LOG_MODULES"sv,
                               "JAX_DEFAULT_DEVICE"sv,
                               "JAX_DEFAULT_MATMUL_PRECISION"sv,
                               "JAX_DEFAULT_PRNG_IMPL"sv,
                               "JAX_DISABLE_BWD_CHECKS"sv,
                               "JAX_DISABLE_JIT"sv,
                               "JAX_DISABLE_MOST_OPTIMIZATIONS"sv,
                               "JAX_DISABLE_VMAP_SHMAP_ERROR"sv,
                               "JAX_DISALLOW_MESH_CONTEXT_MANAGER"sv,
                               "JAX_DISTRIBUTED_DEBUG"sv,
                               "JAX_DUMP_IR_MODES"sv,
                               "JAX_DUMP_IR_TO"sv,
                               "JAX_EMBEDDED_CONSTANTS_MAX_BYTES"sv,
                               "JAX_ENABLE_CHECKS"sv,
                               "JAX_ENABLE_COMPILATION_CACHE"sv,
                               "JAX_ENABLE_CUSTOM_PRNG"sv,
                               "JAX_ENABLE_PGLE"sv,
                               "JAX_ENABLE_PREEMPTION_SERVICE"sv,
                               "JAX_ENABLE_RECOVERABILITY"sv,
                               "JAX_ENABLE_X64"sv,
                               "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE"sv,
                               "JAX_ERROR_CHECKING_BEHAVIOR_NAN"sv,
                               "JAX_ERROR_CHECKING_BEHAVIOR_OOB"sv,
                               "JAX_EXEC_TIME_OPTIMIZATION_EFFORT"sv,
                               "JAX_EXPERIMENTAL_UNSAFE_XLA_RUNTIME_ERRORS"sv,
                               "JAX_EXPLAIN_CACHE_MISSES"sv,
                               "JAX_EXPLICIT_X64_DTYPES"sv,
                               "JAX_EXPORT_CALLING_CONVENTION_VERSION"sv,
                               "JAX_EXPORT_IGNORE_FORWARD_COMPATIBILITY"sv,
                               "JAX_FORCE_DCN_CROSS_HOST_TRANSFERS"sv,
                               "JAX_HIGH_DYNAMIC_RANGE_GUMBEL"sv,
                               "JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX"sv,
                               "JAX_INCLUDE_DEBUG_INFO_IN_DUMPS"sv,
                               "JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS"sv,
                               "JAX_LEGACY_PRNG_KEY"sv,
                               "JAX_LOGGING_LEVEL"sv,
                               "JAX_LOG_CHECKPOINT_RESIDUALS"sv,
                               "JAX_LOG_COMPILES"sv,
                               "JAX_MEMORY_FITTING_EFFORT"sv,
                               "JAX_MEMORY_FITTING_LEVEL"sv,
                               "JAX_MOCK_GPU_TOPOLOGY"sv,
                               "JAX_MOSAIC_ALLOW_HLO"sv,
                               "JAX_MUTABLE_ARRAY_CHECKS"sv,
                               "JAX_NO_EXECUTION"sv,
                               "JAX_NO_TRACING"sv,
                               "JAX_NUMPY_DTYPE_PROMOTION"sv,
                               "JAX_NUMPY_RANK_PROMOTION"sv,
                               "JAX_NUM_CPU_DEVICES"sv,
                               "JAX_ONEAPI_VISIBLE_DEVICES"sv,
                               "JAX_OPTIMIZATION_LEVEL"sv,
                               "JAX_PALLAS_ENABLE_DEBUG_CHECKS"sv,
                               "JAX_PALLAS_POISON_BUFFERS"sv,
                               "JAX_PALLAS_USE_MOSAIC_GPU"sv,
                               "JAX_PALLAS_VERBOSE_ERRORS"sv,
                               "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"sv,
                               "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"sv,
                               "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"sv,
                               "JAX_PGLE_AGGREGATION_PERCENTILE"sv,
                               "JAX_PGLE_PROFILING_RUNS"sv,
                               "JAX_PJRT_CLIENT_CREATE_OPTIONS"sv,
                               "JAX_PLATFORM_NAME"sv,
                               "JAX_PPRINT_USE_COLOR"sv,
                               "JAX_RAGGED_DOT_USE_GPU_PALLAS_TRITON_LOWERING"sv,
                               "JAX_RAGGED_DOT_USE_RAGGED_DOT_INSTRUCTION"sv,
                               "JAX_RAISE_PERSISTENT_CACHE_ERRORS"sv,
                               "JAX_RANDOM_SEED_OFFSET"sv,
                               "JAX_REFS_TO_PINS"sv,
                               "JAX_REMAT3"sv,
                               "JAX_REMOVE_CUSTOM_PARTITIONING_PTR_FROM_CACHE_KEY"sv,
                               "JAX_REMOVE_SIZE_ONE_MESH_AXIS_FROM_TYPE"sv,
                               "JAX_ROCM_VISIBLE_DEVICES"sv,
                               "JAX_SCAN3"sv,
                               "JAX_SEND_TRACEBACK_TO_RUNTIME"sv,
                               "JAX_SERIALIZATION_VERSION"sv,
                               "JAX_SHARE_BINARY_BETWEEN_HOSTS"sv,
                               "JAX_SHARE_BINARY_BETWEEN_HOSTS_TIMEOUT_MS"sv,
                               "JAX_SOFTMAX_CUSTOM_JVP"sv,
                               "JAX_SORT_DEVICES_BY_PROCESS_INDEX"sv,
                               "JAX_SOURCE_URL_SCHEMA"sv,
                               "JAX_THREAD_GUARD"sv,
                               "JAX_THREEFRY_GPU_KERNEL_LOWERING"sv,
                               "JAX_THREEFRY_PARTITIONABLE"sv,
                               "JAX_TRACEBACK_FILTERING"sv,
                               "JAX_TRACEBACK_IN_LOCATIONS_LIMIT"sv,
                               "JAX_TRACER_ERROR_NUM_TRACEBACK_FRAMES"sv,
                               "JAX_TRANSFER_GUARD"sv,
                               "JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE"sv,
                               "JAX_TRANSFER_GUARD_DEVICE_TO_HOST"sv,
                               "JAX_TRANSFER_GUARD_HOST_TO_DEVICE"sv,
                               "JAX_USE_DIRECT_LINEARIZE"sv,
                               "JAX_USE_EMIT_PIPELINE_PRIMITIVE"sv,
                               "JAX_USE_MAGMA"sv,
                               "JAX_USE_SHARDY_PARTITIONER"sv,
                               "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"sv,
                               "JAX_XLA_BACKEND"sv,
                               "JAX_XLA_PROFILE_VERSION"sv};

// Names and beginnings of names that are no settings of NCCL itself: builds and images set them, or
// plugins and tools read them, and new ones come with every release.
constexpr std::array kOthersNames{"NCCL_VERSION"sv,     "NCCL_HOME"sv,         "NCCL_ROOT"sv,
                                  "NCCL_ROOT_DIR"sv,    "NCCL_DIR"sv,          "NCCL_LIB_DIR"sv,
                                  "NCCL_INCLUDE_DIR"sv, "NCCL_INCLUDE_PATH"sv, "NCCL_LIBRARY"sv,
                                  "NCCL_LIB"sv,         "NCCL_PATH"sv,         "NCCL_SRC_DIR"sv,
                                  "NCCL_HDR_PATH"sv,    "NCCL_INSTALL_PATH"sv};
constexpr std::array kOthersPrefixes{
    "NCCL_INSPECTOR_"sv, "NCCL_DIAGNOSTICS_"sv, "NCCL_PROGRESS_"sv,
    "NCCL_FASTRAK_"sv,   "NCCL_TUNER_"sv,       "NCCL_GPUVIZ_"sv,
    "NCCL_TESTS_"sv,     "NCCL_SHIMNET_"sv,     "NCCL_TELEMETRY_"sv};
constexpr std::array kFamilies{"NCCL_"sv, "TORCH_NCCL_"sv, "TORCH_FR_"sv, "GLOO_"sv};

template <class Range>
bool holds(const Range& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <class Range>
bool begins_with_one_of(std::string_view word, const Range& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return word.starts_with(prefix); });
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names(kTorchNames.begin(), kTorchNames.end());
  for (const Variable& variable : explained_variables()) names.push_back(variable.name);
  for (const NcclVariable& variable : nccl_variables()) names.push_back(variable.name);
  names.insert(names.end(), kJaxNames.begin(), kJaxNames.end());
  return names;
}

// Those that begin alike: a name of another library is no slip of the pen.
std::vector<std::string_view> names_beside(std::string_view name) {
  const std::string_view family = name.substr(0, name.find('_') + 1);
  std::vector<std::string_view> names = all_names();
  std::erase_if(names, [&](std::string_view one) { return !one.starts_with(family); });
  return names;
}

// Values that do nothing, or something else than they look like.
bool is_one_character(std::string_view value) {
  return value.size() == 1;
}
bool is_number_above(std::string_view value, long limit) {
  const auto number = take_number<long>(value);
  return number && *number > limit;
}
bool is_no_ib_exponent(std::string_view value) {
  return is_number_above(value, 31);  // five bits in InfiniBand's own format
}
bool is_more_than_seven(std::string_view value) {
  return is_number_above(value, 7);
}
bool is_more_than_a_day_in_minutes(std::string_view value) {
  return is_number_above(value, 1440);
}
bool is_no_family(std::string_view value) {
  return value != "AF_INET" && value != "AF_INET6";
}
bool is_no_torch_debug(std::string_view value) {
  return !holds(std::array{"OFF"sv, "INFO"sv, "DETAIL"sv}, value);
}
bool is_detail(std::string_view value) {
  return value == "DETAIL";
}
bool is_no_nccl_debug(std::string_view value) {
  std::string upper(value);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return !holds(std::array{"VERSION"sv, "WARN"sv, "INFO"sv, "ABORT"sv, "TRACE"sv, "ATTN"sv}, upper);
}
bool is_off(std::string_view value) {
  return value == "0";
}
bool is_on(std::string_view value) {
  return value != "0";
}
bool is_any(std::string_view) {
  return true;
}

struct ValueRule {
  std::string_view name;
  bool (*applies)(std::string_view value);
  std::string_view why;
};
constexpr std::array kValueRules{
    ValueRule{"NCCL_SOCKET_IFNAME", is_one_character, "NCCL ignores a name of one character"},
    ValueRule{"NCCL_IB_TIMEOUT", is_no_ib_exponent,
              "it is an exponent (4.096 µs × 2^t, 20 by default, 31 at most), not seconds"},
    ValueRule{"NCCL_IB_RETRY_CNT", is_more_than_seven, "InfiniBand knows 7 retries at most"},
    ValueRule{"NCCL_SOCKET_FAMILY", is_no_family, "NCCL knows AF_INET and AF_INET6 only"},
    ValueRule{"NCCL_DEBUG", is_no_nccl_debug,
              "NCCL knows VERSION, WARN, INFO, ABORT and TRACE only"},
    ValueRule{"TORCH_DISTRIBUTED_DEBUG", is_no_torch_debug,
              "torch raises unless it is OFF, INFO or DETAIL"},
    ValueRule{
        "TORCH_DISTRIBUTED_DEBUG", is_detail,
        "it puts a gloo barrier before every collective: slow, and changes what the job does"},
    ValueRule{"DEEPSPEED_TIMEOUT", is_more_than_a_day_in_minutes, "it is minutes, not seconds"},
    ValueRule{"NCCL_COMM_BLOCKING", is_off,
              "torch (to 2.14) then uses communicators that are not ready"},
    ValueRule{"TORCH_NCCL_BLOCKING_WAIT", is_on,
              "torch then has no watchdog, so no dump and no heartbeat when a collective hangs"},
    ValueRule{"CUDA_LAUNCH_BLOCKING", is_on,
              "it serialises all kernels and can itself deadlock overlapping collectives"},
    ValueRule{"NCCL_COMM_ID", is_any,
              "every communicator then has the same root, and they collide"},
};

std::string with_remedy(std::string text, std::string_view instead) {
  if (!instead.empty()) text += fmt::format("; use instead: {}", instead);
  return text;
}

// The objection to a variable, whatever its value is.
std::optional<std::string> standing_warning(const Variable& variable) {
  switch (variable.standing) {
    case Standing::read: return std::nullopt;
    case Standing::inert:
      return with_remedy(
          fmt::format("{} has no effect by itself: {}", variable.name, variable.truth),
          variable.instead);
    case Standing::deprecated:
      return with_remedy(fmt::format("{} is an old name: {}", variable.name, variable.truth),
                         variable.instead);
    case Standing::gone:
      return with_remedy(fmt::format("{} has not read {} since {}", variable.reader, variable.name,
                                     variable.until),
                         variable.instead);
  }
  return std::nullopt;
}

std::optional<std::string> unknown_warning(std::string_view name) {
  const std::string_view near = nearest_variable(name);
  if (near.empty()) return std::nullopt;
  return fmt::format("{}: no NCCL or torch that safelaunch knows reads it; did you mean '{}'?",
                     name, near);
}

std::string versions(const Variable& variable) {
  std::string result;
  if (!variable.since.empty()) result += tr(", from {} on", variable.since);
  if (!variable.until.empty()) result += tr(", no longer in {}", variable.until);
  return result;
}

}  // namespace

std::optional<Variable> truth_about(std::string_view name) {
  for (const Variable& variable : explained_variables())
    if (variable.name == name) return variable;
  for (const NcclVariable& plain : nccl_variables())
    if (plain.name == name)
      return Variable{plain.name, "NCCL", plain.since, plain.until, Standing::read, {}, {}};
  if (holds(kJaxNames, name))
    return Variable{name, "JAX", {}, {}, Standing::read, "an option of jax.config", {}};
  const auto* torch = std::find(kTorchNames.begin(), kTorchNames.end(), name);
  if (torch == kTorchNames.end()) return std::nullopt;
  return Variable{*torch, "torch", {}, {}, Standing::read, {}, {}};
}

std::string_view nearest_variable(std::string_view name) {
  if (truth_about(name) || holds(kOthersNames, name)) return {};
  if (begins_with_one_of(name, kOthersPrefixes) || !begins_with_one_of(name, kFamilies)) return {};
  return nearest(name, all_names());
}

std::optional<std::string> warning_for(std::string_view name, std::string_view value) {
  const std::optional<Variable> variable = truth_about(name);
  if (!variable) return unknown_warning(name);
  if (auto warning = standing_warning(*variable)) return warning;
  for (const ValueRule& rule : kValueRules)
    if (rule.name == name && rule.applies(value))
      return fmt::format("{}={}: {}", name, value, rule.why);
  return std::nullopt;
}

std::vector<std::string> warnings_for(const VariableSettings& env) {
  std::vector<std::pair<Place, std::string>> found;
  for (const auto& [name, setting] : env)
    if (const auto warning = warning_for(name, setting.value))
      found.emplace_back(setting.place, *warning);
  // A person reads them in the order of the file.
  std::ranges::stable_sort(found, {}, [](const auto& one) {
    return std::tuple(one.first.file, one.first.line, one.first.column);
  });
  std::vector<std::string> result;
  for (const auto& [place, warning] : found)
    result.push_back(fmt::format("{}: {}", to_string(place), warning));
  return result;
}

std::string explain_variable(std::string_view name) {
  const std::optional<Variable> variable = truth_about(name);
  if (!variable) {
    const auto library = library_of_variable(name);
    if (library && !begins_with_one_of(name, kFamilies))
      return tr("{}: not known to safelaunch, which has no list of the variables of {}", name,
                library->name) +
             "\n";
    return tr(fmt::format("{}: not known to safelaunch{}", name,
                          did_you_mean(name, names_beside(name)))) +
           "\n";
  }
  std::string text = fmt::format("{}\n{}\n", name,
                                 tr("  read by: {}{}", tr(variable->reader), versions(*variable)));
  if (!variable->truth.empty()) text += tr("  what it does: {}", tr(variable->truth)) + "\n";
  if (!variable->instead.empty()) text += tr("  use instead: {}", tr(variable->instead)) + "\n";
  return text;
}

std::string variable_json(std::string_view name) {
  const std::optional<Variable> variable = truth_about(name);
  nlohmann::ordered_json told = {{"variable", name}, {"known", variable.has_value()}};
  if (variable)
    for (const auto& [key, value] : {std::pair("reader", variable->reader),
                                     {"since", variable->since},
                                     {"until", variable->until},
                                     {"truth", variable->truth},
                                     {"instead", variable->instead}})
      if (!value.empty()) told[key] = value;
  if (const std::string_view near = nearest_variable(name); !near.empty())
    told["did_you_mean"] = near;
  return told.dump(2) + "\n";
}

}  // namespace safelaunch::profile
