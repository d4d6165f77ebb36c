#include "workloads/membership/generations/next_generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

/// The present generation, which has ended.
EndedGeneration ended_generation(const Job& job, const Generation& generation, const std::string& reason,
                                 const GenerationResult& result) {
  const ResumePoint* const from = job.resume();
  EndedGeneration ended{.began = {},
                        .round = from == nullptr ? 0 : from->round,
                        .launched = generation.launched,
                        .reason = reason,
                        .lost_samples = result.lost_samples,
                        .slots = generation.slots,
                        .lost_commit = result.lost_commit};
  if (from != nullptr) ended.deals = from->deals;
  if (!result.drawn && result.failed_rank >= 0) ended.died_on = job.roster().host_of(result.failed_rank);
  return ended;
}

/// The same job with another experiment, which has not begun. Errors: ConfigError.
Job with_experiment(const Job& job, Experiment experiment, const NetworkOf& network_of) {
  const platforms::Network network = network_of(experiment, job.spec().platform);
  Job next(std::move(experiment), job.spec().platform, job.spec().directory, network);
  if (job.records_losses()) next.record_losses();
  return next;
}

/// With the workers in these slots. `generation`: with its `hosts`. Errors: WorldError if so few cannot have
/// the job.
Job with_members(const Job& job, const Generation& generation, const std::vector<int>& slots,
                 const NetworkOf& network_of) {
  Experiment experiment = job.spec().experiment;
  experiment.placement.workers = generation.hosts;
  try {
    return with_experiment(job, with_workers_in(std::move(experiment), slots), network_of);
  } catch (const ConfigError& error) {
    throw WorldError(
        fmt::format("the job gives up: it cannot continue with {} workers: {}", slots.size(), error.what()));
  }
}

}  // namespace

std::vector<int> present_slots(const Job& job, const Generation& generation) {
  if (!generation.slots.empty()) return generation.slots;
  std::vector<int> slots(job.roster().workers().size());
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

void expect_workers(const Job& job, const std::vector<int>* members, const NetworkOf& network_of) {
  const Generation& present = *job.generation();
  if (members == nullptr || *members == present_slots(job, present)) return;
  Generation generation = present;
  if (generation.hosts.empty()) generation.hosts = job.spec().experiment.placement.workers;
  with_members(job, generation, *members, network_of);
}

void begin_with(Job& job, const std::string& out, const std::vector<int>& slots,
                const NetworkOf& network_of) {
  Generation generation = *job.generation();
  generation.hosts = job.spec().experiment.placement.workers;
  Job next = with_members(job, generation, slots, network_of);
  if (generation.origin) {
    generation.origin = origin_for_generation(job, next);
    next.resume_from(*generation.origin);
  }
  generation.slots = slots;
  job = std::move(next);
  job.set_generation(std::move(generation));
  write_document(out + "/job.json", job);
}

void begin_next(Job& job, const std::string& out, const std::string& reason,
                const std::optional<ResumePoint>& point, const GenerationResult& result,
                const std::vector<int>* members, const NetworkOf& network_of) {
  Generation generation = *job.generation();
  const auto start = start_in(out, generation.number());
  const bool is_first = std::ranges::none_of(
      generation.ended, [](const EndedGeneration& earlier) { return earlier.began.has_value(); });
  if (start && is_first) generation.first_start_s = *start;
  EndedGeneration ended = ended_generation(job, generation, reason, result);
  if (start) ended.began = Seconds(std::max(0.0, *start - generation.first_start_s));
  return_to(job, point);
  mark_failed(out, reason);
  const auto before = present_slots(job, generation);
  const bool changes = members != nullptr && *members != before;
  // Where nothing is left, also what other workers had done before.
  const bool begins_anew = !point && !generation.origin && job.resume() != nullptr;
  if (changes && generation.hosts.empty()) generation.hosts = job.spec().experiment.placement.workers;
  std::optional<Job> others;
  if (changes || (begins_anew && !generation.hosts.empty()))
    others.emplace(with_members(job, generation, changes ? *members : before, network_of));
  else if (begins_anew && continuation_of(job) == Continuation::in_place)
    others.emplace(with_experiment(job, job.spec().experiment, network_of));
  Job& next = others ? *others : job;
  // All checkpoints may be lost with the machines that had them.
  generation.continues = point.has_value();
  generation.moves.clear();
  if (point) {
    ResumePoint own = for_generation(*point, job, next);
    if (!generation.hosts.empty()) generation.moves = moves_for_generation(own, job, next);
    next.resume_from(std::move(own));
  } else if (generation.origin)
    next.resume_from(origin_for_generation(job, next));
  else
    next.begin_anew();
  if (changes) generation.slots = *members;
  generation.ended.push_back(std::move(ended));
  if (others) job = std::move(*others);
  job.set_generation(std::move(generation));
  write_document(out + "/job.json", job);
}

}  // namespace tandem
