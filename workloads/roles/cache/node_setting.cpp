#include "workloads/roles/cache/node_setting.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/roles/cache/recorded_policy.hpp"

namespace tandem {

CacheEngine make_engine(std::span<const ServedJob> served, Rank rank, const ReadPlaces& places,
                        int incarnation) {
  const Job& job = *served.front().job;
  const DataPlan& data = job.data();
  const auto nodes = static_cast<int>(job.roster().ranks_of(Roster::Role::cache_node).size());
  const bool wants_alone = !data.cache_factory().needs.manifest && !job.roster().directory();
  auto policy = data.make_cache_policy(static_cast<int>(places.node), nodes, static_cast<int>(served.size()));
  auto recorded =
      std::make_unique<RecordedPolicy>(std::move(policy), *served.front().journal, rank, wants_alone);
  if (incarnation > 1 || job.spec().experiment.data.keep) recorded->record_new();
  return {std::move(recorded), data.cache_tiers(), data.manifest(), static_cast<int>(served.size())};
}

int largest_own_batch(std::span<const ServedJob> jobs) {
  int largest = 0;
  for (const ServedJob& served : jobs) largest = std::max(largest, served.job->data().batch());
  return largest;
}

ReadPlaces places_of(const Job& job, int index) {
  const Roster& roster = job.roster();
  const std::size_t nodes = roster.ranks_of(Roster::Role::cache_node).size();
  return {.stores = roster.ranks_of(Roster::Role::store).size(),
          .node = static_cast<std::size_t>(index),
          .peers = job.data().asks_peers() ? nodes - 1 : 0};
}

NodeJobs::Events job_events(const Job& job) {
  const bool has_needs = job.data().cache_factory().needs.manifest;
  return {.begins = has_needs || job.roster().directory().has_value(), .ends = has_needs};
}

CacheService::Setting service_setting(std::span<const ServedJob> jobs, const ReadPlaces& places,
                                      bool may_depart) {
  const Job& job = *jobs.front().job;
  const DataPlan& data = job.data();
  const bool is_real = data.dataset() != nullptr;
  const Experiment::Data& setting = job.spec().experiment.data;
  const bool is_continuous = setting.loaders > 0;
  std::size_t clients = places.peers;
  for (const ServedJob& served : jobs) clients += clients_of(served.job->roster(), places.node).size();
  return {.batches = {.manifest = data.manifest(),
                      .given = GivenSamples(job.spec().experiment),
                      .is_real = is_real,
                      .may_replace = data.may_replace(),
                      .has_directory = job.roster().directory().has_value(),
                      .counts_when_sent = may_depart,
                      .clients = clients},
          .reads = {.manifest = data.manifest(),
                    .places = places,
                    .is_real = is_real,
                    .most_of_batch = static_cast<std::size_t>(largest_own_batch(jobs)),
                    .most_of_package = most_samples_of_read(jobs),
                    .concurrent = static_cast<std::size_t>(std::max(setting.loaders, 1))},
          .tiers = {.manifest = data.manifest(),
                    .is_real = is_real,
                    .has_disk = data.has_disk_tier(),
                    .disk = places.disk()},
          .room = data.cache_tiers().front(),
          .reads_ahead = data.cache_factory().needs.idle,
          .is_continuous = is_continuous};
}

}  // namespace tandem
