// Small experiments of several jobs, for CommandLine::experiment().
#pragma once

#include <string>

namespace tandem::testing {

inline const std::string three_jobs =
    "jobs:\n"
    "  servers: {}\n"
    "  ring: {sync.over: all-reduce, placement.workers: [node-1, node-2], seed: 5}\n"
    "  late: {start: 0.5s, sync.algorithm: asp, workload.batch: 4, placement.workers: [node-4, node-5], "
    "stop.rounds: 3}\n";

/// Two jobs with one worker each, and a cache node that reads the disk of its host. `capacity`: samples.
inline std::string sharing_jobs(int capacity, const std::string& policy = "minio",
                                const std::string& second = "", const std::string& first = "",
                                int epochs = 3) {
  const auto job = [&](const std::string& workers, const std::string& more) {
    return "{placement.workers: [" + workers +
           "], placement.cache_nodes: [server], stop: {rounds: 0, epochs: " + std::to_string(epochs) + "}" +
           more + "}\n";
  };
  return "data: {source: storage, shared: true, cache: " + policy +
         ", cache_capacity: " + std::to_string(capacity * 785) + ", sampling: shuffled, prefetch: 0}\n" +
         "sync: {over: all-reduce, collective: ring}\n"
         "jobs:\n"
         "  first: " +
         job("node-1", first) + "  second: " + job("node-2, node-3", second);
}

}  // namespace tandem::testing
