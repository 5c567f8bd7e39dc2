#include "probe_options.h"

namespace safelaunch::cli {
namespace {

void add_what(VerbOptions& verb, ProbeOptions& options) {
  verb.list("--profile,-p", options.profiles, "NAME|FILE",
            "profiles to probe, repeated or with commas");
  verb.flag("--all", options.all, "probe every profile, and say which is the fastest");
  verb.exclude("--all", "--profile");
  verb.text("--cluster", options.cluster, "NAME", "the cluster rule to use");
  verb.text("--config", options.config, "FILE", "the configuration file");
  verb.texts("--set", options.set, "NAME=VALUE", "one variable, over every profile");
  verb.texts("--unset", options.unset, "NAME", "remove one variable");
}

void add_where(VerbOptions& verb, ProbeOptions& options) {
  verb.number("--ranks", options.ranks, 1, 1024, "how many ranks (one a GPU)");
  verb.text("--devices", options.devices, "LIST", "the GPUs to use, such as 0,1");
  verb.text("--nccl", options.nccl, "FILE",
            "the libnccl to probe (the one that COMMAND would load)");
}

void add_limits(VerbOptions& verb, ProbeOptions& options) {
  verb.duration("--driver-timeout", options.driver_timeout,
                "how long the CUDA driver may take to answer (30s)");
  verb.duration("--init-timeout", options.init_timeout,
                "how long NCCL may take to make a communicator (30s)");
  verb.duration("--collective-timeout", options.collective_timeout,
                "how long the first all_reduce may take (20s)");
}

}  // namespace

VerbOptions probe_verb(ProbeOptions& options) {
  VerbOptions verb("probe", "[OPTIONS] [--] [COMMAND [ARG...]]",
                   "Lets NCCL make a communicator and reduce over the GPUs of this host, under one "
                   "profile after\nthe other, and says which works and which is the fastest. "
                   "COMMAND is not run; its Python tells\nwhich NCCL it would load.",
                   Rest::command);
  add_what(verb, options);
  add_where(verb, options);
  add_limits(verb, options);
  verb.flag("--json", options.json, "the result as JSON");
  return verb;
}

}  // namespace safelaunch::cli
