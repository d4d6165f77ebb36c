// The rate of workers that wait for no barrier: each computes alone, then holds the busiest shard of the
// servers for its push and pull. A closed queueing network.
// Sources: Reiser, Lavenberg: Mean-value analysis of closed multichain queuing networks. JACM 27(2), 1980;
// Schweitzer: Approximate analysis of multiclass closed networks of queues. 1979.
#pragma once

#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

struct QueueClass {
  int count = 1;  ///< workers
  Seconds think;  ///< of a step, outside of the stations
};

struct Throughput {
  double steps_per_s = 0.0;      ///< of all workers
  std::vector<double> by_class;  ///< of all workers of a class
  double utilisation = 0.0;      ///< of the busiest station
};

/// What cannot be exceeded: no worker waits for another, and the busiest station is never idle. Exact where
/// one of the two holds, and for one class with deterministic times.
Throughput throughput_bound(std::span<const QueueClass> classes, std::span<const Seconds> service);
/// Exact for one class and exponential service times; the cost is workers x stations.
/// Pre: at least one worker; service >= 0 of each station.
Throughput mean_value_analysis(const QueueClass& workers, std::span<const Seconds> service);
/// Several classes: Schweitzer's fixed point, whose cost does not depend on the numbers of workers. 4 to 8 %
/// low near the knee.
Throughput schweitzer(std::span<const QueueClass> classes, std::span<const Seconds> service);
/// Between the bound (service times do not vary) and mean value analysis (their coefficient of variation is
/// 1), by its square. An approximation. `variation`: that coefficient, 0 to 1.
Throughput throughput(std::span<const QueueClass> classes, std::span<const Seconds> service,
                      double variation);

}  // namespace tandem::prices
