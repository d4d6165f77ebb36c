#include "workloads/roles/loader.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "policies/sampling/partition.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

/// Every worker holds its shard.
class MemoryLoader : public Loader {
 public:
  MemoryLoader(const Job& job, int worker)
      : dataset_(job.dataset()), sampler_(job.shard(worker), job.experiment().seed, worker) {}

  void begin_step(int) override {}
  bool has_next() override { return true; }

  Batch next(int samples) override {
    if (dataset_ == nullptr) return {samples, {}};
    sampler_.next(samples, ids_);
    records_.clear();
    for (const SampleId id : ids_) {
      const auto record = dataset_->record(Dataset::Part::train, id);
      records_.insert(records_.end(), record.begin(), record.end());
    }
    return {samples, records_};
  }
  void skip(std::int64_t samples) override { sampler_.skip(samples); }
  void close() override {}

 private:
  const Dataset* dataset_;
  sampling::Sampler sampler_;
  std::vector<SampleId> ids_;
  std::vector<std::byte> records_;
};

/// Batches are asked of a cache node ahead of their use.
class StorageLoader : public Loader {
 public:
  StorageLoader(const Job& job, Context& context, int worker, std::function<void(Pending&)> wait)
      : context_(context),
        wait_(std::move(wait)),
        sampler_(job.shard(worker), job.experiment().seed, worker),
        record_bytes_(job.dataset_info().record_bytes()),
        real_(job.real_math()),
        ahead_(job.experiment().data.prefetch) {
    const auto nodes = job.ranks_of(RankAssignment::Role::cache_node);
    node_ = nodes[static_cast<std::size_t>(worker) % nodes.size()];
  }

  void begin_step(int samples) override {
    for (++begun_; asked_for_ < begun_ + ahead_; ++asked_for_) ask(samples);
  }
  bool has_next() override { return !asked_.empty() && context_.is_done(asked_.front().batch); }

  Batch next(int) override {
    TANDEM_CHECK(!asked_.empty(), "steps", begun_, "ahead", ahead_);
    current_ = std::move(asked_.front());
    asked_.pop_front();
    wait_(current_.request);
    wait_(current_.batch);
    return {static_cast<int>(current_.ids.size()), current_.records};
  }

  void skip(std::int64_t samples) override { sampler_.skip(samples); }

  void close() override {
    for (auto& order : asked_) {
      context_.wait(order.request);
      context_.wait(order.batch);
    }
    asked_.clear();
    Pending end = context_.send(node_, protocol::requests, {}, protocol::pack(protocol::End{}));
    context_.wait(end);
  }

 private:
  struct Order {
    std::vector<SampleId> ids;
    std::vector<std::byte> records;
    Pending request;
    Pending batch;
  };

  void ask(int samples) {
    Order& order = asked_.emplace_back();
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
  sampling::Sampler sampler_;
  Bytes record_bytes_;
  bool real_;
  std::int64_t ahead_;          ///< batches
  std::int64_t begun_ = 0;      ///< steps
  std::int64_t asked_for_ = 0;  ///< batches
  Rank node_ = 0;
  std::deque<Order> asked_;  ///< and not taken
  Order current_;
};

}  // namespace

std::unique_ptr<Loader> make_loader(const Job& job, Context& context, int worker,
                                    std::function<void(Pending&)> wait) {
  if (job.experiment().data.source == DataSource::storage)
    return std::make_unique<StorageLoader>(job, context, worker, std::move(wait));
  return std::make_unique<MemoryLoader>(job, worker);
}

}  // namespace tandem
