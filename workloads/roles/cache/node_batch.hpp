// A batch that a cache node has to send to a worker, or samples for another cache node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/protocol.hpp"
#include "workloads/roles/cache/benefit_probe.hpp"
#include "workloads/roles/cache/delivered.hpp"
#include "workloads/roles/cache/node_job.hpp"
#include "workloads/roles/cache/sample_bytes.hpp"

namespace tandem {

struct NodeBatch : SampleBytes {
  std::size_t client = 0;  ///< of the node
  NodeJob* job = nullptr;  ///< of the worker; for another cache node, this node's own job
  bool is_for_peer = false;
  std::int32_t samples = 0;
  std::int64_t epoch = 0;
  Seconds asked{};
  std::vector<std::size_t> begin_of = {};  ///< where each sample begins in the message, and its end
  std::size_t missing = 0;                 ///< samples that are being read
  protocol::Found found = {};              ///< for another cache node
  std::vector<std::size_t> bad = {};       ///< positions of samples that another cache node does not get
  bool is_lost = false;                    ///< its worker is gone
  BenefitProbe::Tag probe = {};
  // For a node that may depart, which records the samples that it has sent:
  std::vector<SampleId> asked_for = {};
  std::vector<Delivered> delivered = {};

  /// Among the workers of its job.
  std::size_t worker() const { return client - job->first_client; }
};

}  // namespace tandem
