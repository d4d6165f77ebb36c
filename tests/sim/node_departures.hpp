// Jobs whose cache nodes or stores depart and come back while workers train: negligible network, a store
// that takes a tenth of a second for a sample, steps of a second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/training.hpp"
#include "tests/support/cache_counts.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/id_text.hpp"

namespace tandem::testing {

constexpr double read_s = 0.1;

class NodeDepartures : public Training {
 protected:
  NodeDepartures() {
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }
  /// The cache node is on host-5, the store on host-6.
  void set_platform(const std::string& lifetime, double bandwidth = 1e12, double latency_s = 1e-7) {
    set_platform(lifetime, "never", bandwidth, latency_s);
  }
  /// A second cache node may be on host-7, and departs as the first one.
  void set_platform(const std::string& of_nodes, const std::string& of_store, double bandwidth,
                    double latency_s) {
    platform_ = TemporaryPlatform::star(8, bandwidth, latency_s);
    set_disk("host-6", "7850Bps", of_store);
    for (const char* node : {"host-5", "host-7"}) set_disk(node, "100MBps", of_nodes);
  }
  void set_disk(const std::string& host, const std::string& read, const std::string& lifetime) {
    const auto begin = platform_.find("<host id='" + host + "'");
    const auto end = platform_.find('\n', begin);
    platform_.replace(begin, end - begin,
                      "<host id='" + host + "' speed='1Gf' core='2'><disk id='disk' read_bw='" + read +
                          "' write_bw='50MBps'/><prop id='tandem:lifetime' value='" + lifetime +
                          "'/></host>");
  }
  /// Workers stay.
  static Experiment job(int workers, int prefetch) {
    Experiment experiment = small_experiment(workers);
    experiment.workload.batch = 1;
    experiment.optimizer.learning_rate = 0.002;
    experiment.recovery.policy = "replace";
    experiment.transience.lifetime = "fixed";
    experiment.transience.detect = Seconds(2);
    experiment.transience.start = Seconds(5);
    experiment.data.source = DataSource::storage;
    experiment.data.prefetch = prefetch;
    experiment.data.cache_capacity = Bytes(96 * 785);
    experiment.placement.cache_nodes = {"host-5"};
    experiment.placement.stores = {"host-6"};
    return experiment;
  }
  static Experiment modelled(int workers, int prefetch) {
    Experiment experiment = job(workers, prefetch);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    return experiment;
  }
  /// Of each epoch that has ended, all samples were delivered, each once.
  static void expect_delivered_once(const Journal& journal, std::int64_t epochs) {
    std::int64_t recorded = 0;
    std::map<std::int64_t, std::vector<std::uint32_t>> requested;
    for (const DeliveryRecord& record : journal.deliveries) {
      recorded += record.samples;
      add_ids(record.requested, requested.try_emplace(record.epoch, 96).first->second);
    }
    EXPECT_EQ(recorded, delivered(journal)) << "classes do not add up";
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
      EXPECT_EQ(std::ranges::count(requested[epoch], 1U), 96) << epoch;
  }
  /// What workers read from the store themselves.
  static CacheRecord direct(const Journal& journal, int workers) {
    CacheRecord sum;
    for (const CacheRecord& record : journal.caches) {
      if (record.rank >= workers) continue;
      EXPECT_EQ(record.from, "store");
      sum.samples += record.samples;
      sum.blocked += record.blocked;
    }
    return sum;
  }
};

}  // namespace tandem::testing
