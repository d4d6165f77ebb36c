// Checks whether the figures of a trace agree with each other, and whether a trace can be imported. Pure: a
// Trace and its findings in, lines out.
#pragma once

#include <string>
#include <vector>

#include "workloads/trace/findings.hpp"
#include "workloads/trace/ranks.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

struct Check {
  enum class Verdict { holds, fails, shown };

  std::string subject;
  std::string figure;
  Verdict verdict = Verdict::shown;
};

/// "passed", "failed"; empty: the figure is only shown.
const char* name_of(Check::Verdict verdict);

/// Why a trace cannot be imported, and how to record one that can.
struct Refusal {
  std::string name;
  std::string because;
  std::string remedy;
};

/// "launch-bound", "partly launch-bound", "not launch-bound", by the share of kernels that begin promptly.
std::string launch_verdict(const LaunchDelays& delays);

std::vector<Check> checks_of(const Trace& trace, const RankFindings& findings);
std::vector<Refusal> refusals_of(const Trace& trace, const RankFindings& findings);

Check check_of(const Match& match);
/// Nothing when the ranks can be compared.
std::vector<Refusal> refusals_of(const Match& match);

}  // namespace tandem::trace
