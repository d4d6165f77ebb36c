// The verdict of a validation: passed, passed with warnings, inconclusive or failed, with the reasons and
// what to do. Pure: a decision over the figures that count.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

enum class Verdict { passed, passed_with_warnings, inconclusive, failed };
/// "PASSED", "PASSED WITH WARNINGS", "INCONCLUSIVE", "FAILED".
const char* name_of(Verdict verdict);
/// Whether the simulation can be trusted within the tolerance.
inline bool is_pass(Verdict verdict) {
  return verdict == Verdict::passed || verdict == Verdict::passed_with_warnings;
}

/// The error of a quantity that must be within the tolerance. All are ratios.
struct DecidingError {
  std::string name;  ///< "step time"
  double error = 0;  ///< mean |error|
  /// Half the width of the 95 % interval of an error, mean over configurations; none with one repetition.
  std::optional<double> half_width{};
  std::optional<double> noise_floor{};  ///< how much measured repetitions differ
};

struct Evidence {
  double tolerance = 0.10;
  std::vector<DecidingError> errors{};  ///< empty: nothing could be compared
  int configurations = 1;
  int failed = 0;     ///< configurations without a result
  int disturbed = 0;  ///< configurations whose measurement other programs disturbed
  /// Configurations whose profile was measured while other programs used the machine, and the largest share.
  int disturbed_calibration = 0;
  double calibration_load = 0;
  /// Why the differences of configurations are not errors of a prediction; empty: they are.
  std::string other_origin{};
  /// The machines in which simulation and measurement differ, though both draw the same; empty: none.
  std::string other_members{};
  /// Machines depart only in the simulation: the job starts again, and run.revoke is none.
  bool revokes_nothing = false;
  /// Measured runs of configurations that are predicted as intervals of 90 %, and those inside.
  int interval_runs = 0;
  int interval_inside = 0;
  std::string failed_gate{};  ///< in which way the work differed; empty: in none
  /// Variants in a different order though their measured throughputs differ by more than ties do: the largest
  /// such difference, and the variants. Empty: the orders are equal up to ties.
  std::string swapped{};
  double swapped_gap = 0;
  std::vector<std::string> warnings{};  ///< facts that a reader has to know although the errors are small
};

struct Judgement {
  Verdict verdict = Verdict::failed;
  std::vector<std::string> reasons{};  ///< why it is not simply "passed"
  std::vector<std::string> advice{};   ///< of an inconclusive verdict: what to do
};

/// Failed: a configuration failed, the work differed, or an error or the ranking is wrong by more than the
/// measurement's own uncertainty, or simulated intervals hold fewer measured runs than chance explains.
/// Inconclusive: the measurement cannot tell, since it used another network, other devices or other machines
/// that departed, other programs disturbed more than a tenth of it, or its intervals or its noise floor
/// exceed the tolerance.
Judgement judge(const Evidence& evidence);

}  // namespace tandem::validation
