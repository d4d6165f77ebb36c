// The classes and functions that were larger than the limits when these were set.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem {

/// What a class or function may have. Numbers only fall: tidy_test asks for a lower one as soon as it
/// suffices.
struct SizeRow {
  std::string path;
  std::string name;  ///< "Outer::Inner"; of a function, the text of its first line
  std::size_t most;
};

/// In members: functions and fields.
inline const std::vector<SizeRow>& large_classes() {
  static const std::vector<SizeRow> all = {
      {"policies/cache/training/foresight.cpp", "Foresight", 60},
      {"policies/cache/training/icache.cpp", "ICache", 60},
      {"runtime/gpu/cuda_device.hpp", "CudaDevice", 60},
      {"runtime/mpi/mpi_context.hpp", "MpiContext", 60},
      {"runtime/mpi/transport.hpp", "Transport", 60},
      {"sim/network.hpp", "Network", 60},
      {"sim/rank_context.hpp", "RankContext", 60},
      {"tests/policies/recovery/job_run.hpp", "RecoveryRun", 60},
      {"tests/support/delayed_device.hpp", "DelayedDevice", 60},
      {"tests/support/policy_run.hpp", "PolicyRun", 60},
      {"validation/report/study.hpp", "StudyResult", 60},
      {"workloads/exchange/peer_exchange.cpp", "PeerExchange", 60},
      {"workloads/exchange/regrouping.hpp", "Regrouping", 60},
      {"workloads/exchange/regrouping_rounds.hpp", "RegroupingRounds", 60},
      {"workloads/exchange/replica.hpp", "Replica", 60},
      {"workloads/exchange/server_exchange.cpp", "ServerExchange", 60},
      {"workloads/job/plan/data_plan.hpp", "DataPlan", 60},
      {"workloads/job/plan/exchange_plan.hpp", "ExchangePlan", 60},
      {"workloads/roles/cache/cache_node.hpp", "CacheNode", 60},
      {"workloads/roles/loader.cpp", "StorageLoader", 60},
      {"workloads/roles/server/parameter_server.hpp", "ParameterServer", 60},
      {"workloads/roles/sample_visits.hpp", "SampleVisits", 60},
      {"workloads/roles/worker/worker.hpp", "Worker", 60},
      {"workloads/vectors/compute_device.hpp", "ComputeDevice", 60}};
  return all;
}

/// In lines. None.
inline const std::vector<SizeRow>& long_functions() {
  static const std::vector<SizeRow> all = {};
  return all;
}

}  // namespace tandem
