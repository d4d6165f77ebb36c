// Exchange without a server: each bucket's payload is summed over the workers by the collective's schedule,
// by a library's all-reduce, or in compressed form.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/compressed_sum.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/schedule_runner.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class AllReduceExchange : public Exchange {
 public:
  AllReduceExchange(const Roster& roster, const ExchangePlan& plan, const StopRule& stop, Context& context,
                    Replica& replica)
      : plan_(plan),
        stop_(stop),
        context_(context),
        replica_(replica),
        workers_(roster.workers()),
        self_(roster.assignment(context.rank()).index),
        reports_progress_(context.rank() == roster.first_worker()),
        defers_buckets_(plan.overlaps_forward()) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
    if (plan.compression() == nullptr) return;
    for (const auto& bucket : replica.description().buckets)
      compressed_.push_back(
          make_compressed_sum(plan, context.device(), self_, bucket, plan.group_of_all().gathered()));
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    weight_ = exchange.weight;
    group_ = exchange.members.empty() ? &group_of_all() : &group_of(exchange.members);
    if (!weight_) return;
    Pending weighed = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                       replica_.weigh(payload_, *weight_));
    context_.wait(weighed);
    total_weight_ = static_cast<float>(*weight_);
    float* data = replica_.has_values() ? &total_weight_ : nullptr;
    group_->reduces->start(weight_slot(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
  }

  void bucket_ready(int bucket, const protocol::Push& push) override {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    if (compressed_.empty())
      group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    else
      offer_compressed(bucket, extent);
    if (bucket + 1 < replica_.buckets()) return;
    if (coordinator_)
      coordinator_->push(push, version_);
    else
      samples_ += push.samples * std::ssize(workers_);
  }

  Completion wait_progressing(Pending& until) override {
    if (group_ != nullptr && group_->reduces->running()) return group_->reduces->wait_progressing(until);
    return coordinator_ ? coordinator_->wait_progressing(until) : context_.wait(until);
  }

  ExchangeResult finish() override {
    if (!compressed_.empty()) finish_compressed();
    if (!defers_buckets_) group_->reduces->finish();
    ExchangeResult result = coordinator_ ? counted_by_coordinator() : counted_by_itself();
    result.sum_of = weight_ && replica_.has_values() ? static_cast<double>(total_weight_) : group_->size;
    for (int i = 0; i < std::ssize(group_->sizes); ++i) {
      if (i == weight_slot() && !weight_) continue;
      result.bytes_sent += group_->reduces->traffic(i).sent.count();
      result.bytes_received += group_->reduces->traffic(i).received.count();
    }
    return result;
  }

  void await(int bucket) override { group_->reduces->finish(bucket); }

  void serialise(StateArchive& state) override {
    state.number("exchange.version", version_);
    if (state.restores()) state.number("samples", samples_);  // as the worker knows them
    for (std::size_t bucket = 0; bucket < compressed_.size() && replica_.has_values(); ++bucket)
      compressed_[bucket]->serialise(state, "compression." + std::to_string(bucket));
    if (coordinator_ && state.restores()) coordinator_->begin_round(version_);
  }

  void leave() override {
    if (coordinator_) coordinator_->leave();
    if (plan_.payload() == sync::Payload::model) average_all();
  }

 private:
  CoordinatorClient* coordinator() override { return coordinator_ ? &*coordinator_ : nullptr; }
  int version_of_model() const override { return version_; }

  /// The schedule, size and element type of each all-reduce of one set of workers.
  struct Vectors {
    AllReduces::Schedules schedules;
    std::vector<Bytes> sizes;
    std::vector<collectives::Element> elements;
    void add(std::optional<collectives::Schedule> schedule, std::int64_t count,
             const collectives::Element& element) {
      schedules.push_back(std::move(schedule));
      sizes.emplace_back(count * element.bytes);
      elements.push_back(element);
    }
  };
  /// The all-reduces among one set of workers, kept for their buffers. With B buckets: B of these, then one
  /// of the weights; with a compression also B of statistics and B of second stages.
  struct Group {
    Group(Context& context, Vectors vectors, std::vector<Rank> members,
          const std::shared_ptr<ArrivalMemory>& arrivals)
        : Group(context, std::move(vectors), std::span<const Rank>(members), arrivals) {
      own_ranks = std::move(members);  // moved with its memory, which the all-reduces use
    }
    /// `ranks` must outlive it.
    Group(Context& context, Vectors vectors, std::span<const Rank> ranks,
          const std::shared_ptr<ArrivalMemory>& arrivals)
        : size(static_cast<int>(ranks.size())) {
      sizes = vectors.sizes;
      reduces.emplace(context, std::move(vectors.schedules), ranks, sizes, protocol::channel<"reduces">(0),
                      vectors.elements, arrivals);
    }
    std::vector<Rank> own_ranks;
    std::optional<AllReduces> reduces;
    int size;
    std::vector<Bytes> sizes;  ///< of the vectors
  };

  /// Every worker computes the same counts, so all stop after the same round.
  ExchangeResult counted_by_itself() {
    ++version_;
    const Progress progress{.rounds = version_, .samples = samples_, .now = Seconds(0.0)};
    if (reports_progress_) stop_.report(progress);
    return {.version = version_, .stop = stop_.is_reached(progress), .rounds = version_, .samples = samples_};
  }

  ExchangeResult counted_by_coordinator() {
    const protocol::Reply reply = coordinator_->reply();
    version_ = reply.version;
    return {.version = reply.version,
            .local_steps = reply.local_steps,
            .stop = reply.stops,
            .rounds = reply.version,
            .samples = reply.all_samples,
            .commit_round = reply.commit_round};
  }

  int weight_slot() const { return replica_.buckets(); }
  int statistics_slot(int bucket) const { return replica_.buckets() + 1 + bucket; }
  int stage_slot(int bucket, std::size_t stage) const {
    return stage == 0 ? bucket : 2 * replica_.buckets() + 1 + bucket;
  }

  void offer_compressed(int bucket, const BucketDescription& extent) {
    start_stage(bucket, 0);
    const std::int64_t statistics = extent.exchanged() - extent.parameters;
    if (statistics > 0)
      group_->reduces->start(statistics_slot(bucket),
                             replica_.payload(payload_, extent.offset + extent.parameters, statistics));
  }

  /// Pre: the all-reduce of the previous stage is done.
  void start_stage(int bucket, std::size_t stage) {
    CompressedSum& sum = *compressed_[static_cast<std::size_t>(bucket)];
    compute(Work::Kind::compress, bucket, 1,
            [&sum, stage](std::span<float> payload) { sum.prepare(stage, payload); });
    const Bytes size = group_->sizes[static_cast<std::size_t>(stage_slot(bucket, stage))];
    std::byte* data = replica_.has_values() ? sum.memory(stage).data() : nullptr;
    group_->reduces->start(stage_slot(bucket, stage), {size, data});
  }

  /// While other buckets are still in flight.
  void finish_compressed() {
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
      const std::size_t stages = compressed_[static_cast<std::size_t>(bucket)]->vectors().size();
      for (std::size_t stage = 1; stage < stages; ++stage) {
        group_->reduces->finish(stage_slot(bucket, stage - 1));
        start_stage(bucket, stage);
      }
    }
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
      CompressedSum& sum = *compressed_[static_cast<std::size_t>(bucket)];
      const auto vectors = sum.vectors();
      group_->reduces->finish(stage_slot(bucket, vectors.size() - 1));
      compute(Work::Kind::decompress, bucket, vectors.front().gathered ? group_->size : 1,
              [&sum](std::span<float> payload) { sum.finish(payload); });
    }
  }

  /// Lets `act` work on the bucket's trained elements, as often as `times` vectors of them need it.
  template <class Act>
  void compute(Work::Kind kind, int bucket, int times, const Act& act) {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    const Slice payload = replica_.payload(payload_, extent.offset, extent.parameters);
    Kernel kernel;
    if (payload.data != nullptr)
      kernel = [act, payload, count = static_cast<std::size_t>(extent.parameters)] {
        act(std::span(reinterpret_cast<float*>(payload.data), count));
      };
    Pending done =
        context_.compute({.kind = kind, .bucket = bucket, .bytes = payload.size * times}, std::move(kernel));
    wait_progressing(done);
  }

  void average_all() {
    begin({.payload = sync::Payload::model});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket, {});
    group_->reduces->finish();
    Pending mean = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                    replica_.adopt_sum(sync::Payload::model, group_->size, {}));
    context_.wait(mean);
  }

  Group& group_of_all() {
    if (!all_)
      all_ =
          std::make_unique<Group>(context_, vectors_among(plan_.group_of_all(), self_), workers_, arrivals_);
    return *all_;
  }

  Group& group_of(const std::vector<int>& members) {
    if (!groups_.contains(members) && groups_.size() == most_groups) groups_.clear();
    auto& group = groups_[members];
    if (!group) {
      std::vector<Rank> ranks;
      for (const int member : members) ranks.push_back(workers_[static_cast<std::size_t>(member)]);
      const auto self = std::ranges::find(members, self_) - members.begin();
      const AllReduceGroup schedules(*plan_.all_reduce(), members);
      group = std::make_unique<Group>(context_, vectors_among(schedules, static_cast<int>(self)),
                                      std::move(ranks), arrivals_);
    }
    return *group;
  }

  Vectors vectors_among(const AllReduceGroup& members, int self) const {
    const auto& buckets = replica_.description().buckets;
    Vectors vectors;
    const auto add = [&](std::size_t bucket, const CompressedSum::Vector& vector) {
      if (vector.gathered)
        vectors.add(members.gather(bucket, self, vector.elements), vector.elements * members.size(),
                    vector.element);
      else
        vectors.add(members.schedule(bucket, self, vector.elements), vector.elements, vector.element);
    };
    constexpr collectives::Element element = collectives::float_element;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
      add(bucket, compressed_.empty() ? CompressedSum::Vector{buckets[bucket].exchanged(), element}
                                      : compressed_[bucket]->vectors().front());
    add(buckets.size() - 1, {1, element});
    if (compressed_.empty()) return vectors;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
      add(bucket, {buckets[bucket].exchanged() - buckets[bucket].parameters, element});
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      const auto stages = compressed_[bucket]->vectors();
      add(bucket, stages.size() > 1 ? stages.back() : CompressedSum::Vector{0, element});
    }
    return vectors;
  }

  /// Each group keeps its schedules, and random groups rarely recur.
  static constexpr std::size_t most_groups = 4;

  const ExchangePlan& plan_;
  const StopRule& stop_;
  Context& context_;
  Replica& replica_;
  std::span<const Rank> workers_;
  int self_;  ///< the index of this worker
  bool reports_progress_;
  bool defers_buckets_;  ///< `finish` leaves them to `await`
  /// Of all groups: one exchange is in progress at a time.
  std::shared_ptr<ArrivalMemory> arrivals_ = std::make_shared<ArrivalMemory>();
  std::unique_ptr<Group> all_;  ///< of all workers
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  Group* group_ = nullptr;
  std::optional<CoordinatorClient> coordinator_;
  std::vector<std::unique_ptr<CompressedSum>> compressed_;  ///< by bucket; empty without compression
  sync::Payload payload_ = sync::Payload::gradient;
  std::optional<double> weight_;  ///< of this worker's payload in the current exchange
  float total_weight_ = 0.0F;     ///< the sum of all members' weights, when it is done
  int version_ = 0;
  std::int64_t samples_ = 0;  ///< of all workers, which take equally many without a coordinator
};

}  // namespace

std::unique_ptr<Exchange> make_all_reduce_exchange(const Roster& roster, const ExchangePlan& plan,
                                                   const StopRule& stop, Context& context, Replica& replica) {
  return std::make_unique<AllReduceExchange>(roster, plan, stop, context, replica);
}

}  // namespace tandem
