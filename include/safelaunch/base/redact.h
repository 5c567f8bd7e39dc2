#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch {

/// What stands in the place of a secret in everything that safelaunch writes.
inline constexpr std::string_view kRedacted = "[redacted]";

/// How the tokens of well-known services begin: Hugging Face, OpenAI, Stripe, GitHub, GitLab, npm,
/// PyPI, Slack, Weights & Biases, Groq, Replicate, NVIDIA, Docker, Google, SendGrid, AWS.
inline constexpr std::array<std::string_view, 30> kTokenBeginnings{
    "hf_",   "api_org_", "sk-",  "sk_live_", "rk_live_",  "gho_",       "ghp_",  "ghu_",
    "ghs_",  "ghr_",     "npm_", "pypi-",    "xoxa-",     "xoxb-",      "xoxe-", "xoxp-",
    "xoxr-", "xoxs-",    "gsk_", "wandb_",   "r8_",       "nvapi-",     "ya29.", "AIza",
    "SG.",   "glpat-",   "AKIA", "ASIA",     "dckr_pat_", "github_pat_"};

/// Whether a variable or option of this name holds a secret: *TOKEN*, *SECRET*, *PASSWORD*,
/// *API_KEY*, AWS_ACCESS_KEY_ID, … (case and - or _ do not matter).
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A command line fit for a record: values of options that hold secrets, `NAME=value` words with a
/// secret name, passwords in URLs and well-known token forms (hf_…, sk-…, AKIA…) are replaced.
[[nodiscard]] std::vector<std::string> redact(std::span<const std::string> words);

/// The same for one text, where only passwords in URLs and token forms can be told.
[[nodiscard]] std::string redact_text(std::string_view text);

}  // namespace safelaunch
