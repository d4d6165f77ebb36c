#include "workloads/roles/loader.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache_clients.hpp"

namespace tandem {
namespace {

/// Every worker holds its samples.
class MemoryLoader : public Loader {
 public:
  MemoryLoader(const DataPlan& data, SampleVisits& visits)
      : dataset_(data.dataset()), visits_(visits), has_lists_(data.has_lists()) {}

  void begin_step(int) override {}
  bool has_next() override { return true; }

  Batch next(int samples) override {
    // With modelled math there is nothing to hold, and the shard is not needed either.
    if (dataset_ == nullptr && !has_lists_) return {samples, {}};
    visits_.next(samples, batch_);
    records_.clear();
    if (dataset_ != nullptr)
      for (const SampleId id : batch_.ids) {
        const auto record = dataset_->record(Dataset::Part::train, id);
        records_.insert(records_.end(), record.begin(), record.end());
      }
    return {static_cast<int>(batch_.ids.size()),
            records_,
            batch_.weights,
            batch_.ids,
            visits_.epoch(),
            batch_.epochs};
  }
  void close() override {}

 private:
  const Dataset* dataset_;  ///< null when math is modelled
  SampleVisits& visits_;
  bool has_lists_;
  SampleVisits::Batch batch_;
  std::vector<std::byte> records_;
};

/// Batches are requested from a cache node in advance.
class StorageLoader : public Loader {
 public:
  StorageLoader(const Roster& roster, const DataPlan& data, Context& context, SampleVisits& visits,
                int worker, const GivenSamples& given, std::function<void(Pending&)> wait)
      : context_(context),
        wait_(std::move(wait)),
        visits_(visits),
        manifest_(data.manifest()),
        given_(given),
        real_(data.dataset() != nullptr),
        ahead_(data.prefetch()) {
    const auto nodes = roster.ranks_of(Roster::Role::cache_node);
    node_ = nodes[cache_node_of(roster, static_cast<std::size_t>(worker))];
  }

  void begin_step(int samples) override {
    for (++begun_; requested_ < begun_ + ahead_; ++requested_) request(samples);
  }
  bool has_next() override { return !in_flight_.empty() && context_.is_done(in_flight_.front().batch); }

  Batch next(int) override {
    TANDEM_CHECK(!in_flight_.empty(), "steps", begun_, "ahead", ahead_);
    current_ = std::move(in_flight_.front());
    in_flight_.pop_front();
    wait_(current_.request);
    wait_(current_.batch);
    const std::size_t samples = current_.samples.ids.size();
    std::span<const std::byte> stored = current_.records;
    list_.clear();
    if (real_ && given_.is_sent()) {
      const auto numbers = stored.last(samples * sizeof(SampleId));
      stored = stored.first(stored.size() - numbers.size());
      for (std::size_t i = 0; i < samples; ++i) list_.push_back(GivenSamples::get(numbers, i));
    }
    return {static_cast<int>(samples), stored, {}, current_.samples.ids, current_.epoch,
            current_.samples.epochs,   list_};
  }

  void close() override {
    for (auto& each : in_flight_) {
      context_.wait(each.request);
      context_.wait(each.batch);
    }
    in_flight_.clear();
    Pending end = context_.send(node_, protocol::requests, {}, protocol::pack(protocol::End{}));
    context_.wait(end);
  }

 private:
  struct Request {
    SampleVisits::Batch samples;
    std::int64_t epoch = 0;
    std::vector<std::byte> records;
    Pending request;
    Pending batch;
  };

  void request(int samples) {
    Request& order = in_flight_.emplace_back();
    visits_.next(samples, order.samples);
    order.epoch = visits_.epoch();
    const auto count = std::ssize(order.samples.ids);
    Bytes size = given_.size(order.samples.ids.size());
    for (const SampleId id : order.samples.ids) size += manifest_.size_of(id);
    if (real_) order.records.resize(static_cast<std::size_t>(size.count()));
    order.batch = context_.receive(node_, protocol::batches, {size, real_ ? order.records.data() : nullptr});
    // The ids travel in both maths: the cache decides by them.
    order.request = context_.send(
        node_, protocol::requests,
        {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
         reinterpret_cast<std::byte*>(order.samples.ids.data())},
        protocol::pack(protocol::Request{.samples = static_cast<std::int32_t>(count), .epoch = order.epoch}));
  }

  Context& context_;
  std::function<void(Pending&)> wait_;
  SampleVisits& visits_;
  const cache::Manifest& manifest_;
  GivenSamples given_;
  bool real_;
  std::int64_t ahead_;          ///< batches
  std::int64_t begun_ = 0;      ///< steps
  std::int64_t requested_ = 0;  ///< batches
  Rank node_ = 0;
  std::deque<Request> in_flight_;
  Request current_;
  std::vector<SampleId> list_;  ///< what the current batch has
};

}  // namespace

std::unique_ptr<Loader> make_loader(const Roster& roster, const DataPlan& data, Context& context,
                                    SampleVisits& visits, int worker, const GivenSamples& given,
                                    std::function<void(Pending&)> wait) {
  if (data.from_storage())
    return std::make_unique<StorageLoader>(roster, data, context, visits, worker, given, std::move(wait));
  return std::make_unique<MemoryLoader>(data, visits);
}

}  // namespace tandem
