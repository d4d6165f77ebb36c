// What workers send their cache node as an epoch begins, if its policy plans with epochs: losses, which
// samples caches hold, and which samples of the epoch before a resumed job has got.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/roles/cache/node_clients.hpp"
#include "workloads/roles/cache/resident_lists.hpp"

namespace tandem {

class EpochMessages {
 public:
  /// `job`: the own one of the node. The arguments must outlive it.
  EpochMessages(const Job& job, Context& context)
      : data_(job.data()), context_(context), lists_(ResidentLists::of(job)) {}

  /// The losses that the list of the epoch uses, by id. `clients`: the workers of the job.
  std::vector<float> receive_losses(const NodeJob& job, std::span<const NodeClient> clients,
                                    std::int64_t epoch);
  /// Which samples the workers got before, by worker, in the first epoch if the job is resumed in it;
  /// otherwise empty.
  std::vector<std::vector<SampleId>> receive_given(const NodeJob& job, std::span<const NodeClient> clients,
                                                   std::int64_t epoch);
  /// Null: the list follows from the losses alone.
  std::shared_ptr<const sampling::EpochList> list(std::int64_t epoch, std::span<const float> losses) const {
    return lists_ && epoch > 0 ? lists_->list(epoch, losses, residents_) : nullptr;
  }

 private:
  const DataPlan& data_;
  Context& context_;
  std::optional<ResidentLists> lists_;
  ResidentSet residents_;  ///< of all nodes, for the list of the next epoch
};

}  // namespace tandem
