#include "workloads/roles/loader.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "policies/sampling/partition.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

/// Every worker holds its shard. With modelled math there is nothing to hold.
class MemoryLoader : public Loader {
 public:
  MemoryLoader(const DataPlan& data, int worker) : dataset_(data.dataset()) {
    if (dataset_ != nullptr) sampler_.emplace(data.sampler(worker));
  }

  void begin_step(int) override {}
  bool has_next() override { return true; }

  Batch next(int samples) override {
    if (dataset_ == nullptr) return {samples, {}};
    sampler_->next(samples, ids_);
    records_.clear();
    for (const SampleId id : ids_) {
      const auto record = dataset_->record(Dataset::Part::train, id);
      records_.insert(records_.end(), record.begin(), record.end());
    }
    return {samples, records_};
  }
  void skip(std::int64_t samples) override {
    if (sampler_) sampler_->skip(samples);
  }
  void close() override {}

 private:
  const Dataset* dataset_;                    ///< null when math is modelled
  std::optional<sampling::ShardVisits> sampler_;  ///< with a data set
  std::vector<SampleId> ids_;
  std::vector<std::byte> records_;
};

/// Batches are requested from a cache node in advance.
class StorageLoader : public Loader {
 public:
  StorageLoader(const Roster& roster, const DataPlan& data, Context& context, int worker,
                std::function<void(Pending&)> wait)
      : context_(context),
        wait_(std::move(wait)),
        sampler_(data.sampler(worker)),
        record_bytes_(data.info().record_bytes()),
        real_(data.dataset() != nullptr),
        ahead_(data.prefetch()) {
    const auto nodes = roster.ranks_of(Roster::Role::cache_node);
    node_ = nodes[static_cast<std::size_t>(worker) % nodes.size()];
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
    return {static_cast<int>(current_.ids.size()), current_.records};
  }

  void skip(std::int64_t samples) override { sampler_.skip(samples); }

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
    std::vector<SampleId> ids;
    std::vector<std::byte> records;
    Pending request;
    Pending batch;
  };

  void request(int samples) {
    Request& order = in_flight_.emplace_back();
    sampler_.next(samples, order.ids);
    const Bytes size = record_bytes_ * samples;
    if (real_) order.records.resize(static_cast<std::size_t>(size.count()));
    order.batch = context_.receive(node_, protocol::batches, {size, real_ ? order.records.data() : nullptr});
    // The ids travel in both maths: the cache decides by them.
    order.request =
        context_.send(node_, protocol::requests,
                      {Bytes(static_cast<std::int64_t>(order.ids.size() * sizeof(SampleId))),
                       reinterpret_cast<std::byte*>(order.ids.data())},
                      protocol::pack(protocol::Request{.samples = samples, .epoch = sampler_.epoch()}));
  }

  Context& context_;
  std::function<void(Pending&)> wait_;
  sampling::ShardVisits sampler_;
  Bytes record_bytes_;
  bool real_;
  std::int64_t ahead_;          ///< batches
  std::int64_t begun_ = 0;      ///< steps
  std::int64_t requested_ = 0;  ///< batches
  Rank node_ = 0;
  std::deque<Request> in_flight_;
  Request current_;
};

}  // namespace

std::unique_ptr<Loader> make_loader(const Roster& roster, const DataPlan& data, Context& context, int worker,
                                    std::function<void(Pending&)> wait) {
  if (data.from_storage())
    return std::make_unique<StorageLoader>(roster, data, context, worker, std::move(wait));
  return std::make_unique<MemoryLoader>(data, worker);
}

}  // namespace tandem
