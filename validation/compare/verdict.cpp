#include "validation/compare/verdict.hpp"

#include <fmt/format.h>

#include <boost/math/distributions/binomial.hpp>

namespace tandem::validation {
namespace {

std::string percent_text(double ratio) { return fmt::format("{:.3g} %", ratio * 100); }

/// A larger share of disturbed configurations leaves the mean errors without meaning.
constexpr double most_disturbed = 0.1;

/// Why the measurement cannot decide.
Judgement doubts_of(const Evidence& evidence) {
  Judgement doubts{.verdict = Verdict::inconclusive};
  const std::string tolerance = percent_text(evidence.tolerance);
  if (!evidence.other_origin.empty()) {
    doubts.reasons.push_back("the differences are no errors of a prediction: " + evidence.other_origin);
    doubts.advice.emplace_back(
        "compare like with like: simulate with a profile of this machine (`tandem calibrate`, "
        "physics.network=profile), or run on the emulated cluster (--cluster); `tandem validate` calibrates "
        "by "
        "itself");
  }
  if (!evidence.other_members.empty()) {
    doubts.reasons.push_back("different machines departed or arrived in simulation and measurement: " +
                             evidence.other_members);
    doubts.advice.emplace_back(evidence.revokes_nothing
                                   ? "the measurement revokes no machine: --set run.revoke=kill"
                                   : "both draw the same lifetimes from the seed, so one of the two is of "
                                     "another version of Tandem, of other platform or lifetime files, or "
                                     "its machine was too slow to follow the clock: make both again");
  }
  if (evidence.disturbed > most_disturbed * evidence.configurations) {
    doubts.reasons.push_back(
        evidence.configurations == 1
            ? "other programs used the processor during the measurement"
            : fmt::format("other programs used the processor during the measurement of {} of {} "
                          "configurations",
                          evidence.disturbed, evidence.configurations));
    doubts.advice.emplace_back("end other programs, or use a machine of its own, and measure again");
  }
  if (evidence.disturbed_calibration > most_disturbed * evidence.configurations) {
    doubts.reasons.push_back(fmt::format(
        "other programs used {:.0f} % of the machine during the calibration, so the profile is wrong",
        100 * evidence.calibration_load));
    doubts.advice.emplace_back("end other programs, and calibrate again");
  }
  bool needs_repetitions = false;
  for (const auto& error : evidence.errors) {
    if (error.noise_floor && *error.noise_floor > evidence.tolerance) {
      doubts.reasons.push_back(
          fmt::format("two measured runs differ by {} in {}, more than the tolerance of {}",
                      percent_text(*error.noise_floor), error.name, tolerance));
      needs_repetitions = true;
    } else if (error.half_width && *error.half_width > evidence.tolerance) {
      doubts.reasons.push_back(fmt::format("the error of {} is known to +-{} only, the tolerance is {}",
                                           error.name, percent_text(*error.half_width), tolerance));
      needs_repetitions = true;
    }
  }
  if (needs_repetitions)
    doubts.advice.emplace_back(
        "measure more often (--set repetitions=5) or longer (--set stop.rounds=...), or accept a larger "
        "--tolerance");
  return doubts;
}

/// Whether so few measured runs lie in their intervals that chance does not explain it (one-sided, 5 %),
/// though each interval should hold at least 85 %.
bool intervals_are_wrong(const Evidence& evidence) {
  constexpr double least_coverage = 0.85, level = 0.05;
  if (evidence.interval_runs == 0) return false;
  const boost::math::binomial runs(evidence.interval_runs, least_coverage);
  return boost::math::cdf(runs, evidence.interval_inside) < level;
}

std::vector<std::string> errors_beyond(const Evidence& evidence) {
  std::vector<std::string> reasons;
  for (const auto& error : evidence.errors)
    if (!(error.error <= evidence.tolerance))
      reasons.push_back(fmt::format("the error of {} is {}, the tolerance {}", error.name,
                                    percent_text(error.error), percent_text(evidence.tolerance)));
  if (intervals_are_wrong(evidence))
    reasons.push_back(fmt::format("the simulated 90 % intervals of step time hold {} of {} measured runs",
                                  evidence.interval_inside, evidence.interval_runs));
  if (!evidence.swapped.empty())
    reasons.push_back(
        fmt::format("simulation and measurement order {} differently, though {} apart when measured",
                    evidence.swapped, percent_text(evidence.swapped_gap)));
  return reasons;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "PASSED";
    case Verdict::passed_with_warnings:
      return "PASSED WITH WARNINGS";
    case Verdict::inconclusive:
      return "INCONCLUSIVE";
    case Verdict::failed:
      return "FAILED";
  }
  return "";
}

Judgement judge(const Evidence& evidence) {
  Judgement failure{.verdict = Verdict::failed};
  if (evidence.failed > 0)
    failure.reasons.push_back(
        fmt::format("{} of {} configurations failed", evidence.failed, evidence.configurations));
  if (!evidence.failed_gate.empty())
    failure.reasons.push_back("simulation and measurement did not do the same work: " + evidence.failed_gate);
  if (evidence.errors.empty() && failure.reasons.empty())
    failure.reasons.emplace_back("nothing could be compared");
  if (!failure.reasons.empty()) return failure;

  Judgement doubts = doubts_of(evidence);
  const std::vector<std::string> beyond = errors_beyond(evidence);
  if (!evidence.other_origin.empty()) return doubts;
  if (!doubts.reasons.empty()) {
    doubts.reasons.insert(doubts.reasons.end(), beyond.begin(), beyond.end());
    return doubts;
  }
  if (!beyond.empty()) return {.verdict = Verdict::failed, .reasons = beyond};
  if (!evidence.warnings.empty())
    return {.verdict = Verdict::passed_with_warnings, .reasons = evidence.warnings};
  return {.verdict = Verdict::passed};
}

}  // namespace tandem::validation
