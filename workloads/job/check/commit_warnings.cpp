#include "workloads/job/check/commit_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "policies/checkpointing/policy.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "workloads/job/check/limits.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/records/format.hpp"

namespace tandem {
namespace {

/// Rounds of a job that stops after epochs, where all workers take the same number of steps in each round.
std::optional<std::int64_t> rounds_of_epochs(const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  const ResolvedExperiment& chosen = job.chosen();
  if (experiment.stop.epochs == 0.0 || !chosen.algorithm->lockstep || chosen.rounds_vary())
    return std::nullopt;
  std::int64_t samples = 0;
  for (int worker = 0; worker < static_cast<int>(job.roster().first_workers().size()); ++worker)
    samples += batch_of(job, worker);
  samples *= chosen.algorithm->steps_per_round(chosen.algorithm.options());
  const double all = experiment.stop.epochs * static_cast<double>(job.data().info().train_samples);
  return static_cast<std::int64_t>(std::ceil(all / static_cast<double>(samples)));
}

/// Rounds between two commits; 0: not known in advance.
std::int64_t rounds_between(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (!plan.is_enabled()) return job.spec().experiment.evaluate_every;
  return checkpointing::rounds_between_commits(plan.policy, plan.options).value_or(0);
}

/// "lab.yaml:7: " of a key that is set; else empty.
std::string place_of(const Job& job, const std::string& key) {
  const Locate& locate = job.spec().locate;
  if (!locate) return "";
  const Origin origin = locate(key);
  return origin.is_given ? origin.place + ": " : "";
}

void warn_of_no_commit(const Job& job, std::vector<std::string>& warnings) {
  const auto rounds = rounds_of_epochs(job);
  const std::int64_t every = rounds_between(job);
  if (!rounds || every <= *rounds || job.spec().experiment.stop.rounds > 0) return;
  const bool commits = job.checkpoints().commits.is_enabled();
  if (!commits && job.spec().experiment.workload.math == Math::modelled) return;
  warnings.push_back(
      fmt::format("{0}: expected at most {1}, because the job stops after {2} epochs, which are {1} "
                  "rounds, and {3} nothing before, found '{4}'",
                  located_key(job.spec().locate, commits ? "checkpoint.options.interval" : "evaluate_every"),
                  *rounds, job.spec().experiment.stop.epochs, commits ? "commits" : "evaluates", every));
}

/// The time in which the fastest link of the platform moves these bytes: which links a message crosses is not
/// known here. 0: there are none.
Seconds least_moving(const Job& job, double bytes) {
  double fastest = 0.0;
  for (const platforms::Link& link : job.spec().platform.links)
    if (link.sharing != "FATPIPE") fastest = std::max(fastest, link.bandwidth.count());
  return Seconds(fastest > 0.0 ? bytes / fastest : 0.0);
}

/// Bytes of the largest shard; 0 where pushes are compressed, whose sizes are not known here.
double largest_push(const Job& job) {
  std::int64_t most = 0;
  for (const ShardPieces& pieces : job.exchange().shard_layout())
    if (!pieces.empty()) most = std::max(most, shard_elements(pieces));
  return job.exchange().compression() == nullptr ? 4.0 * static_cast<double>(most) : 0.0;
}

/// The least time of a round: a lower bound from the computing of the slowest worker and the bytes that the
/// busiest host moves in one direction. Pushes and sums may overlap the last backward pass, and replies
/// follow them.
Seconds least_per_round(const Job& job) {
  const ResolvedExperiment& chosen = job.chosen();
  const ExchangePlan& exchange = job.exchange();
  const int steps = std::max(1, chosen.algorithm->steps_per_round(chosen.algorithm.options()));
  Seconds longest{0}, backward{0};
  const auto workers = job.roster().first_workers();
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    const CostModel costs = job.devices().cost_model(workers[worker]);
    const int batch = batch_of(job, static_cast<int>(worker));
    const Seconds own = costs.price({.kind = Work::Kind::backward, .samples = batch});
    const Seconds step = own + costs.price({.kind = Work::Kind::forward, .samples = batch});
    if (step <= longest) continue;
    longest = step;
    backward = own;
  }
  const auto count = static_cast<double>(workers.size());
  const double push = largest_push(job);
  const Seconds computing = longest * steps;
  // Where workers do not wait for each other, each of their updates is a round.
  if (!chosen.algorithm->lockstep) return std::max(computing / count, least_moving(job, push));
  // Workers on the host of a server need no link, nor do sums within a host.
  std::map<std::string, int> on_hosts;
  int most_on_one = 0;
  for (const Rank worker : workers)
    most_on_one = std::max(most_on_one, ++on_hosts[job.roster().host_of(worker)]);
  const double pushes = push * std::max(0, exchange.workers_of_round() - most_on_one);
  double summed = 0.0;
  if (exchange.route() == sync::Route::all_reduce && exchange.compression() == nullptr)
    for (const std::int64_t elements : exchange.summed_elements())
      summed += 4.0 * static_cast<double>(elements);
  // A ring of all moves 2 (n - 1) / n of the payload, and the smallest group, a pair, all of it.
  const Combination all{job.spec().experiment, chosen};
  const auto hosts = static_cast<double>(on_hosts.size());
  const double share = hosts < 2.0 ? 0.0 : all.exchanges_with_all() ? 2.0 * (hosts - 1.0) / hosts : 1.0;
  const Seconds before = least_moving(job, pushes + share * summed);
  const bool replies_follow = !exchange.exchanges_by_key() && !exchange.overlaps_forward();
  const Seconds after = least_moving(job, replies_follow ? pushes : 0.0);
  const Seconds hidden = exchange.overlaps_backward() ? backward : Seconds(0);
  return std::max(computing, computing - hidden + before) + after;
}

/// The least time of work between two commits; 0: not known in advance.
Seconds work_between(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (plan.policy == "fixed" && plan.options.text("unit") == "seconds" && !plan.commits_on_warning)
    return Seconds(plan.options.real("interval"));
  std::int64_t rounds = rounds_between(job);
  if (const std::int64_t last = job.spec().experiment.stop.rounds; last > 0) rounds = std::min(rounds, last);
  return rounds == 0 ? Seconds(0) : least_per_round(job) * static_cast<double>(rounds);
}

/// How the machines of all workers live through some work.
struct Survival {
  double probability = 1.0;
  double departures_per_s = 0.0;  ///< where lifetimes are exponential
  bool is_exponential = true;
  int machines = 0;  ///< that may depart
};

/// None: some lifetime has no distribution.
std::optional<Survival> survival_of(const Job& job, Seconds work) {
  const auto& transience = job.spec().experiment.transience;
  const LifetimesOfHosts models(transience);
  std::map<LifetimeModel, std::unique_ptr<lifetimes::Lifetime>> known;
  Survival all;
  std::set<std::string> machines;
  for (const Rank worker : job.roster().first_workers()) {
    const platforms::Host& host = job.devices().host_of(worker);
    if (!machines.insert(platforms::machine_of(host)).second) continue;
    LifetimeModel model = models.of(host);
    if (model.name == "never") continue;
    if (lifetimes::catalog().find(model.name).make.lifetime == nullptr) return std::nullopt;
    auto& lifetime = known[model];
    if (!lifetime) lifetime = lifetimes::make_lifetime(model.name, model.options);
    ++all.machines;
    all.probability *= lifetime->survival(work.count() * transience.time_scale);
    all.is_exponential = all.is_exponential && model.name == "exponential";
    all.departures_per_s += lifetime->hazard(0.0) * transience.time_scale;
  }
  return all;
}

/// Every departure makes all workers start again from the last commit.
void warn_of_short_lifetimes(const Job& job, std::vector<std::string>& warnings) {
  constexpr double seldom = 0.05;
  const Experiment& experiment = job.spec().experiment;
  if (experiment.continuation() != Continuation::restart_on_departure) return;
  const Seconds work = work_between(job);
  const auto survival = work > Seconds(0) ? survival_of(job, work) : std::nullopt;
  if (!survival || survival->probability >= seldom) return;
  const double rate = survival->departures_per_s;
  const std::size_t workers = job.roster().first_workers().size();
  std::string expected;
  if (survival->is_exponential && rate > 0.0) {
    const double exponent = rate * work.count();
    constexpr double largest = 40.0;  // longer than anybody waits
    expected =
        exponent > largest
            ? fmt::format(", and never comes to an end in practice (e^{:.3g} lifetimes)", exponent)
            : fmt::format(", and takes {} on average", with_unit(std::expm1(exponent) / rate, Unit::seconds));
  }
  warnings.push_back(fmt::format(
      "{}machines live much shorter than the {} of work between two commits (at least): with {} worker{} it "
      "is "
      "done "
      "without a departure with a probability of {:.2g}{}; commit more often ({})",
      place_of(job, "transience.lifetime"), with_unit(work.count(), Unit::seconds), workers,
      workers == 1 ? "" : "s", survival->probability, expected,
      job.checkpoints().commits.is_enabled() ? "checkpoint.options.interval" : "checkpoint.policy"));
}

/// A policy that learns how often machines fail begins with an assumption, also where the job states
/// lifetimes.
void warn_of_assumed_failures(const Job& job, std::vector<std::string>& warnings) {
  constexpr double far = 4.0;  // commits twice as far apart, or as close, as they should be
  const CommitPlan& plan = job.checkpoints().commits;
  if (!plan.is_enabled()) return;
  const Options& options = plan.options;
  if (!options.values().contains("mtbf_s") || options.real("mtbf_s") > 0.0) return;
  const auto all = survival_of(job, Seconds(0));
  if (!all || !all->is_exponential || all->machines == 0 || all->departures_per_s <= 0.0) return;
  const double scale = job.spec().experiment.transience.time_scale;
  const double assumed_s = options.real("prior_hours") * 3600.0 / scale / options.real("prior_failures");
  const double lives_s = all->machines / all->departures_per_s;
  if (assumed_s <= far * lives_s && lives_s <= far * assumed_s) return;
  warnings.push_back(fmt::format(
      "{}until checkpoint.policy {} has seen departures it assumes that a machine lives {} of the job "
      "(prior_hours over prior_failures), but transience.lifetime says {}, so that it commits too {}; set "
      "checkpoint.options.mtbf_s: {:.0f}, or checkpoint.policy: hazard, which knows the lifetimes",
      place_of(job, "checkpoint.policy"), plan.policy, with_unit(assumed_s, Unit::seconds),
      with_unit(lives_s, Unit::seconds), assumed_s > lives_s ? "seldom" : "often", lives_s));
}

/// Time of the slowest part: the policy's cost_s, or what its disk needs. 0: not known.
Seconds time_of_commit(const Job& job) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (plan.options.values().contains("cost_s") && plan.options.real("cost_s") > 0.0)
    return Seconds(plan.options.real("cost_s"));
  Seconds longest{0};
  if (plan.are_in_memory()) return longest;
  for (const Rank rank : ranks_of_state(job.roster(), job.exchange()))
    if (const auto disk = job.devices().disk_of(rank))
      longest = std::max(longest, job.devices().disk_moving(
                                      rank, *disk, DiskAccess::of_state(commit_size(job, rank)), true));
  return longest;
}

void warn_of_short_notice(const Job& job, std::vector<std::string>& warnings) {
  const auto& transience = job.spec().experiment.transience;
  if (!job.checkpoints().commits.commits_on_warning || !transience.may_depart()) return;
  const Seconds notice = transience.notice / transience.time_scale, commit = time_of_commit(job);
  if (notice == Seconds(0) || commit <= notice) return;
  warnings.push_back(fmt::format(
      "{}a machine is announced to depart {} before (transience.notice{}), but a commit takes {}: "
      "it is not complete "
      "when the machine departs, so commits on warnings are in vain",
      place_of(job, "transience.notice"), with_unit(notice.count(), Unit::seconds),
      transience.time_scale == 1.0 ? "" : " over transience.time_scale",
      with_unit(commit.count(), Unit::seconds)));
}

}  // namespace

std::vector<std::string> warnings_of_commits(const Job& job) {
  std::vector<std::string> warnings;
  warn_of_no_commit(job, warnings);
  warn_of_short_lifetimes(job, warnings);
  warn_of_short_notice(job, warnings);
  warn_of_assumed_failures(job, warnings);
  return warnings;
}

}  // namespace tandem
