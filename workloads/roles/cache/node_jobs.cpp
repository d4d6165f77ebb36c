#include "workloads/roles/cache/node_jobs.hpp"

#include <algorithm>
#include <utility>

#include "workloads/records/cache_rows.hpp"

namespace tandem {

using State = cache::JobChange::State;

NodeJobs::NodeJobs(std::span<const ServedJob> served, std::size_t node, const Events& events)
    : events_(events) {
  std::size_t clients = 0;
  for (const ServedJob& each : served) {
    NodeJob& job = jobs_.emplace_back(each, static_cast<int>(jobs_.size()), node, clients);
    clients += job.clients;
    const auto steps = probe_steps(each.job->chosen().cache.options());
    // Batches that were requested in advance follow each other at the pace of the phase before.
    if (served.size() > 1 && steps > 0 && job.clients > 0)
      job.probe.emplace(job.clients, steps, job.data.prefetch() + 1);
  }
  active_ = &jobs_.front();
}

NodeJobs::Changes NodeJobs::begin(NodeJob& job) {
  Changes changes;
  if (std::exchange(job.has_begun, true) || !events_.begins) return changes;
  changes.push_back({&job, {.job = job.number, .state = State::starts}, 0});
  if (!is_alone()) changes.push_back({&job, {job.number, State::probed, job.benefit}, 0});
  probe_again(job, changes);
  return changes;
}

void NodeJobs::begin_epoch(NodeJob& job) {
  active_ = &job;
  if (job.probe) job.probe->begin_epoch();
}

NodeJobs::Changes NodeJobs::begin_batch(NodeJob& job, std::int64_t epoch) {
  active_ = &job;
  job.last_epoch = std::max(job.last_epoch, epoch);
  Changes changes;
  if (job.probe) add_probe(job, job.probe->begin_batch(), changes);
  return changes;
}

NodeJobs::Changes NodeJobs::note_sent(const NodeBatch& batch, Seconds now) {
  if (batch.probe.phase == BenefitProbe::Phase::none) return {};
  NodeJob& job = *batch.job;
  const auto result = job.probe->note_sent(batch.worker(), batch.probe, batch.epoch, now);
  if (!result) return {};
  for (const auto& [row, intervals] :
       {std::pair(probe_with_row, result->with), std::pair(probe_without_row, result->without)}) {
    CacheRecord& record = job.record(job.newest_epoch(), row);
    record.samples += intervals.count;
    record.blocked += intervals.sum;
  }
  return {{&job, {job.number, State::probed, result->benefit()}, job.newest_epoch()}};
}

NodeJobs::Changes NodeJobs::end(NodeJob& job) {
  Changes changes;
  if (events_.ends) changes.push_back({&job, {.job = job.number, .state = State::ends}, job.newest_epoch()});
  probe_again(job, changes);
  return changes;
}

void NodeJobs::add_probe(NodeJob& job, BenefitProbe::Change change, Changes& changes) {
  if (change == BenefitProbe::Change::none) return;
  const State state = change == BenefitProbe::Change::bypasses ? State::bypasses : State::returns;
  changes.push_back({&job, {.job = job.number, .state = state}, job.newest_epoch()});
}

/// The benefit of a cache for a job depends on the other jobs.
void NodeJobs::probe_again(const NodeJob& other, Changes& changes) {
  for (NodeJob& job : jobs_)
    if (&job != &other && job.probe && job.open > 0) add_probe(job, job.probe->begin_again(), changes);
}

}  // namespace tandem
