// The jobs that a cache node serves, and the events of its policy when one begins, ends or is measured.
// Pure: the node says what happens, and passes the events to the policy.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/roles/cache/node_batch.hpp"
#include "workloads/roles/cache/node_job.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

class NodeJobs {
 public:
  /// An event of the policy, with the job and its epoch at which the policy gets it.
  struct Change {
    NodeJob* job = nullptr;
    cache::JobChange change = {};
    std::int64_t epoch = 0;
  };
  using Changes = std::vector<Change>;
  /// Whether the policy gets an event when jobs begin, and end.
  struct Events {
    bool begins = false;
    bool ends = false;
  };

  /// The node's own job first. The first clients of the node are its workers, then those of the other jobs.
  /// `node`: among the cache nodes.
  NodeJobs(std::span<const ServedJob> served, std::size_t node, const Events& events);
  std::deque<NodeJob>& all() { return jobs_; }
  NodeJob& own() { return jobs_.front(); }
  bool is_alone() const { return jobs_.size() == 1; }
  /// The job that last asked for samples, or began an epoch.
  NodeJob& active() { return *active_; }
  NodeJob& of(const SampleRead& read) { return jobs_[static_cast<std::size_t>(read.job)]; }

  /// To be called once. The policy gets the event of the own job before the first request, and that of
  /// another job with its first request.
  Changes begin(NodeJob& job);
  void begin_epoch(NodeJob& job);
  /// A worker of the job asks for a batch.
  Changes begin_batch(NodeJob& job, std::int64_t epoch);
  Changes note_sent(const NodeBatch& batch, Seconds now);
  /// No worker of the job asks for anything more, while those of other jobs do.
  Changes end(NodeJob& job);

 private:
  static void add_probe(NodeJob& job, BenefitProbe::Change change, Changes& changes);
  void probe_again(const NodeJob& other, Changes& changes);

  Events events_;
  std::deque<NodeJob> jobs_;
  NodeJob* active_ = nullptr;
};

}  // namespace tandem
