#include "workloads/planning/lives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "policies/vocabulary/rng.hpp"

namespace tandem::planning {

/// The front of the estimates, the cheapest that may meet the deadline, and the fastest.
std::vector<std::size_t> worth_living(const std::vector<Configuration>& all, const Goal& goal) {
  constexpr std::size_t cheapest = 40, fastest = 5;
  constexpr double margin = 1.2;  // of estimates
  std::vector<Outcome> expected;
  for (const auto& each : all) expected.push_back(each.expected);
  const auto front = front(expected);
  std::set<std::size_t> chosen(front.begin(), front.end());
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return expected[i].cost; });
  std::size_t taken = 0;
  for (const std::size_t i : order) {
    if (goal.deadline && expected[i].time > *goal.deadline * margin) continue;
    if (taken++ == cheapest) break;
    chosen.insert(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return expected[i].time.count(); });
  for (std::size_t i = 0; i < std::min(fastest, order.size()); ++i) chosen.insert(order[i]);
  return {chosen.begin(), chosen.end()};
}

Lives::Lives(Lattice& lattice, std::vector<std::size_t> numbers, const Goal& goal, std::uint64_t seed)
    : lattice_(lattice), goal_(goal), seed_(seed), numbers_(std::move(numbers)) {
  for (const std::size_t number : numbers_) jobs_.push_back(lattice.job_of(lattice.configurations()[number]));
  outcomes_.resize(jobs_.size());
  for (const auto& job : jobs_) is_certain_.push_back(job->is_certain());
}

void Lives::live(const std::function<void(double)>& progress) {
  for (int draws = first_draws;; draws *= 2) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      live_until(i, draws);
      progress(static_cast<double>(i + 1) / static_cast<double>(jobs_.size()));
    }
    judge();
    if (draws >= most_draws || is_clear()) return;
  }
}

bool Lives::depends_on_chance() const { return std::ranges::find(is_certain_, false) != is_certain_.end(); }

std::vector<LivedConfiguration> Lives::fresh(int lives) const {
  std::vector<std::size_t> order(jobs_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t first = best();
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Figures& of = figures_[i];
    return std::tuple(i != first, !of.meets_goal, of.meets_goal ? 0.0 : -of.within, of.mean_cost);
  });
  const auto chosen =
      choices_of_resamples(outcomes_, is_certain_, goal_, resample_count, Rng::stream(seed_, "resamples"));
  std::set<std::pair<const platforms::Offer*, std::size_t>> shown;
  std::vector<LivedConfiguration> all;
  for (const std::size_t i : order) {
    const Configuration& of = lattice_.configurations()[numbers_[i]];
    if (shown.emplace(of.offer, of.way).second) {
      all.push_back(fresh_of(i, lives));
      all.back().chosen_in = chosen[i];
    }
  }
  return all;
}

Sensitivity Lives::sensitivity(const std::vector<LivedConfiguration>& lived) const {
  Sensitivity found{.slower = break_even(&priced::Change::rounds),
                    .shorter = break_even(&priced::Change::lives)};
  find_dearer(lived, found);
  return found;
}

std::uint64_t Lives::seed_of(const char* purpose, int draw) const {
  return Rng::stream(seed_, purpose, static_cast<std::uint64_t>(draw)).next();
}

void Lives::live_until(std::size_t i, int draws) {
  auto& outcomes = outcomes_[i];
  for (int draw = static_cast<int>(outcomes.size()); draw < draws; ++draw)
    outcomes.push_back(is_certain_[i] && draw > 0 ? outcomes.front()
                                                  : jobs_[i]->outcome(seed_of("plan", draw)));
}

void Lives::judge() {
  figures_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    figures_.push_back(figures_of(outcomes_[i], goal_, is_certain_[i]));
}

/// No other one that meets the goal costs about as much as the best, or none is near the goal.
bool Lives::is_clear() const {
  const std::size_t first = best();
  if (!is_met())
    return std::ranges::all_of(figures_,
                               [&](const Figures& of) { return of.within_interval.high < goal_.confidence; });
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (i != first && figures_[i].meets_goal && !differ(outcomes_[i], outcomes_[first])) return false;
  return true;
}

LivedConfiguration Lives::fresh_of(std::size_t i, int lives) const {
  LivedConfiguration lived{.number = numbers_[i], .figures = {}};
  const int draws = is_certain_[i] ? 1 : lives;
  std::vector<Outcome> outcomes;
  std::int64_t departures = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const PlannedJob::Paid paid = jobs_[i]->live(seed_of("plan, fresh", draw));
    const bool ended = paid.life.gave_up.empty();
    constexpr double never = std::numeric_limits<double>::infinity();
    outcomes.push_back({ended ? paid.life.makespan : Seconds(never), paid.ledger.cost()});
    for (const money::Entry& entry : paid.ledger.entries())
      if (entry.roles.find("worker") != std::string::npos) lived.workers_cost += entry.cost.dollars() / draws;
    const auto uses = paid.ledger.uses();
    lived.uses += {uses.useful.dollars() / draws, uses.wasted.dollars() / draws, uses.idle.dollars() / draws,
                   uses.waiting.dollars() / draws};
    departures += paid.life.departures;
  }
  lived.departures = static_cast<double>(departures) / draws;
  lived.figures = figures_of(outcomes, goal_, is_certain_[i]);
  return lived;
}

/// The factor on the duration of rounds (above 1), or on the lives of machines (below 1), up to which the
/// best one meets the goal and costs no more in the mean than the best one whose machines stay. None: it
/// hardly matters.
std::optional<double> Lives::break_even(double priced::Change::*what) const {
  constexpr double most = 16.0, within = 1e-3;
  if (!is_met()) return std::nullopt;
  const bool shorter = what == &priced::Change::lives;
  const auto holds = [&](double factor) {
    priced::Change change;
    change.*what = shorter ? 1.0 / factor : factor;
    return is_choice_with(change);
  };
  if (!holds(1.0) || holds(most)) return std::nullopt;
  double low = 1.0, high = most;
  while (high - low > within * low) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? low : high) = middle;
  }
  return shorter ? 1.0 / low : low;
}

bool Lives::is_choice_with(const priced::Change& change) const {
  const std::size_t first = best();
  std::vector<Outcome> outcomes;
  const int draws = is_certain_[first] ? 1 : first_draws;
  int missed = 0;
  for (int draw = 0; draw < draws; ++draw) {
    outcomes.push_back(jobs_[first]->outcome(seed_of("plan", draw), change));
    missed += goal_.is_met_by(outcomes.back()) ? 0 : 1;
    // The others could not make it meet the goal. Lives that never end take long.
    if (missed > 0 && wilson(draws - missed, draws).low < goal_.confidence) return false;
  }
  const Figures changed = figures_of(outcomes, goal_, is_certain_[first]);
  if (!changed.meets_goal) return false;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (i == first || !is_certain_[i]) continue;
    const auto other = figures_of(std::vector(1, jobs_[i]->outcome(0, change)), goal_, true);
    if (other.meets_goal && other.mean_cost < changed.mean_cost) return false;
  }
  return true;
}

/// The least factor above 1 on the price of the chosen offer with which another configuration is cheaper in
/// the mean, or the budget is exceeded. Prices of machines that all share stay.
void Lives::find_dearer(const std::vector<LivedConfiguration>& lived, Sensitivity& found) const {
  const LivedConfiguration& chosen = lived.front();
  if (!is_met() || chosen.workers_cost <= 0.0) return;
  const auto& configurations = lattice_.configurations();
  const auto* offer = configurations[chosen.number].offer;
  const double others_cost = chosen.figures.mean_cost - chosen.workers_cost;
  const auto take = [&](double factor, std::optional<std::size_t> then) {
    if (factor <= 1.0 || (found.dearer && factor >= *found.dearer)) return;
    found.dearer = factor;
    found.then = then;
  };
  for (std::size_t i = 1; i < lived.size(); ++i) {
    const LivedConfiguration& other = lived[i];
    if (!other.figures.meets_goal) continue;
    const bool is_same = configurations[other.number].offer == offer;
    // Both sides of chosen.workers * f + others = other.workers * (f or 1) + its others.
    const double moving = chosen.workers_cost - (is_same ? other.workers_cost : 0.0);
    const double fixed = other.figures.mean_cost - (is_same ? other.workers_cost : 0.0) - others_cost;
    if (moving > 0.0) take(fixed / moving, other.number);
  }
  if (goal_.budget) take((goal_.budget->dollars() - others_cost) / chosen.workers_cost, std::nullopt);
}

}  // namespace tandem::planning
