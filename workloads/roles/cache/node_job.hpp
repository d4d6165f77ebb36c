// A cache node's data about each job that it serves: which clients are the job's workers, their epoch, and
// the records of the job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policies/cache/policy.hpp"
#include "policies/cache/request_order.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/data/cache_ledger.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/plan/cache_policy.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/benefit_probe.hpp"
#include "workloads/roles/cache/delivered.hpp"
#include "workloads/roles/cache/delivery_log.hpp"
#include "workloads/roles/cache/node_epoch.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

struct NodeJob {
  static constexpr std::int64_t no_epoch = std::numeric_limits<std::int64_t>::max();

  /// `of_node`: among those that the node serves; `node`: among the cache nodes; `client`: the first of the
  /// job's workers among the clients of the node.
  NodeJob(const ServedJob& served, int of_node, std::size_t node, std::size_t client)
      : number(of_node),
        data(served.job->data()),
        journal(*served.journal),
        rank(served.job->roster().ranks_of(Roster::Role::cache_node)[node]),
        first_client(client),
        clients(clients_of(served.job->roster(), node).size()),
        open(clients),
        benefit(stated_benefit(served.job->chosen().cache.options())),
        deliveries(data.manifest(), rank, journal, clients),
        order(most_ordered * static_cast<std::int64_t>(clients) / std::max(1, served.job->data().workers())) {
    if (data.plans_caches()) epoch.emplace(served.job->roster(), data, node, number);
  }

  bool has_first_epoch() const { return first_epoch < no_epoch; }
  /// Decisions before the first request have epoch 0. They belong to the first epoch that was requested.
  std::int64_t row_epoch(std::int64_t decided) const {
    return has_first_epoch() ? std::max(decided, first_epoch) : decided;
  }
  std::int64_t newest_epoch() const { return epoch ? epoch->epoch() : last_epoch; }
  /// A row of caches.csv.
  CacheRecord& record(std::int64_t of_epoch, std::string_view from) {
    return cache_record(journal.caches, rank, of_epoch, std::string(from));
  }
  void add(std::int64_t of_epoch, std::string_view from, const SampleCount& count) {
    CacheRecord& row = record(of_epoch, from);
    row.samples += count.samples;
    row.bytes += count.bytes;
  }
  void add(std::int64_t of_epoch, std::span<const Delivered> delivered) {
    for (const auto& [row, count] : delivered) add(of_epoch, row, count);
  }

  /// Samples of this epoch are asked for.
  void note_request(std::int64_t of_epoch);
  /// A read in the background has ended. If it was decided before the first request, its epoch is not known
  /// before that request: a resumed job does not begin with epoch 0.
  void note_background(std::int64_t of_epoch, Seconds duration);
  /// Records the background reads since the last call, and how many of them were of no use. A node without
  /// requests reads nothing.
  void record_background(const CacheEngine& engine);
  /// Records the most that the tiers could have delivered, unless something was read in advance. Other nodes
  /// may decide whether the last epoch is complete, so there is a row without it, too, unless the job has
  /// `epochs` epochs. To replay millions of requests takes seconds.
  void record_most(const CacheEngine& engine, double epochs);

  int number;
  const DataPlan& data;
  Journal& journal;
  Rank rank;                 ///< of the node, in the job
  std::size_t first_client;  ///< of the node's clients
  std::size_t clients;
  std::size_t open;  ///< clients that may send requests
  double benefit;    ///< share of its step time that the cache saves, as it is stated
  bool has_begun = false;
  DeliveryLog deliveries;
  cache::RequestOrder order;                     ///< of the batches, where the job is the only one
  std::optional<BenefitProbe> probe;             ///< where the benefit is measured
  std::optional<NodeEpoch> epoch;                ///< where the policy plans with epochs
  std::int64_t last_epoch = 0;                   ///< the newest one that was requested
  std::int64_t first_epoch = no_epoch;           ///< the oldest one that was requested
  Seconds read_at_start{};                       ///< durations of reads before the first request
  std::map<std::int64_t, CacheLedger> recorded;  ///< by epoch: reads in the background
};

}  // namespace tandem
