#include "policies/sampling/partition.hpp"

#include <algorithm>

#include "policies/sampling/dirichlet.hpp"
#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

/// Contiguous chunks of equal sizes.
Shards cut(const std::vector<SampleId>& ids, const Setting& setting) {
  Shards shards;
  auto begin = ids.begin();
  for (const std::int64_t size : equal_sizes(setting)) {
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    shards.emplace_back(begin, end);
    begin = end;
  }
  return shards;
}

Shards iid(const Setting& setting) {
  std::vector<SampleId> ids = ids_below(setting.samples);
  Rng::stream(setting.seed, "split").shuffle(ids);
  return cut(ids, setting);
}

Shards by_class(const Setting& setting) {
  expect_labels("by-class", setting);
  std::vector<SampleId> ids = ids_below(setting.samples);
  const auto label_of = [&](SampleId id) { return setting.labels[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](SampleId a, SampleId b) { return label_of(a) < label_of(b); });
  return cut(ids, setting);
}

Shards replicated(const Setting& setting) {
  TANDEM_CHECK(setting.workers > 0, "workers", setting.workers);
  return Shards(static_cast<std::size_t>(setting.workers), ids_below(setting.samples));
}

std::vector<std::int64_t> sizes_of_replicas(const Setting& setting) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(setting.workers), setting.samples);
}

}  // namespace

std::vector<std::int64_t> equal_sizes(const Setting& setting) {
  TANDEM_CHECK(setting.workers > 0, "workers", setting.workers);
  std::vector<std::int64_t> sizes;
  for (int worker = 0; worker < setting.workers; ++worker)
    sizes.push_back(setting.samples / setting.workers + (worker < setting.samples % setting.workers ? 1 : 0));
  return sizes;
}

void expect_labels(const std::string& split, const Setting& setting) {
  if (setting.labels.size() != static_cast<std::size_t>(setting.samples))
    throw ConfigError("split '" + split + "': expected a label for each of the " +
                      std::to_string(setting.samples) + " samples, found " +
                      std::to_string(setting.labels.size()));
}

const Catalog<Split>& splits() {
  static const Catalog<Split> table(
      "split",
      {{"iid",
        "each worker gets a random part, so all have the same distribution of classes",
        "",
        {},
        {.deal = iid}},
       {"by-class",
        "samples are sorted by class and cut into chunks, so workers have different classes",
        "Li, Zhou, Yu, Xu: ESync: An Efficient Synchronous Parallel Algorithm for Distributed ML in "
        "Heterogeneous Clusters. 2019",
        {},
        {.deal = by_class, .needs_labels = true}},
       {"dirichlet",
        "each worker has its own random mixture of classes, more uneven for smaller alpha; shards can have "
        "unequal sizes",
        "Hsu, Qi, Brown, arXiv:1909.06335",
        dirichlet_options(),
        {.deal = dirichlet, .needs_labels = true, .sizes = dirichlet_sizes}},
       {"replicated",
        "every worker has all samples, in an order of its own",
        "",
        {},
        {.deal = replicated, .replicates = true, .sizes = sizes_of_replicas}}});
  return table;
}

ShardVisits::ShardVisits(std::vector<SampleId> shard, std::uint64_t seed, int worker)
    : shard_(std::move(shard)), seed_(seed), worker_(worker) {
  TANDEM_CHECK(!shard_.empty(), "worker", worker);
  reshuffle();
}

ShardVisits::ShardVisits(std::vector<SampleId> shard, std::uint64_t seed, int worker, Rest first)
    : shard_(std::move(shard)),
      first_(std::move(first)),
      seed_(seed),
      worker_(worker),
      epoch_(first_->epoch) {
  TANDEM_CHECK(!shard_.empty(), "worker", worker);
  reshuffle();
}

void ShardVisits::next(int count, std::vector<SampleId>& batch, std::vector<std::int32_t>* epochs) {
  batch.clear();
  if (epochs != nullptr) epochs->clear();
  for (int taken = 0; taken < count; ++taken) {
    while (position_ == order_.size()) {
      ++epoch_;
      reshuffle();
    }
    batch.push_back(order_[position_++]);
    if (epochs != nullptr) epochs->push_back(epoch_);
  }
}

void ShardVisits::skip(std::int64_t count) {
  // From the begin of the epoch in progress.
  std::int64_t taken = static_cast<std::int64_t>(position_) + count;
  int epoch = epoch_;
  // An epoch begins when its first id is taken, not when the last epoch has no id left.
  if (const std::int64_t size = std::ssize(order_); taken > size) {
    taken -= size;
    const std::int64_t whole = (taken - 1) / std::ssize(shard_);
    epoch += static_cast<int>(1 + whole);
    taken -= whole * std::ssize(shard_);
  }
  if (epoch != epoch_) {
    epoch_ = epoch;
    reshuffle();
  }
  position_ = static_cast<std::size_t>(taken);
}

Rest ShardVisits::rest() const {
  return {{order_.begin() + static_cast<std::ptrdiff_t>(position_), order_.end()}, epoch_};
}

void ShardVisits::reshuffle() {
  // The order depends on seed, worker and epoch only, not on how earlier epochs were visited.
  const auto index = (static_cast<std::uint64_t>(worker_) << 32) | static_cast<std::uint32_t>(epoch_);
  order_ = ids_of(epoch_);
  Rng::stream(seed_, "visit order", index).shuffle(order_);
  position_ = 0;
}

}  // namespace tandem::sampling
