#include "workloads/exchange/sum_groups.hpp"

#include <algorithm>
#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {
namespace {

/// Each group keeps its schedules, and random groups rarely recur.
constexpr std::size_t most_groups = 4;

/// The schedule, size and element type of each all-reduce.
struct Vectors {
  AllReduces::Schedules schedules;
  std::vector<Bytes> sizes;
  std::vector<collectives::Element> elements;
};

}  // namespace

SumGroups::SumGroups(const Roster& roster, const ExchangePlan& plan, Context& context, const Replica& replica,
                     const CompressedPayload& compressed, std::int64_t counts)
    : plan_(plan),
      context_(context),
      model_(replica.description()),
      compressed_(compressed),
      workers_(roster.workers()),
      self_(roster.assignment(context.rank()).index),
      buckets_(replica.buckets()),
      counted_(counts) {}

SumGroup& SumGroups::of_all() {
  if (!all_) all_ = make(plan_.group_of_all(), self_, workers_);
  return *all_;
}

SumGroup& SumGroups::of(std::span<const int> members) {
  if (std::ranges::equal(members, plan_.all_workers())) return of_all();
  const std::vector<int> key(members.begin(), members.end());
  if (!groups_.contains(key) && groups_.size() == most_groups) groups_.clear();
  auto& group = groups_[key];
  if (group) return *group;
  std::vector<Rank> ranks;
  for (const int member : members) ranks.push_back(workers_[static_cast<std::size_t>(member)]);
  const auto self = static_cast<int>(std::ranges::find(members, self_) - members.begin());
  group = make(AllReduceGroup(*plan_.all_reduce(), members), self, ranks);
  // The all-reduces use the memory, which moves along.
  group->own_ranks = std::move(ranks);
  return *group;
}

void SumGroups::abandon() {
  if (all_) all_->reduces->abandon();
  for (auto& [members, group] : groups_) group->reduces->abandon();
  all_.reset();
  groups_.clear();
}

void SumGroups::add_traffic(const SumGroup& group, bool has_weight, bool has_counts,
                            ExchangeResult& result) const {
  for (int vector = 0; vector < static_cast<int>(group.sizes.size()); ++vector) {
    if ((vector == weight() && !has_weight) || (vector == counts() && !has_counts)) continue;
    result.bytes_sent += group.reduces->traffic(vector).sent.count();
    result.bytes_received += group.reduces->traffic(vector).received.count();
  }
}

std::unique_ptr<SumGroup> SumGroups::make(const AllReduceGroup& plans, int self,
                                          std::span<const Rank> ranks) {
  Vectors vectors;
  const auto last = static_cast<std::size_t>(buckets_) - 1;
  const auto add = [&](std::size_t bucket, const CompressedSum::Vector& vector) {
    const std::int64_t elements = vector.gathered ? vector.elements * plans.size() : vector.elements;
    vectors.schedules.push_back(vector.gathered ? plans.gather(bucket, self, vector.elements)
                                                : plans.schedule(bucket, self, vector.elements));
    vectors.sizes.emplace_back(elements * vector.element.bytes);
    vectors.elements.push_back(vector.element);
  };
  constexpr collectives::Element element = collectives::float_element;
  for (std::size_t bucket = 0; bucket <= last; ++bucket)
    add(bucket, compressed_.is_used() ? compressed_.vector(static_cast<int>(bucket), 0)
                                      : CompressedSum::Vector{model_.buckets[bucket].exchanged(), element});
  add(last, {1, element});
  add(last, {counted_, element});
  for (std::size_t bucket = 0; bucket <= last && compressed_.is_used(); ++bucket)
    add(bucket, {model_.buckets[bucket].exchanged() - model_.buckets[bucket].parameters, element});
  for (std::size_t bucket = 0; bucket <= last && compressed_.is_used(); ++bucket)
    add(bucket, compressed_.vector(static_cast<int>(bucket), 1));
  if (has_buffers()) add(last, {(plan_.buffers().count() + element.bytes - 1) / element.bytes, element});
  auto group = std::make_unique<SumGroup>();
  group->ranks = ranks;
  group->gathered = plans.gathered();
  group->self = self;
  group->sizes = vectors.sizes;
  group->reduces.emplace(context_, std::move(vectors.schedules), ranks, group->sizes,
                         protocol::channel<"reduces">(0), vectors.elements, arrivals_);
  return group;
}

}  // namespace tandem
