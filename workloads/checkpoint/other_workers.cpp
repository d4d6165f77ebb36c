#include "workloads/checkpoint/other_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/plan/exchange_plan.hpp"

namespace tandem {
namespace {

std::string name_of_worker(int index, const char* name) { return fmt::format("worker.{}.{}", index, name); }

int number_of_workers(const Job& job) { return static_cast<int>(job.roster().workers().size()); }

/// The state of a worker in the job that wrote the checkpoint or continues from it: where commits are on
/// machines, one of these has it.
SavedState load_worker(const Job& job, const ResumePoint& point, int index, bool with_vectors) {
  const std::string path =
      state_path(job, point.directory, point.round, {RankAssignment::Role::worker, index, std::string()});
  return with_vectors ? SavedState::load(path) : SavedState::load_numbers(path);
}

SavedState load_decider(const ResumePoint& point, const Job& job, Rank rank) {
  return SavedState::load_numbers(
      state_path(job, point.directory, point.round, job.roster().assignment(rank)));
}

/// Samples that the workers in this slot have trained on, as all members know.
std::int64_t samples_in_slot(const SavedState& of_member, int index) {
  return of_member.integer(fmt::format("exchange.samples.{}", index));
}

/// Samples that each worker had taken since they were dealt.
std::vector<std::int64_t> taken_at(const ResumePoint& point, const Job& former) {
  std::vector<std::int64_t> taken;
  for (int index = 0; index < number_of_workers(former); ++index) {
    if (!point.has_state_of(index))
      taken.push_back(samples_in_slot(load_worker(former, point, point.first_member(), false), index));
    else if (point.workers_continue)
      taken.push_back(load_worker(former, point, index, false).integer("samples_taken"));
    else
      taken.push_back(load_decider(point, former, former.roster().deciders().front())
                          .integer(name_of_worker(index, "samples")));
  }
  return taken;
}

/// Workers step models of their own between two exchanges, with moments of their own.
bool has_own_moments(const Job& job) {
  return job.exchange().payload() == sync::Payload::change &&
         optimizer_vectors(job.exchange().optimizer_setting()) > 0;
}

bool has_own_statistics(const Job& job) {
  return std::ranges::any_of(job.model().buckets,
                             [](const auto& bucket) { return bucket.exchanged() != bucket.elements(); });
}

}  // namespace

std::optional<std::string> why_workers_must_stay(const Job& job) {
  const ExchangePlan& exchange = job.exchange();
  const bool is_tied = std::holds_alternative<sync::ElasticTie>(exchange.update_rule());
  if (exchange.payload() == sync::Payload::model || is_tied)
    return fmt::format("each worker of {} has a model of its own", exchange.algorithm().name);
  if (const CommitPlan& commits = job.checkpoints().commits; commits.is_enabled() && commits.by_members)
    return "workers that come and go without servers count samples by their slots";
  if (job.data().needs_losses())
    return fmt::format("with data.sampling {}, each worker alone knows the losses of its samples",
                       job.spec().experiment.data.sampling);
  if (job.data().from_storage() && job.data().cache_factory().needs.ahead)
    return fmt::format("cache policy {} lets samples of the workers change places in an epoch",
                       job.spec().experiment.data.cache);
  return std::nullopt;
}

ResumePoint for_other_workers(ResumePoint point, const Job& former, const Job& job,
                              std::vector<sampling::Deal> deals) {
  const auto why = why_workers_must_stay(job);
  TANDEM_CHECK(!why, why.value_or(""));
  point.former_workers = number_of_workers(former);
  // The state of a policy is about each of its workers.
  point.policies_continue = false;
  if (point.deals_anew) return point;
  point.deals = std::move(deals);
  point.deals.push_back({.workers = point.former_workers, .taken = taken_at(point, former)});
  return point;
}

std::vector<std::string> dropped_with_workers(const Job& job, const Job& former) {
  const ResumePoint& point = *job.resume();
  const ExchangePlan& exchange = job.exchange();
  const int kept = point.workers_continue ? std::min(point.former_workers, number_of_workers(job)) : 0;
  const int gone = point.former_workers - kept;
  std::vector<std::string> dropped = {
      fmt::format("what {} has learnt of its workers", exchange.algorithm().name)};
  const auto add_own = [&](bool exists, const char* what) {
    if (exists && gone > 0)
      dropped.push_back(fmt::format("{} of {} worker{}", what, gone, gone == 1 ? "" : "s"));
  };
  add_own(exchange.compression() != nullptr && exchange.has_error_feedback(), "the error feedback");
  add_own(has_own_moments(job), "the optimiser's moments");
  add_own(has_own_statistics(job), "the batch statistics");
  const bool has_sum = std::ranges::any_of(former.roster().servers(), [&](Rank server) {
    return load_decider(point, former, server).real("sum.weight") > 0.0;
  });
  if (has_sum) dropped.emplace_back("pushes that waited for the next update");
  if (!point.workers_continue)
    dropped.emplace_back("steps that were in progress, which take their samples again");
  return dropped;
}

void count_for_other_workers(const Job& job, SavedState& state) {
  const ResumePoint& point = *job.resume();
  const int now = number_of_workers(job), former = point.former_workers;
  state.set("pushes", point.round * now);
  for (int index = 0; index < now; ++index) {
    for (const char* name : {"pushes", "steps"}) {
      if (index < former) continue;
      std::int64_t all = 0;
      for (int other = 0; other < former; ++other) all += state.integer(name_of_worker(other, name));
      state.set(name_of_worker(index, name), all / former);
    }
    for (const char* name : {"samples", "batch", "local_steps"}) state.set(name_of_worker(index, name), 0);
  }
}

SavedState state_from_other_workers(const Job& job, int index) {
  const ResumePoint& point = *job.resume();
  TANDEM_CHECK(point.workers_continue, "worker", index);
  const bool is_new = index >= point.former_workers || !point.has_state_of(index);
  SavedState state = load_worker(job, point, is_new ? point.first_member() : index, true);
  state.set("samples_taken", 0);
  const bool own_moments = has_own_moments(job);
  state.forget([&](const std::string& name) {
    if (name == "policy" || name == "batch" || name == "local_steps") return true;
    return is_new && (name.ends_with(".unsent") || (own_moments && name.starts_with("optimizer.")));
  });
  state.restore_known();
  return state;
}

void begin_with_new_deal(const Job& job, SavedState& state) {
  state.set("samples_taken", 0);
  for (int index = 0; index < number_of_workers(job); ++index)
    state.set(fmt::format("exchange.dealt.{}", index), samples_in_slot(state, index));
}

SavedState state_of_newcomer(const Job& job, int index) {
  const ResumePoint& point = *job.resume();
  TANDEM_CHECK(point.workers_continue && !point.has_state_of(index), "worker", index);
  SavedState state = load_worker(job, point, point.first_member(), true);
  state.set("samples_taken", samples_in_slot(state, index));
  if (point.deals_anew) begin_with_new_deal(job, state);
  const bool common_moments = job.exchange().payload() == sync::Payload::gradient;
  state.forget([&](const std::string& name) {
    if (name == "policy" || name == "batch" || name == "local_steps" || name.ends_with(".unsent"))
      return true;
    return !common_moments && name.starts_with("optimizer.");
  });
  // A model that is only tied to a centre begins there.
  state.copy_floats("centre", "model");
  state.restore_known();
  return state;
}

}  // namespace tandem
