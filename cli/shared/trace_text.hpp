// The findings of `tandem import` in traces of PyTorch's profiler, as text and as JSON. Texts of the file
// are printed without control characters; its hosts, users and paths are not printed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/trace/checks.hpp"
#include "workloads/trace/findings.hpp"
#include "workloads/trace/ranks.hpp"

namespace tandem::cli {

enum class BreakdownKind { exact, hta };

/// At most 100 characters, without control characters.
std::string printable(std::string text);
/// "trace.json: rank 0 of 2, Tesla V100, 5 steps ..." and what a step consists of.
std::string summary_text(const trace::RankFindings& findings);
/// One row per step.
std::string steps_table(const trace::RankFindings& findings);
/// One row per bucket; empty without buckets.
std::string buckets_table(const trace::RankFindings& findings);
/// One row per node of the backward pass of the last step that counts.
std::string layers_table(const trace::RankFindings& findings);
std::string breakdown_text(const trace::RankFindings& findings, BreakdownKind kind);
/// One row per collective of several ranks.
std::string match_table(const trace::Match& match, const std::vector<trace::RankFindings>& findings);
/// One line per check. `only_failed`: only for those that failed.
std::string checks_text(const std::vector<trace::Check>& checks, bool only_failed);

nlohmann::json findings_document(const trace::RankFindings& findings, const std::vector<trace::Check>& checks,
                                 const std::vector<trace::Refusal>& refusals);
nlohmann::json match_document(const trace::Match& match);

}  // namespace tandem::cli
