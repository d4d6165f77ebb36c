#include "workloads/data/cache_engine.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

using cache::Arrived;
using cache::Decisions;
using cache::Fetch;
using cache::Move;
using cache::Serve;
using cache::Where;
using cache::Why;

CacheLedger& CacheLedger::operator+=(const CacheLedger& other) {
  local += other.local;
  substituted += other.substituted;
  peer += other.peer;
  storage += other.storage;
  swapped += other.swapped;
  joined += other.joined;
  repeated += other.repeated;
  distinct += other.distinct;
  for (std::size_t why = 0; why < background.size(); ++why) {
    background[why] += other.background[why];
    background_requests[why] += other.background_requests[why];
  }
  packed += other.packed;
  packages_written += other.packages_written;
  wasted += other.wasted;
  evicted += other.evicted;
  peer_misses += other.peer_misses;
  return *this;
}

CacheEngine::CacheEngine(std::unique_ptr<cache::CachePolicy> policy, std::vector<Bytes> tiers,
                         const cache::Manifest& manifest, int jobs)
    : policy_(std::move(policy)),
      tiers_(std::move(tiers)),
      used_(tiers_.size()),
      manifest_(manifest),
      states_(static_cast<std::size_t>(manifest.samples)),
      jobs_(static_cast<std::size_t>(jobs)) {
  TANDEM_CHECK(!tiers_.empty() && manifest.samples > 0, tiers_.size(), manifest.samples);
}

const Decisions& CacheEngine::want(const cache::Want& want) {
  decisions_.clear();
  active_job_ = want.job;
  policy_->on_want(want, decisions_);
  check_serves(want);
  CacheLedger& ledger = open_ledger(want.job, want.epoch);
  count_delivered(want, ledger);
  count_background(want.job);
  add_demand(ledger);
  for (const Serve& serve : decisions_.serve) state(serve.given).is_awaited = state(serve.given).in_flight;
  move(want.job);
  return decisions_;
}

const Decisions& CacheEngine::arrived(int job, std::span<const Arrived> arrived) {
  decisions_.clear();
  CacheLedger& ledger = open_ledger(job);
  again_.clear();
  for (const Arrived& read : arrived) {
    SampleState& sample = state(read.id);
    TANDEM_CHECK(sample.in_flight, "sample", read.id, "is not being read");
    sample.in_flight = false;
    if (read.outcome != Arrived::Outcome::not_here) {
      sample.is_awaited = false;
      continue;
    }
    count_peer_miss(read, ledger);
    if (sample.is_awaited) again_.push_back(read.id);
  }
  policy_->on_arrived(arrived, decisions_);
  finish(job);
  for (const Arrived& read : arrived)
    if (state(read.id).tier == cache::outside && std::exchange(state(read.id).unused, false))
      ledger.wasted.add(read.size);
  std::erase_if(again_, [this](SampleId id) { return std::exchange(state(id).in_flight, true); });
  if (!again_.empty()) decisions_.read(again_, cache::store(), Why::demand);
  return decisions_;
}

const Decisions& CacheEngine::begin_epoch(const cache::EpochBegins& epoch) {
  decisions_.clear();
  active_job_ = epoch.job;
  jobs_[static_cast<std::size_t>(epoch.job)].epoch = epoch.epoch;
  policy_->on_epoch(epoch, decisions_);
  return finish(epoch.job);
}

const Decisions& CacheEngine::importance(int job, std::span<const float> losses) {
  decisions_.clear();
  active_job_ = job;
  policy_->on_importance(job, losses, decisions_);
  return finish(job);
}

const Decisions& CacheEngine::change_job(const cache::JobChange& change) {
  decisions_.clear();
  policy_->on_job(change, decisions_);
  return finish(active_job_);
}

const Decisions& CacheEngine::change_peer(const cache::PeerChange& change) {
  decisions_.clear();
  policy_->on_peer(change, decisions_);
  return finish(active_job_);
}

const Decisions& CacheEngine::directory(std::span<const cache::Holder> holders) {
  decisions_.clear();
  policy_->on_directory(holders, decisions_);
  return finish(active_job_);
}

const Decisions& CacheEngine::idle(Bytes room) {
  decisions_.clear();
  policy_->on_idle(room, decisions_);
  return finish(active_job_);
}

/// After an event that delivers nothing.
const Decisions& CacheEngine::finish(int job) {
  TANDEM_CHECK(decisions_.serve.empty(), "only a want is served");
  count_background(job);
  move(job);
  return decisions_;
}

const CacheLedger& CacheEngine::ledger(int job, std::int64_t epoch) const {
  static const CacheLedger empty;
  const auto& epochs = jobs_[static_cast<std::size_t>(job)].epochs;
  return epoch < std::ssize(epochs) ? epochs[static_cast<std::size_t>(epoch)] : empty;
}

CacheLedger CacheEngine::total() const {
  CacheLedger sum;
  for (const auto& job : jobs_)
    for (const auto& epoch : job.epochs) sum += epoch;
  return sum;
}

CacheLedger& CacheEngine::open_ledger(int job, std::int64_t epoch) {
  auto& state = jobs_[static_cast<std::size_t>(job)];
  state.epoch = epoch;
  if (epoch >= std::ssize(state.epochs)) state.epochs.resize(static_cast<std::size_t>(epoch) + 1);
  return state.epochs[static_cast<std::size_t>(epoch)];
}

/// The ledger of the job's present epoch.
CacheLedger& CacheEngine::open_ledger(int job) {
  return open_ledger(job, jobs_[static_cast<std::size_t>(job)].epoch);
}

/// A sample that a peer did not deliver comes from the store.
void CacheEngine::count_peer_miss(const Arrived& read, CacheLedger& ledger) {
  ++ledger.peer_misses;
  if (read.why != Why::demand) return;
  --ledger.peer.samples;
  ledger.peer.bytes -= read.size.count();
  ledger.storage.add(read.size);
}

void CacheEngine::check_serves(const cache::Want& want) const {
  TANDEM_CHECK(decisions_.serve.size() == want.now.size(), "served", decisions_.serve.size(), "wanted",
               want.now.size());
  for (std::size_t i = 0; i < want.now.size(); ++i) {
    const Serve& serve = decisions_.serve[i];
    TANDEM_CHECK(serve.asked == want.now[i].id, "served", serve.asked, "wanted", want.now[i].id);
    if (serve.from.where != Where::tier || state(serve.given).tier == serve.from.number) continue;
    // A sample may be served again that this batch keeps.
    const bool kept_now = std::ranges::any_of(decisions_.move, [&](const Move& move) {
      return move.id == serve.given && move.to == serve.from.number;
    });
    TANDEM_CHECK(kept_now, "sample", serve.given, "is not in tier", serve.from.number);
  }
}

void CacheEngine::count_delivered(const cache::Want& want, CacheLedger& ledger) {
  auto& delivered_in = jobs_[static_cast<std::size_t>(want.job)].delivered_in;
  if (delivered_in.empty()) delivered_in.resize(states_.size());
  const auto now = static_cast<std::uint32_t>(want.epoch + 1);
  for (std::size_t i = 0; i < want.now.size(); ++i) {
    const Serve& serve = decisions_.serve[i];
    const Bytes size = serve.given == serve.asked ? want.now[i].size : manifest_.size_of(serve.given);
    const bool substituted = serve.given != serve.asked && !serve.swapped;
    if (substituted)
      ledger.substituted.add(size);
    else if (serve.from.where == Where::tier)
      ledger.local.add(size);
    else
      (serve.from.where == Where::peer ? ledger.peer : ledger.storage).add(size);
    ledger.swapped += serve.swapped ? 1 : 0;
    state(serve.given).unused = false;
    std::uint32_t& last = delivered_in[static_cast<std::size_t>(serve.given)];
    ++(last == now ? ledger.repeated : ledger.distinct);
    last = now;
  }
}

/// One read for all samples of a place, in the order of their delivery.
void CacheEngine::add_demand(CacheLedger& ledger) {
  std::vector<cache::Place>& places = demand_places_;
  places.clear();
  for (const Serve& serve : decisions_.serve)
    if (serve.from.where != Where::tier && std::ranges::find(places, serve.from) == places.end())
      places.push_back(serve.from);
  for (const cache::Place& place : places) {
    const auto first = static_cast<std::uint32_t>(decisions_.ids.size());
    for (const Serve& serve : decisions_.serve) {
      if (serve.from != place) continue;
      SampleState& sample = state(serve.given);
      if (std::exchange(sample.in_flight, true)) {
        ++ledger.joined;
      } else {
        decisions_.ids.push_back(serve.given);
        sample.is_kept = sample.tier != cache::outside;
      }
    }
    const auto count = static_cast<std::uint32_t>(decisions_.ids.size()) - first;
    if (count > 0) decisions_.fetch.push_back({first, count, place, Why::demand});
  }
}

/// Counts reads in the background and packages. Samples that are here or in flight are left out, but a
/// package is read as a whole.
void CacheEngine::count_background(int job) {
  auto& reads = decisions_.fetch;
  auto& ids = decisions_.ids;
  CacheLedger& ledger = open_ledger(job);
  for (Fetch& read : reads) {
    SampleCount bytes;
    const auto claim = [&](SampleId id) {
      const bool is_new = !state(id).in_flight && state(id).tier == cache::outside;
      if (is_new || read.why == Why::package) bytes.add(manifest_.size_of(id));
      if (is_new) state(id).in_flight = state(id).unused = true;
      return is_new;
    };
    const auto samples = std::span(ids).subspan(read.first, read.count);
    const auto others = std::ranges::stable_partition(samples, claim);
    read.others = read.why == Why::package ? static_cast<std::uint32_t>(others.size()) : 0;
    read.count -= static_cast<std::uint32_t>(others.size());
    if (bytes.samples == 0) continue;
    ledger.background[static_cast<std::size_t>(read.why)] += bytes;
    ++ledger.background_requests[static_cast<std::size_t>(read.why)];
  }
  std::erase_if(reads, [](const Fetch& read) { return read.count == 0; });
  for (const cache::Pack& package : decisions_.pack) {
    ++ledger.packages_written;
    for (const SampleId id : decisions_.ids_of(package)) ledger.packed.add(manifest_.size_of(id));
  }
}

void CacheEngine::move(int job) {
  CacheLedger& ledger = open_ledger(job);
  for (const auto& [id, size, from, to] : decisions_.move) {
    SampleState& sample = state(id);
    TANDEM_CHECK(sample.tier == from && from != to, "sample", id, "is in tier", int{sample.tier},
                 "moved from", from, "to", to);
    sample.tier = static_cast<std::int8_t>(to);
    sample.is_kept = false;
    if (from != cache::outside)
      used_[static_cast<std::size_t>(from)] = used_[static_cast<std::size_t>(from)] - size;
    if (to == cache::outside) {
      ++ledger.evicted;
      if (std::exchange(sample.unused, false)) ledger.wasted.add(size);
      continue;
    }
    used_[static_cast<std::size_t>(to)] += size;
  }
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
    TANDEM_CHECK(used_[tier] <= tiers_[tier], "tier", tier, "used", used_[tier].count(), "capacity",
                 tiers_[tier].count());
}

}  // namespace tandem
