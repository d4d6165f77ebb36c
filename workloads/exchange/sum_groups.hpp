// The vectors that workers sum in one exchange over an all-reduce, for each group of them: the buckets of
// the payload, or their compressed messages; the weights; and numbers that members count together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/schedule_runner.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/exchange_plan.hpp"

namespace tandem {

/// Workers that sum together, and their all-reduces, which keep their buffers.
struct SumGroup {
  std::vector<Rank> own_ranks = {};  ///< empty: those of all workers
  std::span<const Rank> ranks = {};
  std::vector<int> gathered = {};  ///< as AllReduceGroup::gathered
  int self = 0;                    ///< this worker's place among them
  std::vector<Bytes> sizes = {};   ///< by vector
  std::optional<AllReduces> reduces = {};
  int size() const { return static_cast<int>(ranks.size()); }
};

class SumGroups {
 public:
  /// `counts`: numbers, of 4 bytes, that the members of a group count together. The arguments must outlive
  /// it.
  SumGroups(const Roster& roster, const ExchangePlan& plan, Context& context, const Replica& replica,
            const CompressedPayload& compressed, std::int64_t counts);

  // Indices of the vectors:
  int weight() const { return buckets_; }
  int counts() const { return buckets_ + 1; }
  int statistics(int bucket) const { return buckets_ + 2 + bucket; }
  int message(int bucket, std::size_t stage) const { return stage == 0 ? bucket : 2 * buckets_ + 2 + bucket; }
  int buffers() const { return plan_.number_of_buffers(); }
  bool has_buffers() const { return plan_.buffers() > Bytes(0); }

  SumGroup& of_all();
  /// `members`: sorted indices of workers.
  SumGroup& of(std::span<const int> members);
  /// Gives up all sums that are in progress, as AllReduces::abandon, and the groups.
  void abandon();
  /// Adds the bytes that an exchange of the group has moved, without the vectors that were not summed.
  void add_traffic(const SumGroup& group, bool has_weight, bool has_counts, ExchangeResult& result) const;

 private:
  std::unique_ptr<SumGroup> make(const AllReduceGroup& plans, int self, std::span<const Rank> ranks);

  const ExchangePlan& plan_;
  Context& context_;
  const ModelDescription& model_;
  const CompressedPayload& compressed_;
  std::span<const Rank> workers_;
  int self_;
  int buckets_;
  std::int64_t counted_;
  /// Shared by all groups: one exchange is in progress at a time.
  std::shared_ptr<ArrivalMemory> arrivals_ = std::make_shared<ArrivalMemory>();
  std::unique_ptr<SumGroup> all_;
  std::map<std::vector<int>, std::unique_ptr<SumGroup>> groups_;
};

}  // namespace tandem
