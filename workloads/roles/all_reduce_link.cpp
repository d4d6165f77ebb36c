// Exchange without a server: each bucket's payload is summed over the workers by the collective's schedule.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/collective.hpp"
#include "workloads/roles/link.hpp"
#include "workloads/roles/protocol.hpp"
#include "workloads/roles/stop.hpp"

namespace tandem {
namespace {

class AllReduceLink : public Link {
 public:
  AllReduceLink(const Job& job, Context& context, Replica& replica)
      : job_(job), context_(context), replica_(replica), workers_(job.ranks_of(Seat::Role::worker)) {}

  void begin(sync::Payload payload, std::vector<int> members) override {
    payload_ = payload;
    if (members.empty()) {
      members.resize(workers_.size());
      std::iota(members.begin(), members.end(), 0);
    }
    group_ = &group_of(members);
  }

  void offer(int bucket, const Contribution&) override {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.elements()));
  }

  void overlap(Pending& until) override {
    if (group_ == nullptr)
      context_.wait(until);
    else
      group_->reduces->overlap(until);
  }

  ExchangeResult finish() override {
    group_->reduces->finish();
    ++rounds_;
    const auto workers = static_cast<std::int64_t>(workers_.size());
    const std::int64_t samples = rounds_ * workers * job_.experiment().workload.batch * job_.steps_a_round();
    // Every worker counts alike, so all stop after the same round.
    const Progress progress{.rounds = rounds_, .samples = samples, .now = Seconds(0.0)};
    if (context_.rank() == workers_.front()) job_.report_progress(progress);
    return {.version = static_cast<int>(rounds_),
            .stop = is_reached(job_.experiment().stop, job_.dataset_info().train_samples, progress),
            .samples = samples,
            .sum_of = group_->size,
            .bytes_sent = group_->bytes_sent,
            .bytes_received = group_->bytes_received};
  }

  sync::Answer ask(const Contribution&) override {
    TANDEM_CHECK(false, "an all-reduce has no coordinator");
    return {};
  }

  void leave() override {
    if (job_.algorithm().make.payload == sync::Payload::model) average_all();
  }

 private:
  /// The all-reduces among one set of workers, kept for their buffers.
  struct Group {
    Group(Context& context, std::vector<collectives::Schedule> schedules, const std::vector<Rank>& ranks,
          const std::vector<Bytes>& sizes)
        : size(static_cast<int>(ranks.size())) {
      for (const auto& schedule : schedules) count_traffic(schedule);
      reduces.emplace(context, std::move(schedules), ranks, sizes, protocol::reduce_bucket(0).number);
    }
    void count_traffic(const collectives::Schedule& schedule) {
      for (const auto& round : schedule.rounds)
        for (const auto& transfer : round)
          (transfer.kind == collectives::Transfer::Kind::send ? bytes_sent : bytes_received) +=
              transfer.piece.size() * 4;
    }
    std::optional<AllReduces> reduces;
    int size;
    std::int64_t bytes_sent = 0;
    std::int64_t bytes_received = 0;
  };

  void average_all() {
    begin(sync::Payload::model, {});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) offer(bucket, {});
    group_->reduces->finish();
    Pending mean = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                    replica_.adopt_sum(sync::Payload::model, group_->size));
    context_.wait(mean);
  }

  Group& group_of(const std::vector<int>& members) {
    auto& group = groups_[members];
    if (!group) {
      std::vector<Rank> ranks;
      for (const int member : members) ranks.push_back(workers_.at(static_cast<std::size_t>(member)));
      const auto self = std::find(ranks.begin(), ranks.end(), context_.rank()) - ranks.begin();
      std::vector<Bytes> sizes;
      const auto& buckets = replica_.description().buckets;
      std::vector<collectives::Schedule> schedules;
      for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
        sizes.push_back(buckets[bucket].bytes());
        schedules.push_back(
            job_.all_reduce()->schedule(bucket, members, static_cast<int>(self), buckets[bucket].elements()));
      }
      group = std::make_unique<Group>(context_, std::move(schedules), ranks, sizes);
    }
    return *group;
  }

  const Job& job_;
  Context& context_;
  Replica& replica_;
  std::vector<Rank> workers_;
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  Group* group_ = nullptr;
  sync::Payload payload_ = sync::Payload::gradient;
  std::int64_t rounds_ = 0;
};

}  // namespace

std::unique_ptr<Link> make_all_reduce_link(const Job& job, Context& context, Replica& replica) {
  return std::make_unique<AllReduceLink>(job, context, replica);
}

}  // namespace tandem
