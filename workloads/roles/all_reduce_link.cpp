// Exchange without a server: each bucket's payload is summed over the workers by the collective's schedule.
#include <algorithm>
#include <map>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/collective.hpp"
#include "workloads/roles/coordinator_line.hpp"
#include "workloads/roles/link.hpp"
#include "workloads/roles/protocol.hpp"
#include "workloads/roles/stop.hpp"

namespace tandem {
namespace {

class AllReduceLink : public Link {
 public:
  AllReduceLink(const Job& job, Context& context, Replica& replica)
      : job_(job),
        context_(context),
        replica_(replica),
        workers_(job.ranks_of(Seat::Role::worker)),
        leaves_buckets_open_(job.experiment().sync.overlap == "both") {
    const auto coordinators = job.ranks_of(Seat::Role::coordinator);
    if (!coordinators.empty()) coordinator_.emplace(context, coordinators.front());
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    weight_ = exchange.weight;
    group_ = &group_of(members_of(exchange, workers_.size()));
    if (!weight_) return;
    Pending weighed = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                       replica_.weigh(payload_, *weight_));
    context_.wait(weighed);
    total_weight_ = static_cast<float>(*weight_);
    float* data = job_.real_math() ? &total_weight_ : nullptr;
    group_->reduces->start(replica_.buckets(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
  }

  void offer(int bucket, const Contribution& contribution) override {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    if (coordinator_ && bucket == replica_.buckets() - 1) coordinator_->push(contribution, version_);
  }

  void overlap(Pending& until) override {
    if (group_ != nullptr && group_->reduces->running())
      group_->reduces->overlap(until);
    else if (coordinator_)
      coordinator_->overlap(until);
    else
      context_.wait(until);
  }

  ExchangeResult finish() override {
    if (!leaves_buckets_open_) group_->reduces->finish();
    ExchangeResult result = coordinator_ ? told_by_coordinator() : counted_alike();
    result.sum_of = weight_ && job_.real_math() ? static_cast<double>(total_weight_) : group_->size;
    const std::size_t reduced = group_->traffic.size() - (weight_ ? 0 : 1);
    for (std::size_t i = 0; i < reduced; ++i) {
      result.bytes_sent += group_->traffic[i].sent;
      result.bytes_received += group_->traffic[i].received;
    }
    return result;
  }

  void await(int bucket) override { group_->reduces->finish(bucket); }

  sync::Answer ask(const Contribution& contribution) override {
    return {.now = context_.now(), .ready = coordinator_.value().ask(contribution, version_), .members = {}};
  }
  void report(const Contribution& contribution) override {
    coordinator_.value().report(contribution, version_);
  }
  std::optional<bool> told() const override { return coordinator_ ? coordinator_->told() : std::nullopt; }

  void remember(StateArchive& state) override {
    state.number("link.version", version_);
    if (coordinator_ && state.restores()) coordinator_->begin_round(version_);
  }

  void leave() override {
    if (coordinator_) coordinator_->leave();
    if (job_.algorithm().make.payload == sync::Payload::model) average_all();
  }

 private:
  struct Traffic {
    explicit Traffic(const collectives::Schedule& schedule) {
      for (const auto& round : schedule.rounds)
        for (const auto& transfer : round)
          (transfer.kind == collectives::Transfer::Kind::send ? sent : received) += transfer.piece.size() * 4;
    }
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  /// The all-reduces among one set of workers, kept for their buffers: one a bucket, and one of the weights.
  struct Group {
    Group(Context& context, std::vector<collectives::Schedule> schedules, const std::vector<Rank>& ranks,
          const std::vector<Bytes>& sizes)
        : size(static_cast<int>(ranks.size())) {
      for (const auto& schedule : schedules) traffic.emplace_back(schedule);
      reduces.emplace(context, std::move(schedules), ranks, sizes, protocol::reduce_bucket(0).number);
    }
    std::optional<AllReduces> reduces;
    int size;
    std::vector<Traffic> traffic;
  };

  /// Every worker counts alike, so all stop after the same round.
  ExchangeResult counted_alike() {
    ++version_;
    const auto workers = static_cast<std::int64_t>(workers_.size());
    const std::int64_t samples = version_ * workers * job_.experiment().workload.batch * job_.steps_a_round();
    const Progress progress{.rounds = version_, .samples = samples, .now = Seconds(0.0)};
    if (context_.rank() == workers_.front()) job_.report_progress(progress);
    return {.version = version_,
            .stop = is_reached(job_.experiment().stop, job_.dataset_info().train_samples, progress),
            .rounds = version_,
            .samples = samples};
  }

  ExchangeResult told_by_coordinator() {
    const Note reply = coordinator_->reply();
    version_ = reply.version;
    return {.version = reply.version,
            .stop = reply.value == 1,
            .rounds = reply.version,
            .samples = reply.all_samples};
  }

  void average_all() {
    begin({.payload = sync::Payload::model});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) offer(bucket, {});
    group_->reduces->finish();
    Pending mean = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                    replica_.adopt_sum(sync::Payload::model, group_->size, {}));
    context_.wait(mean);
  }

  Group& group_of(const std::vector<int>& members) {
    if (!groups_.contains(members) && groups_.size() == most_groups) groups_.clear();
    auto& group = groups_[members];
    if (!group) {
      std::vector<Rank> ranks;
      for (const int member : members) ranks.push_back(workers_.at(static_cast<std::size_t>(member)));
      const auto self = std::find(ranks.begin(), ranks.end(), context_.rank()) - ranks.begin();
      std::vector<Bytes> sizes;
      const auto& buckets = replica_.description().buckets;
      std::vector<collectives::Schedule> schedules;
      const auto add = [&](std::size_t bucket, std::int64_t elements) {
        sizes.emplace_back(elements * 4);
        schedules.push_back(job_.all_reduce()->schedule(bucket, members, static_cast<int>(self), elements));
      };
      for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
        add(bucket, buckets[bucket].exchanged());
      add(buckets.size() - 1, 1);
      group = std::make_unique<Group>(context_, std::move(schedules), ranks, sizes);
    }
    return *group;
  }

  /// Each keeps buffers of a model's size, and random groups are ever new ones.
  static constexpr std::size_t most_groups = 4;

  const Job& job_;
  Context& context_;
  Replica& replica_;
  std::vector<Rank> workers_;
  bool leaves_buckets_open_;  ///< when an exchange is finished
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  Group* group_ = nullptr;
  std::optional<CoordinatorLine> coordinator_;
  sync::Payload payload_ = sync::Payload::gradient;
  std::optional<double> weight_;  ///< of this worker's payload in the exchange under way
  float total_weight_ = 0.0F;     ///< the sum of all members' weights, when it is done
  int version_ = 0;
};

}  // namespace

std::unique_ptr<Link> make_all_reduce_link(const Job& job, Context& context, Replica& replica) {
  return std::make_unique<AllReduceLink>(job, context, replica);
}

}  // namespace tandem
