// Lives of the configurations that are worth it, with common fates of machines, and what follows from them:
// the choice, figures of fresh lives, and what would change the choice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "policies/money/ledger.hpp"
#include "policies/planning/choice.hpp"
#include "workloads/planning/lattice.hpp"
#include "workloads/planning/planned_job.hpp"

namespace tandem::planning {

/// Lives until those that never meet the goal are left out; of the others at first, and at most.
constexpr int sorting_draws = 20, first_draws = 200, most_draws = 1600;
constexpr int resample_count = 200;
/// Rows with so many fresh lives that their figures are fine; the others have few.
constexpr std::size_t fine_rows = 8;
/// Of fresh lives, until the standard error of the mean cost is below this share of it.
constexpr double fine_enough = 5e-4;

/// A configuration that was lived through, with fresh lives for these figures.
struct LivedConfiguration {
  std::size_t number = 0;  ///< among the configurations of the lattice
  int lives = 0;           ///< fresh ones
  Figures figures{};
  // Means of the lives, in dollars.
  double workers_cost = 0.0;
  money::Uses<double> uses{};
  double departures = 0.0;           ///< mean
  double samples = 0.0;              ///< that were trained, mean
  int cut = 0;                       ///< lives that were cut off (most_times)
  std::optional<FittedStep> step{};  ///< as PlannedJob::step
  int chosen_in = 0;                 ///< of the resamples
};

/// What would change the choice.
struct Sensitivity {
  std::optional<double> dearer{};     ///< factor on the price of the chosen machines; none: none known
  std::optional<std::size_t> then{};  ///< the configuration that is chosen then; none: no one
  // Up to which the chosen one meets the goal, and costs no more than one whose machines stay:
  std::optional<double> slower;   ///< factor on rounds
  std::optional<double> shorter;  ///< factor on the lives of machines
};

/// The front of the estimates, the cheapest that may meet the deadline, and the fastest, of those that end.
std::vector<std::size_t> worth_living(const std::vector<Configuration>& all, const Goal& goal);

/// Configurations, and their outcomes with common fates.
class Lives {
 public:
  /// `numbers`: of configurations of the lattice, which must outlive this. `step`: called before each life;
  /// what it throws ends the work.
  Lives(
      Lattice& lattice, std::vector<std::size_t> numbers, const Goal& goal, std::uint64_t seed,
      std::function<void()> step = [] {});

  /// Lives of each, until the two best differ or there are enough; few of those that cannot be chosen.
  /// `progress`: the share that is done.
  void live(const std::function<void(double)>& progress);

  /// Lives of those that may be chosen.
  int draws() const { return draws_; }
  bool is_met() const { return choose(figures_).has_value(); }
  bool depends_on_chance() const;

  /// The best first; then those that meet the goal, the cheapest first; then the others by how often they do.
  /// Of an offer with one way to exchange, the best number of machines alone.
  std::vector<LivedConfiguration> fresh() const;

  /// `lived`: as fresh() gave them.
  Sensitivity sensitivity(const std::vector<LivedConfiguration>& lived) const;

 private:
  std::size_t best() const { return choose(figures_).value_or(by_nearness(figures_, goal_).front()); }
  /// No life met the goal, or too few of many did.
  bool is_hopeless(const Figures& of) const {
    return of.within == 0.0 || (draws_ >= first_draws && of.within_interval.high < goal_.confidence);
  }
  std::uint64_t seed_of(const char* purpose, int draw) const;
  void train_all_samples(Lattice& lattice, std::size_t i);
  Outcome changed_outcome(std::size_t i, int draw, const priced::Change& change) const;
  void live_until(std::size_t i, int draws);
  void judge();
  void retire();
  bool is_clear() const;
  std::vector<int> chosen_in_resamples() const;
  /// At most so many lives.
  LivedConfiguration fresh_of(std::size_t i, int most) const;
  bool are_fine(const Figures& figures) const;
  int draws_of_choice() const;
  std::optional<double> break_even(double priced::Change::*what, int draws) const;
  bool is_choice_with(const priced::Change& change, int draws) const;
  bool is_choice_with(const std::vector<Outcome>& outcomes, const priced::Change& change) const;
  void find_dearer(const std::vector<LivedConfiguration>& lived, Sensitivity& found) const;

  const Lattice& lattice_;
  Goal goal_;
  std::uint64_t seed_;
  std::function<void()> step_;
  std::vector<std::size_t> numbers_;  ///< of the configurations
  std::vector<std::unique_ptr<PlannedJob>> jobs_;
  std::vector<bool> is_certain_, is_retired_;
  int draws_ = 0;
  std::vector<std::vector<Outcome>> outcomes_;
  std::vector<Figures> figures_;
};

}  // namespace tandem::planning
