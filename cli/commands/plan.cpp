// `tandem plan`: which machines to rent for a job, how many, and with which way to exchange.
//
// 1. Offers that cannot do the job, or that another one dominates, are left out.
// 2. Every number of machines of every other offer, with every way to exchange, is priced in closed form.
// 3. The front of these estimates, and what is near it, is lived through with Monte Carlo. Configurations
// share
//    the fates of machines, so that their differences do not depend on luck.
// 4. The cheapest one that meets the goal is chosen. Fresh fates give the printed figures, because those with
//    which it was chosen are too good.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/plan_lattice.hpp"
#include "cli/commands/plan_text.hpp"
#include "cli/shared/chosen_offers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

constexpr int first_draws = 200, most_draws = 1600, resamples = 200;

struct PlanOptions {
  JobOptions job;
  std::string offers, deadline, budget;
  std::vector<std::string> regions;
  double confidence = 0.95;
  int most_machines = 16;
};

planning::Goal goal_of(const PlanOptions& options) {
  planning::Goal goal{.confidence = options.confidence};
  if (!options.deadline.empty()) {
    goal.deadline = parse_seconds(options.deadline);
    if (!goal.deadline || *goal.deadline <= Seconds(0.0))
      throw ConfigError("--deadline: expected a time (" + time_examples("6h") + "), found '" +
                        options.deadline + "'");
  }
  if (!options.budget.empty()) {
    goal.budget = parse_money(options.budget);
    if (!goal.budget || *goal.budget <= Money())
      throw ConfigError("--budget: expected dollars above 0, found '" + options.budget + "'");
  }
  return goal;
}

/// "6h, $40", as it was given.
std::string goal_text(const PlanOptions& options) {
  const std::string budget = options.budget.empty() ? "" : "$" + options.budget;
  return options.deadline + (options.deadline.empty() || budget.empty() ? "" : ", ") + budget;
}

/// The variants, or the one that was named; without variants the experiment itself. All have its name.
std::vector<Way> ways_of(const PlanOptions& options, PlatformCache& platforms) {
  const LoadedJob base = load_job(options.job, platforms);
  if (!options.job.variant.empty() || base.experiment.variants.empty()) return {{options.job.variant, base}};
  std::vector<Way> ways;
  for (const auto& [name, overrides] : base.experiment.variants) {
    JobOptions of_variant = options.job;
    of_variant.variant = name;
    ways.push_back({name, load_job(of_variant, platforms)});
    ways.back().loaded.experiment.name = base.experiment.name;
  }
  return ways;
}

/// The front of the estimates, the cheapest that may meet the deadline, and the fastest.
std::vector<std::size_t> worth_living(const std::vector<Configuration>& all, const planning::Goal& goal) {
  constexpr std::size_t cheapest = 40, fastest = 5;
  constexpr double margin = 1.2;  // of estimates
  std::vector<planning::Outcome> expected;
  for (const auto& each : all) expected.push_back(each.expected);
  const auto front = planning::front(expected);
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

/// Configurations, and their outcomes with common fates.
class Lives {
 public:
  Lives(Lattice& lattice, const std::vector<std::size_t>& numbers, const planning::Goal& goal,
        std::uint64_t seed)
      : goal_(goal), seed_(seed), numbers_(numbers) {
    for (const std::size_t number : numbers)
      jobs_.push_back(lattice.job_of(lattice.configurations()[number]));
    outcomes_.resize(jobs_.size());
    for (const auto& job : jobs_) is_certain_.push_back(job->is_certain());
  }

  /// More lives of each, until the two best differ or there are enough.
  void live() {
    ProgressBar bar("plan");
    for (int draws = first_draws;; draws *= 2) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        live_until(i, draws);
        bar.update(static_cast<double>(i + 1) / static_cast<double>(jobs_.size()));
      }
      judge();
      if (draws >= most_draws || is_clear()) return;
    }
  }

  int draws() const { return static_cast<int>(outcomes_.front().size()); }
  std::size_t best() const { return planning::choose(figures_).value_or(planning::nearest(figures_, goal_)); }
  bool is_met() const { return planning::choose(figures_).has_value(); }
  bool depends_on_chance() const { return std::ranges::find(is_certain_, false) != is_certain_.end(); }

  /// The best first; then those that meet the goal, the cheapest first; then the others by how often they do.
  /// Of an offer with one way to exchange, the best number of machines alone.
  std::vector<LivedConfiguration> fresh(const Lattice& lattice, int lives) const {
    std::vector<std::size_t> order(jobs_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::size_t first = best();
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      const planning::Figures& of = figures_[i];
      return std::tuple(i != first, !of.meets_goal, of.meets_goal ? 0.0 : -of.within, of.mean_cost);
    });
    const auto chosen = planning::choices_of_resamples(outcomes_, is_certain_, goal_, resamples,
                                                       Rng::stream(seed_, "resamples"));
    std::set<std::pair<const platforms::Offer*, std::size_t>> shown;
    std::vector<LivedConfiguration> all;
    for (const std::size_t i : order) {
      const Configuration& of = lattice.configurations()[numbers_[i]];
      if (shown.emplace(of.offer, of.way).second) {
        all.push_back(fresh_of(i, lives));
        all.back().chosen_in = chosen[i];
      }
    }
    return all;
  }

  /// The factor on the duration of rounds (above 1), or on the lives of machines (below 1), up to which the
  /// best one meets the goal and costs no more in the mean than the best one whose machines stay. None: it
  /// hardly matters.
  std::optional<double> break_even(double priced::Change::*what) const {
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

 private:
  std::uint64_t seed_of(const char* purpose, int draw) const {
    return Rng::stream(seed_, purpose, static_cast<std::uint64_t>(draw)).next();
  }

  void live_until(std::size_t i, int draws) {
    auto& outcomes = outcomes_[i];
    for (int draw = static_cast<int>(outcomes.size()); draw < draws; ++draw)
      outcomes.push_back(is_certain_[i] && draw > 0 ? outcomes.front()
                                                    : jobs_[i]->outcome(seed_of("plan", draw)));
  }

  bool is_choice_with(const priced::Change& change) const {
    const std::size_t first = best();
    std::vector<planning::Outcome> outcomes;
    const int draws = is_certain_[first] ? 1 : first_draws;
    int missed = 0;
    for (int draw = 0; draw < draws; ++draw) {
      outcomes.push_back(jobs_[first]->outcome(seed_of("plan", draw), change));
      missed += goal_.is_met_by(outcomes.back()) ? 0 : 1;
      // The others could not make it meet the goal. Lives that never end take long.
      if (missed > 0 && planning::wilson(draws - missed, draws).low < goal_.confidence) return false;
    }
    const planning::Figures changed = planning::figures_of(outcomes, goal_, is_certain_[first]);
    if (!changed.meets_goal) return false;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (i == first || !is_certain_[i]) continue;
      const auto other = planning::figures_of(std::vector(1, jobs_[i]->outcome(0, change)), goal_, true);
      if (other.meets_goal && other.mean_cost < changed.mean_cost) return false;
    }
    return true;
  }

  void judge() {
    figures_.clear();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      figures_.push_back(planning::figures_of(outcomes_[i], goal_, is_certain_[i]));
  }

  /// No other one that meets the goal costs about as much as the best, or none is near the goal.
  bool is_clear() const {
    const std::size_t first = best();
    if (!is_met())
      return std::ranges::all_of(
          figures_, [&](const planning::Figures& of) { return of.within_interval.high < goal_.confidence; });
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (i != first && figures_[i].meets_goal && !planning::differ(outcomes_[i], outcomes_[first]))
        return false;
    return true;
  }

  LivedConfiguration fresh_of(std::size_t i, int lives) const {
    LivedConfiguration lived{.number = numbers_[i], .figures = {}};
    const int draws = is_certain_[i] ? 1 : lives;
    std::vector<planning::Outcome> outcomes;
    std::int64_t departures = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const PlannedJob::Paid paid = jobs_[i]->live(seed_of("plan, fresh", draw));
      const bool ended = paid.life.gave_up.empty();
      constexpr double never = std::numeric_limits<double>::infinity();
      outcomes.push_back({ended ? paid.life.makespan : Seconds(never), paid.ledger.cost()});
      for (const money::Entry& entry : paid.ledger.entries())
        if (entry.roles.find("worker") != std::string::npos)
          lived.workers_cost += entry.cost.dollars() / draws;
      const auto uses = paid.ledger.uses();
      lived.uses += {uses.useful.dollars() / draws, uses.wasted.dollars() / draws,
                     uses.idle.dollars() / draws, uses.waiting.dollars() / draws};
      departures += paid.life.departures;
    }
    lived.departures = static_cast<double>(departures) / draws;
    lived.figures = planning::figures_of(outcomes, goal_, is_certain_[i]);
    return lived;
  }

  planning::Goal goal_;
  std::uint64_t seed_;
  std::vector<std::size_t> numbers_;  ///< of the configurations
  std::vector<std::unique_ptr<PlannedJob>> jobs_;
  std::vector<bool> is_certain_;
  std::vector<std::vector<planning::Outcome>> outcomes_;
  std::vector<planning::Figures> figures_;
};

/// The least factor above 1 on the price of the chosen offer with which another configuration is cheaper in
/// the mean, or the budget is exceeded. Prices of machines that all share stay.
void find_dearer(const Lattice& lattice, const PlanResult& result, Sensitivity& found) {
  const LivedConfiguration& chosen = result.lived.front();
  if (!result.is_met || chosen.workers_cost <= 0.0) return;
  const auto* offer = lattice.configurations()[chosen.number].offer;
  const double others_cost = chosen.figures.mean_cost - chosen.workers_cost;
  const auto take = [&](double factor, std::optional<std::size_t> then) {
    if (factor <= 1.0 || (found.dearer && factor >= *found.dearer)) return;
    found.dearer = factor;
    found.then = then;
  };
  for (std::size_t i = 1; i < result.lived.size(); ++i) {
    const LivedConfiguration& other = result.lived[i];
    if (!other.figures.meets_goal) continue;
    const bool is_same = lattice.configurations()[other.number].offer == offer;
    // Both sides of chosen.workers * f + others = other.workers * (f or 1) + its others.
    const double moving = chosen.workers_cost - (is_same ? other.workers_cost : 0.0);
    const double fixed = other.figures.mean_cost - (is_same ? other.workers_cost : 0.0) - others_cost;
    if (moving > 0.0) take(fixed / moving, other.number);
  }
  if (result.goal.budget)
    take((result.goal.budget->dollars() - others_cost) / chosen.workers_cost, std::nullopt);
}

void write_plan(const Lattice& lattice, const PlanResult& result) {
  const Configuration& chosen = lattice.configurations()[result.lived.front().number];
  const Experiment experiment = lattice.experiment_of(chosen, "platform.xml");
  write_whole_file(result.folder + "/plan.json", plan_document(lattice, result).dump(2) + '\n');
  write_whole_file(result.folder + "/platform.xml", lattice.platform_of(chosen));
  write_whole_file(result.folder + "/table.csv", plan_csv(lattice, result));
  write_whole_file(result.folder + "/experiment.yaml",
                   "# Written by: " + command_line() + "\n" + to_yaml(experiment) + "\n");
}

int plan(const PlanOptions& options) {
  const planning::Goal goal = goal_of(options);
  PlatformCache platforms;
  const ChosenOffers offers = offers_of(options.offers);
  for (const auto& warning : offers.warnings) print_warning(warning);
  Lattice lattice(ways_of(options, platforms),
                  {.most_machines = options.most_machines, .regions = options.regions});
  const Experiment& first = lattice.ways().front().loaded.experiment;
  PlanResult result{.name = first.name,
                    .goal = goal,
                    .goal_text = goal_text(options),
                    .lived = {},
                    .sensitivity = {},
                    .offers = offers.chosen.size(),
                    .folder = options.job.out.empty() ? default_out(first.name, "plan") : options.job.out};
  const auto began = std::chrono::steady_clock::now();
  lattice.price(offers.chosen);
  result.priced_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  Lives lives(lattice, worth_living(lattice.configurations(), goal), goal, first.seed);
  lives.live();
  result.is_met = lives.is_met();
  result.draws = lives.draws();
  result.fresh = std::max(result.draws, most_draws);
  result.lived = lives.fresh(lattice, result.fresh);
  result.resamples = result.is_met && lives.depends_on_chance() ? resamples : 0;
  result.sensitivity.slower = lives.break_even(&priced::Change::rounds);
  result.sensitivity.shorter = lives.break_even(&priced::Change::lives);
  find_dearer(lattice, result, result.sensitivity);

  const WriteLock lock = create_result_directory(result.folder, options.job.force);
  write_plan(lattice, result);
  mark_complete(result.folder);
  fmt::print("{}", plan_text(lattice, result));
  print_document(plan_document(lattice, result));
  return result.is_met ? exit_success : exit_goal_missed;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "plan", "Which machines to rent for a job, how many, and how they exchange: time, cost, and why");
  const auto options = std::make_shared<PlanOptions>();
  add_experiment_options(*command, options->job);
  command
      ->add_option(
          "--offers", options->offers,
          "Offers to choose from: words of `tandem list offers`, or FILE.csv, or \"FILE.csv: WORDS\"")
      ->required();
  command->add_option("--deadline", options->deadline, "Time in which the job has to end, such as 6h");
  command->add_option("--budget", options->budget, "Dollars that it may cost, such as 40");
  command->add_option("--confidence", options->confidence, "Probability with which both are met, at least")
      ->capture_default_str()
      ->check(CLI::Range(0.5, 0.999));
  command->add_option("--regions", options->regions, "Regions that are allowed, as offers name them: A,B")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--max-machines", options->most_machines, "Most machines of an offer")
      ->capture_default_str()
      ->check(CLI::Range(1, 190));
  command->footer(
      "The samples of the experiment are trained by any number of workers. Its variants are the ways to "
      "exchange among\n"
      "which to choose. Machines of other roles stay as they are in its platform. The plan writes an "
      "experiment "
      "and a\n"
      "platform that `tandem simulate` and `tandem run` take.\n"
      "Exit code 3: no way meets deadline and budget; the nearest one is printed and written.\n\n"
      "Examples:\n"
      "  tandem plan workloads/experiments/planned.yaml --offers \"azure t4\" --deadline 6h\n"
      "  tandem plan job.yaml --offers mine.csv --deadline 6h --budget 40 --confidence 0.9 --max-machines 8");
  command->callback([options, &exit_code] { exit_code = plan(*options); });
}

}  // namespace tandem::cli
