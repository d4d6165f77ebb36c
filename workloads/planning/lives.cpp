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
  const bool does_one_end = std::ranges::any_of(all, &Configuration::ends);
  std::vector<std::size_t> numbers;
  std::vector<Outcome> expected;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (does_one_end && !all[i].ends) continue;
    numbers.push_back(i);
    expected.push_back(all[i].expected);
  }
  const auto on_front = front(expected);
  std::set<std::size_t> chosen(on_front.begin(), on_front.end());
  std::vector<std::size_t> order(numbers.size());
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
  std::vector<std::size_t> worth;
  for (const std::size_t i : chosen) worth.push_back(numbers[i]);
  return worth;
}

Lives::Lives(Lattice& lattice, std::vector<std::size_t> numbers, const Goal& goal, std::uint64_t seed,
             std::function<void()> step)
    : lattice_(lattice), goal_(goal), seed_(seed), step_(std::move(step)), numbers_(std::move(numbers)) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    step_();
    jobs_.push_back(lattice.job_of(lattice.configurations()[numbers_[i]]));
    if (jobs_[i]->may_lose_samples()) train_all_samples(lattice, i);
  }
  outcomes_.resize(jobs_.size());
  is_retired_.resize(jobs_.size(), false);
  for (const auto& job : jobs_) is_certain_.push_back(job->is_certain());
}

/// Adds rounds until lives train the samples in the mean. Without, machines that live shortly would be cheap
/// because less is trained on them.
void Lives::train_all_samples(Lattice& lattice, std::size_t i) {
  constexpr int passes = 3, draws = 40;
  constexpr double enough = 0.998;
  for (int pass = 0; pass < passes; ++pass) {
    const Configuration& of = lattice.configurations()[numbers_[i]];
    std::int64_t samples = 0, ended = 0;
    for (int draw = 0; draw < draws; ++draw) {
      step_();
      const PlannedJob::Paid paid = jobs_[i]->live(seed_of("plan, samples", draw));
      if (!paid.life.gave_up.empty()) continue;
      samples += PlannedJob::samples_of(paid);
      ++ended;
    }
    const double share = static_cast<double>(samples) / static_cast<double>(ended * of.samples);
    if (ended == 0 || share >= enough || share <= 0.0) return;
    lattice.add_rounds(numbers_[i],
                       std::llround(std::ceil(static_cast<double>(of.rounds) * (1.0 / share - 1.0))));
    jobs_[i] = lattice.job_of(lattice.configurations()[numbers_[i]]);
  }
}

void Lives::live(const std::function<void(double)>& progress) {
  for (draws_ = sorting_draws;; draws_ = std::max(first_draws, 2 * draws_)) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (!is_retired_[i]) live_until(i, draws_);
      progress(static_cast<double>(i + 1) / static_cast<double>(jobs_.size()));
    }
    judge();
    retire();
    if (draws_ >= first_draws && (draws_ >= most_draws || is_clear())) return;
  }
}

/// Those that are hopeless, where another one may meet the goal, else all of them but the nearest: their jobs
/// may start again and again, so that their lives take longest. And those that are clearly dearer than one
/// that meets the goal.
void Lives::retire() {
  constexpr std::size_t nearest = 5;
  std::vector<std::size_t> hopeless;
  bool has_others = false;
  for (const std::size_t i : by_nearness(figures_, goal_)) {
    if (is_retired_[i]) continue;
    if (is_hopeless(figures_[i]))
      hopeless.push_back(i);
    else
      has_others = true;
  }
  for (std::size_t place = has_others ? 0 : nearest; place < hopeless.size(); ++place)
    is_retired_[hopeless[place]] = true;
  if (draws_ < first_draws || !is_met()) return;
  constexpr double clearly = 4.0;  // standard errors
  const std::size_t first = best();
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (!is_retired_[i] && figures_[i].mean_cost > figures_[first].mean_cost &&
        differ(outcomes_[i], outcomes_[first], clearly))
      is_retired_[i] = true;
}

bool Lives::depends_on_chance() const { return std::ranges::find(is_certain_, false) != is_certain_.end(); }

std::vector<LivedConfiguration> Lives::fresh() const {
  std::vector<std::size_t> order(jobs_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t first = best();
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Figures& of = figures_[i];
    return std::tuple(i != first, !of.meets_goal, of.meets_goal ? 0.0 : -of.within, of.mean_cost);
  });
  const std::vector<int> chosen = chosen_in_resamples();
  std::set<std::pair<const platforms::Offer*, std::size_t>> shown;
  std::vector<LivedConfiguration> all;
  for (const std::size_t i : order) {
    const Configuration& of = lattice_.configurations()[numbers_[i]];
    if (shown.emplace(of.offer, of.way).second) {
      all.push_back(fresh_of(i, all.size() < fine_rows ? most_draws : first_draws));
      all.back().chosen_in = chosen[i];
    }
  }
  return all;
}

/// Those with few lives are never chosen.
std::vector<int> Lives::chosen_in_resamples() const {
  std::vector<std::size_t> present;
  std::vector<std::vector<Outcome>> outcomes;
  std::vector<bool> are_certain;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (is_retired_[i]) continue;
    present.push_back(i);
    outcomes.push_back(outcomes_[i]);
    are_certain.push_back(is_certain_[i]);
  }
  const auto found =
      choices_of_resamples(outcomes, are_certain, goal_, resample_count, Rng::stream(seed_, "resamples"));
  std::vector<int> chosen(jobs_.size(), 0);
  for (std::size_t place = 0; place < present.size(); ++place) chosen[present[place]] = found[place];
  return chosen;
}

Sensitivity Lives::sensitivity(const std::vector<LivedConfiguration>& lived) const {
  Sensitivity found;
  if (!is_met()) return found;
  const int draws = draws_of_choice();
  found.slower = break_even(&priced::Change::rounds, draws);
  found.shorter = break_even(&priced::Change::lives, draws);
  find_dearer(lived, found);
  return found;
}

std::uint64_t Lives::seed_of(const char* purpose, int draw) const {
  return Rng::stream(seed_, purpose, static_cast<std::uint64_t>(draw)).next();
}

void Lives::live_until(std::size_t i, int draws) {
  auto& outcomes = outcomes_[i];
  for (int draw = static_cast<int>(outcomes.size()); draw < draws; ++draw) {
    step_();
    outcomes.push_back(is_certain_[i] && draw > 0 ? outcomes.front()
                                                  : jobs_[i]->outcome(seed_of("plan", draw)));
  }
}

void Lives::judge() {
  figures_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    figures_.push_back(figures_of(outcomes_[i], goal_, is_certain_[i]));
}

/// No other one that meets the goal costs about as much as the best, and no cheaper one may meet it; or none
/// is near the goal.
bool Lives::is_clear() const {
  const std::size_t first = best();
  if (!is_met())
    return std::ranges::all_of(figures_,
                               [&](const Figures& of) { return of.within_interval.high < goal_.confidence; });
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (i == first || is_retired_[i]) continue;
    const Figures& of = figures_[i];
    const bool may_meet = of.within_interval.high >= goal_.confidence;
    if (of.meets_goal ? !differ(outcomes_[i], outcomes_[first])
                      : may_meet && of.mean_cost < figures_[first].mean_cost)
      return false;
  }
  return true;
}

LivedConfiguration Lives::fresh_of(std::size_t i, int most) const {
  LivedConfiguration lived{.number = numbers_[i], .figures = {}, .step = jobs_[i]->step()};
  std::vector<Outcome> outcomes;
  std::int64_t departures = 0;
  const auto add = [&] {
    step_();
    const PlannedJob::Paid paid = jobs_[i]->live(seed_of("plan, fresh", lived.lives++));
    const bool ended = paid.life.gave_up.empty();
    constexpr double never = std::numeric_limits<double>::infinity();
    outcomes.push_back({ended ? paid.life.makespan : Seconds(never), paid.ledger.cost()});
    for (const money::Entry& entry : paid.ledger.entries())
      if (entry.roles.find("worker") != std::string::npos) lived.workers_cost += entry.cost.dollars();
    const auto uses = paid.ledger.uses();
    lived.uses += {uses.useful.dollars(), uses.wasted.dollars(), uses.idle.dollars(), uses.waiting.dollars()};
    departures += paid.life.departures;
    lived.samples += static_cast<double>(PlannedJob::samples_of(paid));
    lived.cut += paid.life.is_cut ? 1 : 0;
  };
  for (int draws = is_certain_[i] ? 1 : first_draws;; draws *= 2) {
    while (lived.lives < draws) add();
    lived.figures = figures_of(outcomes, goal_, is_certain_[i]);
    if (is_certain_[i] || draws >= most || are_fine(lived.figures)) break;
  }
  const double each = 1.0 / lived.lives;
  lived.workers_cost *= each;
  lived.uses = {lived.uses.useful * each, lived.uses.wasted * each, lived.uses.idle * each,
                lived.uses.waiting * each};
  lived.departures = static_cast<double>(departures) * each;
  lived.samples *= each;
  return lived;
}

/// It is known whether it meets the goal; and of one that does, what it costs.
bool Lives::are_fine(const Figures& figures) const {
  return is_hopeless(figures) ||
         (figures.meets_goal && figures.cost_error <= fine_enough * figures.mean_cost);
}

/// Lives with which the best one is the choice as it is: the first ones, or else all with which it was
/// chosen.
int Lives::draws_of_choice() const {
  const std::size_t first = best();
  if (is_certain_[first]) return 1;
  const std::vector<Outcome> first_ones(outcomes_[first].begin(), outcomes_[first].begin() + first_draws);
  return is_choice_with(first_ones, {}) ? first_draws : draws_;
}

/// The factor on the duration of rounds (above 1), or on the lives of machines (below 1), up to which the
/// best one meets the goal and costs no more in the mean than the best one whose machines stay. None: it
/// hardly matters.
std::optional<double> Lives::break_even(double priced::Change::*what, int draws) const {
  constexpr double most = 16.0, within = 5e-3;
  const bool shorter = what == &priced::Change::lives;
  const auto holds = [&](double factor) {
    priced::Change change;
    change.*what = shorter ? 1.0 / factor : factor;
    return is_choice_with(change, draws);
  };
  if (holds(most)) return std::nullopt;
  double low = 1.0, high = most;
  while (high - low > within * low) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? low : high) = middle;
  }
  const double last = low > 1.0 ? low : high;  // Of a goal that is nearly missed, where it surely is.
  return shorter ? 1.0 / last : last;
}

/// For all samples: in as many rounds, shorter lives train fewer of them.
Outcome Lives::changed_outcome(std::size_t i, int draw, const priced::Change& change) const {
  const PlannedJob::Paid paid = jobs_[i]->live(seed_of("plan", draw), change);
  Outcome outcome = PlannedJob::outcome_of(paid);
  if (change.lives == 1.0 || !jobs_[i]->may_lose_samples()) return outcome;
  const auto samples = static_cast<double>(PlannedJob::samples_of(paid));
  const double needed = static_cast<double>(lattice_.configurations()[numbers_[i]].samples);
  if (samples <= 0.0) return outcome;
  outcome.time = outcome.time * (needed / samples);
  outcome.cost = Money(std::llround(static_cast<double>(outcome.cost.micro()) * (needed / samples)));
  return outcome;
}

bool Lives::is_choice_with(const priced::Change& change, int draws) const {
  const std::size_t first = best();
  std::vector<Outcome> outcomes;
  int missed = 0;
  for (int draw = 0; draw < draws; ++draw) {
    step_();
    outcomes.push_back(changed_outcome(first, draw, change));
    missed += goal_.is_met_by(outcomes.back()) ? 0 : 1;
    // The others could not make it meet the goal. Lives that never end take long.
    if (missed > 0 && wilson(draws - missed, draws).low < goal_.confidence) return false;
  }
  return is_choice_with(outcomes, change);
}

/// `outcomes`: of the best one, with the change.
bool Lives::is_choice_with(const std::vector<Outcome>& outcomes, const priced::Change& change) const {
  const std::size_t first = best();
  const Figures changed = figures_of(outcomes, goal_, is_certain_[first]);
  if (!changed.meets_goal) return false;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    // Longer rounds make no job cheaper, and lives do not change one whose machines stay.
    if (i == first || !jobs_[i]->stays() || figures_[i].mean_cost >= changed.mean_cost) continue;
    std::vector<Outcome> outcomes_of_other;
    for (int draw = 0; draw < (is_certain_[i] ? 1 : std::ssize(outcomes)); ++draw)
      outcomes_of_other.push_back(changed_outcome(i, draw, change));
    const Figures other = figures_of(outcomes_of_other, goal_, is_certain_[i]);
    if (other.meets_goal && other.mean_cost < changed.mean_cost) return false;
  }
  return true;
}

/// The least factor above 1 on the price of the chosen offer with which another configuration is cheaper in
/// the mean, or the budget is exceeded. Prices of machines that all share stay.
void Lives::find_dearer(const std::vector<LivedConfiguration>& lived, Sensitivity& found) const {
  const LivedConfiguration& chosen = lived.front();
  if (chosen.workers_cost <= 0.0) return;
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
