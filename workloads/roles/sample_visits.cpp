#include "workloads/roles/sample_visits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

constexpr float not_visited = std::numeric_limits<float>::quiet_NaN();

/// A message of `size` bytes, which has contents where mathematics is real.
struct Block {
  Block(std::size_t size_, bool is_real) : size(size_), bytes(is_real ? size : 0) {}
  Slice slice() { return {Bytes(static_cast<std::int64_t>(size)), bytes.empty() ? nullptr : bytes.data()}; }
  std::size_t size;
  std::vector<std::byte> bytes;
};

template <class Value>
void copy_to(std::span<const Value> values, std::span<std::byte> bytes) {
  std::ranges::copy(std::as_bytes(values), bytes.begin());
}
template <class Value>
Value value_at(std::span<const std::byte> bytes, std::size_t index) {
  Value value;
  std::memcpy(&value, bytes.data() + index * sizeof(Value), sizeof(Value));
  return value;
}

/// In two parts, which are exact as floats. Pre: as many ids as were saved.
void serialise_ids(StateArchive& state, const std::string& name, std::vector<SampleId>& ids) {
  constexpr SampleId base = 1 << 20;
  std::vector<float> low(ids.size()), high(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    low[i] = static_cast<float>(ids[i] % base);
    high[i] = static_cast<float>(ids[i] / base);
  }
  state.floats(name + "_low", low);
  state.floats(name + "_high", high);
  if (!state.restores()) return;
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<SampleId>(low[i]) + base * static_cast<SampleId>(high[i]);
}

}  // namespace

SampleVisits::SampleVisits(const Roster& roster, const DataPlan& data, Context& context, int worker,
                           std::function<void(Pending&)> wait)
    : roster_(roster),
      data_(data),
      context_(context),
      worker_(worker),
      workers_(data.workers()),
      wait_(std::move(wait)),
      notes_given_(data.from_storage() && data.cache_factory().needs.ahead) {
  if (data.has_lists()) first_ = data.deals().first_list();
  if (data.needs_losses() && !data.lists().model_losses())
    table_.assign(static_cast<std::size_t>(data.info().train_samples), not_visited);
}

void SampleVisits::know_residents(std::optional<ResidentLists> lists, std::function<ResidentSet()> own) {
  resident_lists_ = std::move(lists);
  own_residents_ = std::move(own);
  if (resident_lists_) residents_ = ResidentSet(resident_lists_->samples());
}

void SampleVisits::next(int count, Batch& batch) {
  batch.ids.clear();
  batch.weights.clear();
  if (!data_.has_lists()) return next_of_shard(count, batch);
  begin_deals();
  if (!list_) begin_epoch(first_.epoch);
  if (taken_ == part()) {
    if (data_.needs_losses()) exchange_losses();
    before_epoch_ += static_cast<std::int64_t>(part());
    begin_epoch(epoch_ + 1);
  }
  last_ = taken_;
  const std::size_t end =
      std::min(part(), taken_ + static_cast<std::size_t>(deals_.until_next(total_, count)));
  total_ += static_cast<std::int64_t>(end - last_);
  batch.epochs.assign(end - last_, static_cast<std::int32_t>(epoch_));
  for (; taken_ < end; ++taken_) {
    batch.ids.push_back(list_->ids[place(taken_)]);
    if (!list_->weights.empty()) batch.weights.push_back(list_->weights[place(taken_)]);
  }
}

void SampleVisits::next_of_shard(int count, Batch& batch) {
  begin_deals();
  if (!shard_) shard_.emplace(data_.deals().visits(worker_));
  const auto now = static_cast<int>(deals_.until_next(total_, count));
  shard_->next(now, batch.ids, &batch.epochs);
  total_ += now;
  if (now == count) return;
  Batch others;
  next_of_shard(count - now, others);
  batch.ids.insert(batch.ids.end(), others.ids.begin(), others.ids.end());
  batch.epochs.insert(batch.epochs.end(), others.epochs.begin(), others.epochs.end());
}

void SampleVisits::follow(const sampling::MemberDeals& deals, int slot) {
  if (data_.knows_samples()) deals_.follow(deals, slot);
}

void SampleVisits::join(const sampling::MemberDeals& deals, int slot, std::int64_t samples) {
  total_ = samples;
  follow(deals, slot);
}

/// Those that the next sample belongs to.
void SampleVisits::begin_deals() {
  while (const auto part = deals_.take(total_)) {
    worker_ = part->place;
    workers_ = part->places;
    const std::int64_t taken = total_ - part->begin;
    if (!data_.has_lists()) {
      shard_.emplace(data_.deals().visits(*part));
      shard_->skip(taken);
      continue;
    }
    first_ = part->before.empty() ? data_.deals().first_list() : data_.deals().rest_list(*part);
    skip_in_lists(taken);
    before_epoch_ += part->begin;
  }
}

void SampleVisits::note_losses(std::span<const SampleId> ids, std::span<const float> losses) {
  if (!list_) return;
  const std::size_t begin = noted_;
  noted_ += ids.size();
  if (own_losses_.empty()) return;
  TANDEM_CHECK(losses.size() == ids.size() && noted_ <= taken_, losses.size(), ids.size(), noted_, taken_);
  std::ranges::copy(losses, own_losses_.begin() + static_cast<std::ptrdiff_t>(begin));
  if (!own_ids_.empty()) std::ranges::copy(ids, own_ids_.begin() + static_cast<std::ptrdiff_t>(begin));
}

void SampleVisits::replace(Batch& batch, std::span<const SampleId> ids) {
  batch.ids.assign(ids.begin(), ids.end());
  for (std::size_t i = 0; i < batch.weights.size(); ++i)
    batch.weights[i] = weight_of_[static_cast<std::size_t>(ids[i])];
  if (notes_given_ && !batch.epochs.empty()) note_given(batch.epochs.front(), ids);
}

/// The batches that are requested in advance may be of as many later epochs.
void SampleVisits::note_given(std::int64_t epoch, std::span<const SampleId> ids) {
  if (given_.empty() || given_.back().epoch != epoch) given_.push_back({epoch});
  given_.back().ids.insert(given_.back().ids.end(), ids.begin(), ids.end());
  if (std::ssize(given_) > data_.prefetch() + 2) given_.pop_front();
}

std::span<const SampleId> SampleVisits::given_before(std::int64_t epoch, std::int64_t position) {
  std::erase_if(given_, [epoch](const Given& given) { return given.epoch != epoch; });
  if (given_.empty()) given_.push_back({epoch});
  auto& ids = given_.front().ids;
  TANDEM_CHECK(std::ssize(ids) >= position, "epoch", epoch, "position", position, "known", ids.size());
  ids.resize(static_cast<std::size_t>(position));
  return ids;
}

void SampleVisits::serialise_given(StateArchive& state) {
  auto epochs = static_cast<std::int64_t>(given_.size());
  state.number("given.epochs", epochs);
  given_.resize(static_cast<std::size_t>(epochs));
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const std::string name = "given." + std::to_string(i);
    auto& [epoch, ids] = given_[i];
    auto count = static_cast<std::int64_t>(ids.size());
    state.number(name + ".epoch", epoch);
    state.number(name + ".count", count);
    ids.resize(static_cast<std::size_t>(count));
    serialise_ids(state, name, ids);
  }
}

std::int64_t SampleVisits::epoch() const {
  if (data_.has_lists()) return epoch_;
  return shard_ ? shard_->epoch() : 0;
}

bool SampleVisits::has_trained(double epochs, std::int64_t samples) const {
  if (!data_.has_lists() || !list_) return false;
  // The next batch may have been loaded ahead, and be of the next epoch.
  const auto of_epoch = static_cast<double>(samples - before_epoch_);
  const double share = epoch_ == first_.epoch ? first_.share : 1.0;
  return static_cast<double>(epoch_) + (1.0 - share) + share * of_epoch / static_cast<double>(part()) >=
         epochs;
}

void SampleVisits::begin_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  list_ = resident_lists_ && epoch > 0 ? resident_lists_->list(epoch, table_, residents_)
                                       : data_.lists().of(epoch, table_, first_);
  taken_ = last_ = noted_ = 0;
  if (part() == 0)
    throw ConfigError("epoch " + std::to_string(epoch) + " has fewer samples (" +
                      std::to_string(list_->ids.size()) + ") than workers (" + std::to_string(workers_) +
                      ")");
  if (!table_.empty()) own_losses_.assign(part(), not_visited);
  if (!data_.may_replace()) return;
  if (!table_.empty()) own_ids_.assign(part(), 0);
  weight_of_.assign(list_->weights.empty() ? 0 : static_cast<std::size_t>(data_.info().train_samples), 1.0F);
  for (std::size_t i = 0; i < list_->weights.size(); ++i)
    weight_of_[static_cast<std::size_t>(list_->ids[i])] = list_->weights[i];
}

/// The first worker collects the losses of all parts and sends all of them to each worker: with their
/// samples, where these may differ from those of the list, and with the content of caches, where lists
/// depend on it. Modelled mathematics sends messages of the same sizes, and the content of caches.
void SampleVisits::exchange_losses() {
  const std::size_t each = sizeof(float) + (data_.may_replace() ? sizeof(SampleId) : 0);
  const bool real = !table_.empty(), has_contents = real || resident_lists_;
  Block own(part() * each + residents_.bytes().size(), has_contents);
  Block all(own.size * static_cast<std::size_t>(data_.workers()), has_contents);
  if (real) put_own_losses(own.bytes);
  if (resident_lists_) {
    const ResidentSet held = own_residents_();
    std::ranges::copy(held.bytes(), own.bytes.begin() + static_cast<std::ptrdiff_t>(part() * each));
  }
  const Rank first = roster_.first_worker();
  if (worker_ == 0) {
    if (has_contents) std::ranges::copy(own.bytes, all.bytes.begin());
    collect(all.slice());
    std::vector<Pending> sends;
    for (const Rank other : roster_.workers())
      if (other != first) sends.push_back(protocol::send<"loss-tables">(context_, other, all.slice()));
    for (Pending& send : sends) wait_(send);
  } else {
    Pending sent = protocol::send<"losses">(context_, first, own.slice());
    Pending received = protocol::receive<"loss-tables">(context_, first, all.slice());
    wait_(sent);
    wait_(received);
  }
  if (real) keep_losses(all.bytes);
  if (resident_lists_) keep_residents(all.bytes);
}

/// At the end of each part.
void SampleVisits::keep_residents(std::span<const std::byte> all) {
  const std::size_t part = all.size() / static_cast<std::size_t>(workers_), size = residents_.bytes().size();
  residents_ = ResidentSet(resident_lists_->samples());
  for (std::size_t end = part; end <= all.size(); end += part) residents_.add(all.subspan(end - size, size));
}

/// The parts of the other workers. `all`: the parts, one after the other.
void SampleVisits::collect(Slice all) {
  const auto workers = roster_.workers();
  const Bytes part = all.size / static_cast<std::int64_t>(workers.size());
  std::vector<Pending> arriving;
  for (std::size_t worker = 1; worker < workers.size(); ++worker) {
    std::byte* into =
        all.data == nullptr ? nullptr : all.data + worker * static_cast<std::size_t>(part.count());
    arriving.push_back(protocol::receive<"losses">(context_, workers[worker], {part, into}));
  }
  for (Pending& one : arriving) wait_(one);
}

/// The losses, then the samples where these may be others than those of the list.
void SampleVisits::put_own_losses(std::span<std::byte> block) const {
  copy_to(std::span<const float>(own_losses_), block);
  if (!own_ids_.empty()) copy_to(std::span<const SampleId>(own_ids_), block.subspan(part() * sizeof(float)));
}

/// Losses that the next list may use become part of the table. `all`: the parts, one after the other.
void SampleVisits::keep_losses(std::span<const std::byte> all) {
  auto& newest = too_new_.emplace_back(table_.size(), not_visited);
  const auto workers = static_cast<std::size_t>(workers_);
  const std::size_t size = all.size() / workers;
  for (std::size_t i = 0; i < part(); ++i)
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const auto block = all.subspan(worker * size, size);
      const SampleId id = own_ids_.empty() ? list_->ids[worker + i * workers]
                                           : value_at<SampleId>(block.subspan(part() * sizeof(float)), i);
      newest[static_cast<std::size_t>(id)] = value_at<float>(block, i);
    }
  if (std::ssize(too_new_) <= data_.lists().loss_lag()) return;
  const auto& oldest = too_new_.front();
  for (std::size_t id = 0; id < oldest.size(); ++id)
    if (!std::isnan(oldest[id])) table_[id] = oldest[id];
  too_new_.pop_front();
}

void SampleVisits::skip(std::int64_t samples) {
  total_ += samples;
  if (data_.has_lists()) return skip_in_lists(samples);
  if (!shard_) shard_.emplace(data_.deals().visits(worker_));
  shard_->skip(samples);
}

/// From the begin of the first list.
void SampleVisits::skip_in_lists(std::int64_t samples) {
  const std::int64_t first = first_.epoch;
  before_epoch_ = 0;
  begin_epoch(first);
  const auto of_first = static_cast<std::int64_t>(part());
  // An epoch begins when its first sample is taken.
  if (samples > of_first) {
    // All lists have the same length if they need no losses, except the rest of the first one.
    begin_epoch(first + 1);
    const auto each = static_cast<std::int64_t>(part());
    const std::int64_t epochs = (samples - of_first - 1) / each;
    if (epochs > 0) begin_epoch(first + 1 + epochs);
    before_epoch_ = of_first + epochs * each;
  }
  taken_ = last_ = noted_ = static_cast<std::size_t>(samples - before_epoch_);
}

/// Losses of earlier epochs.
void SampleVisits::serialise_losses(StateArchive& state) {
  state.floats("losses", table_);
  const auto epochs = static_cast<std::size_t>(std::min<std::int64_t>(epoch_, data_.lists().loss_lag()));
  if (state.restores()) too_new_.assign(epochs, std::vector<float>(table_.size()));
  TANDEM_CHECK(too_new_.size() == epochs, too_new_.size(), epochs);
  for (std::size_t i = 0; i < epochs; ++i)
    state.floats("losses_" + std::to_string(i) + "_too_new", too_new_[i]);
}

void SampleVisits::serialise(StateArchive& state) {
  if (notes_given_) serialise_given(state);
  if (!data_.needs_losses()) return;
  // Batches that were requested in advance are requested again.
  auto taken = static_cast<std::int64_t>(noted_);
  state.number("epoch", epoch_);
  state.number("epoch_samples", taken);
  state.number("samples_before_epoch", before_epoch_);
  if (!table_.empty()) serialise_losses(state);
  if (state.restores()) begin_epoch(epoch_);
  if (state.restores()) taken_ = last_ = noted_ = static_cast<std::size_t>(taken);
  if (!own_losses_.empty()) state.floats("losses_of_epoch", own_losses_);
  if (!own_ids_.empty()) serialise_ids(state, "samples_of_epoch", own_ids_);
}

}  // namespace tandem
