#include "validation/compare/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <tuple>
#include <utility>

#include "policies/sync/policy.hpp"
#include "validation/compare/attribution_fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::validation {
namespace {

/// Where time of a rank went: phase, kind of operation, peer.
using Place = std::tuple<std::string, std::string, Rank>;

/// Sums over the counted steps of one rank.
struct RankTime {
  double steps = 0;
  std::map<Place, double> seconds;
};

struct RunTime {
  double steps = 0;
  double seconds = 0;
  std::map<Rank, RankTime> ranks;
  double mean() const { return seconds / steps; }
};

bool waits_for_others(std::size_t phase) {
  return phase == static_cast<std::size_t>(Phase::load) || phase == static_cast<std::size_t>(Phase::query) ||
         phase == static_cast<std::size_t>(Phase::exchange);
}

using Operations = std::vector<const OperationRecord*>;

/// The operations of each rank in order of their ends.
std::map<Rank, Operations> operations_by_end(const Journal& journal) {
  std::map<Rank, Operations> ranks;
  for (const auto& operation : journal.operations)
    if (!is_copy(operation)) ranks[operation.rank].push_back(&operation);
  for (auto& [rank, operations] : ranks)
    std::stable_sort(operations.begin(), operations.end(),
                     [](const auto* a, const auto* b) { return a->end < b->end; });
  return ranks;
}

bool is_message(const OperationRecord& operation) {
  return operation.kind == "send" || operation.kind == "receive";
}

/// Divides the time from `begin` to `end` among the operations that end in it; the time after the last has no
/// kind.
void add_waits(const std::string& phase, double begin, double end, const Operations& operations,
               RankTime& time) {
  // Sums of phases may miss the operation's own end by rounding.
  constexpr double rounding = 1e-9;
  auto next = std::upper_bound(operations.begin(), operations.end(), begin,
                               [](double at, const auto* o) { return at < o->end.count(); });
  for (; next != operations.end() && (*next)->end.count() <= end + rounding; ++next) {
    const OperationRecord& operation = **next;
    const double until = std::min(operation.end.count(), end);
    time.seconds[{phase, operation.kind, is_message(operation) ? operation.peer : -1}] += until - begin;
    begin = until;
  }
  if (end > begin) time.seconds[{phase, "", -1}] += end - begin;
}

RunTime time_of(const RunInfo& info, const Journal& journal) {
  static const Operations none;
  const auto operations = operations_by_end(journal);
  RunTime run;
  for (const auto& step : journal.steps) {
    if (!counts(info, step)) continue;
    auto& rank = run.ranks[step.rank];
    const auto own = operations.find(step.rank);
    double at = step.start.count();
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      const double duration = step.phases[phase].count();
      if (waits_for_others(phase) && own != operations.end())
        add_waits(phase_names[phase], at, at + duration, own->second, rank);
      else
        rank.seconds[{phase_names[phase], "", -1}] += duration;
      at += duration;
    }
    rank.steps += 1;
    run.steps += 1;
    run.seconds += step.duration().count();
  }
  return run;
}

/// Adds `factor` times (w s) split into the part that times explain and the part that shares of steps
/// explain: w s - v m = (w + v)/2 (s - m) + (w - v)/2 (s + m).
void add_difference(const RunTime& simulated, const RunTime& measured, double factor,
                    std::map<std::pair<Rank, Place>, double>& parts) {
  static const RankTime nothing;
  std::map<Rank, std::pair<const RankTime*, const RankTime*>> ranks;
  for (const auto& [rank, time] : simulated.ranks) ranks[rank] = {&time, &nothing};
  for (const auto& [rank, time] : measured.ranks)
    if (const auto [at, is_new] = ranks.try_emplace(rank, &nothing, &time); !is_new)
      at->second.second = &time;
  for (const auto& [rank, worlds] : ranks) {
    const auto& [s, m] = worlds;
    const double w = s->steps / simulated.steps, v = m->steps / measured.steps;
    std::map<Place, std::pair<double, double>> means;
    for (const auto& [place, seconds] : s->seconds) means[place].first = seconds / s->steps;
    for (const auto& [place, seconds] : m->seconds) means[place].second = seconds / m->steps;
    for (const auto& [place, mean] : means) {
      parts[{rank, place}] += factor * (w + v) / 2 * (mean.first - mean.second);
      parts[{-1, {"share of steps", "", -1}}] += factor * (w - v) / 2 * (mean.first + mean.second);
    }
  }
}

double seconds_in(const StepRecord& step, Phase phase) {
  return step.phases[static_cast<std::size_t>(phase)].count();
}

/// A worker's part of a round, before the exchange that ends it.
struct RoundPart {
  double committing = 0;  ///< after the round before
  double waiting = 0, decoding = 0, computing = 0;
  double arrival = 0;   ///< when its exchange began
  double exchange = 0;  ///< of its last step, without commits
};

/// Workers of the algorithm exchange with all others at the end of a round.
bool ends_rounds_together(const RunInfo& info) {
  const auto& sync = info.experiment.sync;
  const auto& all = sync::catalog().entries();
  const auto known = std::ranges::find(all, sync.algorithm, &sync::Algorithm::name);
  return known != all.end() && (known->make.lockstep || !known->make.timing_driven) &&
         sync.over != sync::Route::peers;
}

/// By round and rank. `commits`: of each step.
std::map<int, std::map<Rank, RoundPart>> rounds_of(const RunInfo& info, const Journal& journal,
                                                   const std::vector<CommitWait>& commits) {
  std::map<int, std::map<Rank, RoundPart>> rounds;
  std::map<Rank, double> after_last;  // step of the rank
  for (std::size_t at = 0; at < journal.steps.size(); ++at) {
    const StepRecord& step = journal.steps[at];
    const double committing = std::exchange(after_last[step.rank], commits[at].after_step.count());
    if (!counts(info, step)) continue;
    RoundPart& part = rounds[step.round][step.rank];
    part.committing += committing;
    part.waiting += seconds_in(step, Phase::load) - step.decoding.count();
    part.decoding += step.decoding.count();
    part.computing += seconds_in(step, Phase::forward) + seconds_in(step, Phase::backward);
    part.arrival = step.start.count() + seconds_in(step, Phase::load) + seconds_in(step, Phase::forward) +
                   seconds_in(step, Phase::backward);
    part.exchange = seconds_in(step, Phase::exchange) - commits[at].in_exchange.count();
  }
  return rounds;
}

/// Moves the waiting for the last worker of each round. In seconds.
void add_waits_for_the_last(const RunInfo& info, const Journal& journal,
                            const std::vector<CommitWait>& commits, Binding& sums) {
  for (const auto& [round, parts] : rounds_of(info, journal, commits)) {
    const auto arrival = [](const auto& part) { return part.second.arrival; };
    const RoundPart& last = std::ranges::max_element(parts, {}, arrival)->second;
    for (const auto& [rank, part] : parts) {
      const double waited = std::min(part.exchange, last.arrival - part.arrival);
      const double by_waiting = std::max(0.0, last.waiting - part.waiting);
      const double by_decoding = std::max(0.0, last.decoding - part.decoding);
      const double by_computing = std::max(0.0, last.computing - part.computing);
      const double by_commits = std::max(0.0, last.committing - part.committing);
      const double longer = by_waiting + by_decoding + by_computing + by_commits;
      // Otherwise it began the round earlier.
      if (waited <= 0 || longer <= 0) continue;
      sums.later_samples += waited * by_waiting / longer;
      sums.slower_decoding += waited * by_decoding / longer;
      sums.slower_workers += waited * by_computing / longer;
      sums.slower_commits += waited * by_commits / longer;
    }
  }
}

}  // namespace

std::optional<Binding> binding(const RunInfo& info, const Journal& journal) {
  const RunTime run = time_of(info, journal);
  if (run.steps == 0 || run.seconds <= 0) return std::nullopt;
  Binding sums;
  for (const auto& [rank, time] : run.ranks)
    for (const auto& [place, seconds] : time.seconds) {
      const std::string& phase = std::get<0>(place);
      const auto is = [&](Phase one) { return phase == phase_names[static_cast<std::size_t>(one)]; };
      double& of = is(Phase::load)       ? sums.data
                   : is(Phase::query)    ? sums.query
                   : is(Phase::exchange) ? sums.exchange
                                         : sums.computing;
      of += seconds;
    }
  const std::vector<CommitWait> commits = commit_waits(info, journal);
  double seconds = run.seconds;
  for (std::size_t at = 0; at < commits.size(); ++at) {
    if (!counts(info, journal.steps[at])) continue;
    sums.decoding += journal.steps[at].decoding.count();
    sums.exchange -= commits[at].in_exchange.count();
    sums.commits += (commits[at].in_exchange + commits[at].after_step).count();
    seconds += commits[at].after_step.count();
  }
  sums.data -= sums.decoding;
  if (ends_rounds_together(info)) add_waits_for_the_last(info, journal, commits, sums);
  sums.data += sums.later_samples;
  sums.decoding += sums.slower_decoding;
  sums.computing += sums.slower_workers;
  sums.commits += sums.slower_commits;
  sums.exchange -= sums.later_samples + sums.slower_decoding + sums.slower_workers + sums.slower_commits;
  for (double* share :
       {&sums.computing, &sums.data, &sums.decoding, &sums.query, &sums.exchange, &sums.commits,
        &sums.slower_workers, &sums.later_samples, &sums.slower_decoding, &sums.slower_commits})
    *share /= seconds;
  return sums;
}

bool is_saturated(std::optional<double> storage_busy) {
  constexpr double least = 0.95;  // a job begins and ends without reads
  return storage_busy && *storage_busy >= least;
}

Bottleneck bottleneck_among(const std::vector<Bottleneck>& parts, std::optional<double> storage_busy) {
  if (is_saturated(storage_busy)) return {"the store", std::min(1.0, *storage_busy)};
  return *std::ranges::max_element(parts, {}, &Bottleneck::share);
}

nlohmann::json to_json(const std::optional<Binding>& binding) { return write_fields(binding); }

std::vector<Contribution> attribution(const Results& simulated, const std::vector<Results>& measured) {
  const RunTime simulation = time_of(simulated.info, simulated.journal);
  std::vector<RunTime> runs;
  double measured_mean = 0;
  for (const auto& run : measured) measured_mean += runs.emplace_back(time_of(run.info, run.journal)).mean();
  measured_mean /= static_cast<double>(runs.size());
  std::map<std::pair<Rank, Place>, double> parts;
  for (const auto& run : runs)
    add_difference(simulation, run, 1 / (measured_mean * static_cast<double>(runs.size())), parts);
  std::vector<Contribution> contributions;
  for (const auto& [where, share] : parts) {
    const auto& [phase, kind, peer] = where.second;
    if (share != 0) contributions.push_back({phase, where.first, kind, peer, share});
  }
  std::stable_sort(contributions.begin(), contributions.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.share) > std::abs(b.share); });
  return contributions;
}

}  // namespace tandem::validation
