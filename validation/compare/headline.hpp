// The first sentence of a report: which configuration is best, in words, and what a speed-up does not say. A
// pure function of plain figures; the texts are for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare/statistics.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::validation {

/// How often a configuration exchanges, and the age of the models on which its workers compute. Throughput
/// counts local steps, whatever they cost in accuracy.
struct Exchanges {
  double steps = 1;      ///< of a worker, from one exchange to the next; mean
  double count = 0;      ///< per worker
  double staleness = 0;  ///< mean of all pushes, in updates of the model

  /// Two that differ only by rounding train alike.
  bool differ_from(const Exchanges& other) const;
  /// "243 local steps per exchange, 12 exchanges, mean staleness 1.20".
  std::string text() const;
};
Exchanges exchanges_of(const std::optional<DistributionSummary>& local_steps, double rounds,
                       const std::optional<DistributionSummary>& staleness);

/// A configuration that may be the best one.
struct Contender {
  std::string name;
  std::string group{};      ///< only those of a group are compared
  std::string algorithm{};  ///< within the group; empty: as `name`
  double throughput = 0;    ///< simulated samples per second
  std::optional<Interval>
      interval{};  ///< of the throughput, from an ensemble of simulations; none: one simulation
  Exchanges exchanges{};
  bool has_accuracy = false;               ///< an accuracy was evaluated
  std::optional<double> learning_rate{};   ///< none: nothing is learnt
  std::optional<double> target{};          ///< accuracy
  std::optional<double> time_to_target{};  ///< simulated seconds; none: not known, or not reached
  std::string baseline{};  ///< name of the configuration to which speed-ups are relative; empty: none
  std::optional<double> speed_up{};         ///< in throughput
  std::optional<double> target_speed_up{};  ///< in time to the target
};

struct Headline {
  std::string text;
  std::vector<std::string> warnings{};
};

/// The best by time to the target where that is known, otherwise by throughput, with the limits of that
/// figure. With several groups: how often each configuration is the best one, and the largest speed-up.
/// Empty without contenders. Warns where configurations exchange differently and no accuracy shows the cost,
/// where accuracies of very different numbers of updates have one learning rate, and where the intervals of
/// the best ones overlap.
Headline headline_of(const std::vector<Contender>& contenders);

/// The first two of these warnings, for other comparisons than that of a headline.
std::vector<std::string> exchange_warnings(const std::vector<Contender>& contenders);

/// The question of several jobs (RunInfo::question) in one line; empty where none is known.
std::string question_line(const std::vector<std::vector<std::string>>& questions);

}  // namespace tandem::validation
