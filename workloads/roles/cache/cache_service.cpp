#include "workloads/roles/cache/cache_service.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/records/cache_rows.hpp"

namespace tandem {

CacheService::CacheService(const Setting& setting, NodeJobs& jobs, CacheEngine engine)
    : setting_(setting),
      jobs_(jobs),
      engine_(std::move(engine)),
      batches_(setting.batches),
      reads_(setting.reads),
      keeper_(setting.tiers, engine_) {
  if (setting.batches.has_directory)
    directory_.emplace(static_cast<int>(setting.reads.places.node), jobs.own(), engine_);
}

// ---- Events of the policy besides requests ----

CacheActions CacheService::begin_tier(std::vector<TierEntry>& left, std::int64_t spoiled) {
  CacheActions actions;
  const auto node = static_cast<int>(setting_.reads.places.node);
  std::vector<cache::Holder> holders;
  for (const TierEntry& entry : left) holders.push_back({entry.id, node});
  if (!holders.empty()) engine_.directory(holders);
  left = keeper_.begin(std::move(left), spoiled, actions);
  return actions;
}

void CacheService::note_request(NodeJob& job, std::int64_t epoch) {
  job.note_request(epoch);
  keeper_.record_left(job);
}

CacheActions CacheService::change_jobs(const NodeJobs::Changes& changes) {
  CacheActions actions;
  for (const auto& [job, change, epoch] : changes) apply(engine_.change_job(change), *job, epoch, actions);
  return actions;
}

CacheActions CacheService::change_peer(const cache::PeerChange& change) {
  CacheActions actions;
  NodeJob& job = jobs_.active();
  apply(engine_.change_peer(change), job, job.newest_epoch(), actions);
  return actions;
}

CacheActions CacheService::importance(const NodeJob& job, std::int64_t epoch, std::span<const float> losses) {
  CacheActions actions;
  apply(engine_.importance(job.number, losses), job, epoch, actions);
  return actions;
}

/// A node that has come back plans as the others do, which have seen all epochs of the job.
CacheActions CacheService::begin_epoch(NodeJob& job, const Epoch& epoch) {
  CacheActions actions;
  const auto on_begin = [&](const cache::EpochBegins& event) {
    apply(engine_.begin_epoch(event), job, epoch.number, actions);
  };
  for (std::int64_t past = 0; epoch.has_past && past < epoch.number; ++past)
    job.epoch->begin(past, {}, on_begin);
  job.epoch->begin(epoch.number, epoch.losses, on_begin, epoch.given, epoch.list, epoch.position);
  return actions;
}

bool CacheService::note_holders(std::size_t client) {
  if (!directory_) return false;
  const DirectoryView::Known known = directory_->take(client);
  reads_.note_moment(known.moment);
  if (!known.holders.empty()) engine_.directory(known.holders);
  return known.has_waited;
}

// ---- Requests ----

CacheActions CacheService::want(const Request& request, Seconds now) {
  CacheActions actions;
  NodeJob& job = *request.job;
  const cache::Decisions& decisions = decide(request);
  const std::span<const cache::Serve> serves = decisions.serve;
  std::vector<Delivered> delivered = count_delivered(serves, setting_.batches.manifest);
  const bool counts_now = !setting_.batches.counts_when_sent;
  if (counts_now) {
    job.add(request.epoch, delivered);
    job.deliveries.note(request.client - job.first_client, request.epoch, request.ids, serves);
  }
  if (jobs_.is_alone()) job.order.add(request.epoch, serves);
  NodeBatch& batch = batches_.open(request.client, job, false);
  if (job.probe) batch.probe = job.probe->tag();
  batches_.lay_out(batch, serves);
  batch.samples = static_cast<std::int32_t>(serves.size());
  batch.epoch = request.epoch;
  batch.asked = request.asked;
  if (!counts_now) {
    batch.asked_for.assign(request.ids.begin(), request.ids.end());
    batch.delivered = std::move(delivered);
  }
  // Before the moves, which may evict samples of this batch.
  collect(batch, serves, actions);
  apply(decisions, job, request.epoch, actions);
  for (const cache::Serve& serve : serves) reads_.hurry(serve.given, actions);
  is_idle_due_ = setting_.reads_ahead;
  // The awaited samples have arrived meanwhile.
  if (request.has_waited && batch.missing == 0)
    job.record(request.epoch, row_of(serves.back())).blocked += now - batch.asked;
  send_complete(request.client, actions);
  return actions;
}

const cache::Decisions& CacheService::decide(const Request& request) {
  NodeJob& job = *request.job;
  cache::Want want;
  if (job.epoch) {
    want = job.epoch->want(request.client - job.first_client, request.position, request.ids);
    // A worker that joins a node which has come back may be behind the others.
    want.epoch = request.epoch;
  } else {
    wanted_.clear();
    for (const SampleId id : request.ids) wanted_.push_back({id, setting_.batches.manifest.size_of(id)});
    want.job = job.number;
    want.epoch = request.epoch;
    want.now = wanted_;
  }
  if (job.journal.keep_requests)
    for (const SampleId id : request.ids)
      job.journal.requests.push_back(
          {job.rank, want.epoch, id, setting_.batches.manifest.size_of(id).count()});
  const cache::Decisions& decisions = engine_.want(want);
  if (job.epoch) job.epoch->note_served(decisions.serve);
  return decisions;
}

bool CacheService::must_wait(std::span<const SampleId> asked_by_peer) const {
  return directory_ && std::ranges::any_of(asked_by_peer, [this](SampleId id) {
           return directory_->awaits(id) && !has_or_reads(id);
         });
}

/// A sample that the node reads from the store to keep it is sent when it has arrived. If it waited for
/// another node instead, which may wait for this one, neither would end.
bool CacheService::has_or_reads(SampleId id) const {
  const bool is_coming =
      engine_.in_flight(id) && engine_.tier_of(id) != cache::outside && !reads_.is_from_peer(id);
  return engine_.has(id) || is_coming;
}

CacheActions CacheService::answer_peer(const Request& request) {
  CacheActions actions;
  NodeBatch& batch = batches_.open(request.client, *request.job, true);
  batch.epoch = request.epoch;
  batch.found.samples = static_cast<std::int32_t>(request.ids.size());
  std::vector<cache::Serve> serves;
  for (std::size_t i = 0; i < request.ids.size(); ++i) {
    const SampleId id = request.ids[i];
    if (!has_or_reads(id)) continue;
    batch.found.set(i);
    serves.push_back({id, id, cache::tier(engine_.tier_of(id))});
  }
  batches_.lay_out(batch, serves);
  collect(batch, serves, actions);
  for (const cache::Serve& serve : serves) reads_.hurry(serve.given, actions);
  send_complete(request.client, actions);
  return actions;
}

/// Copies samples that are in memory. The batch waits for samples in flight, also for those that a tier will
/// hold, and for those that are read from the disk. Samples that another job reads past the tiers have
/// arrived meanwhile.
void CacheService::collect(NodeBatch& batch, std::span<const cache::Serve> serves, CacheActions& actions) {
  using From = NodeBatches::From;
  for (std::size_t position = 0; position < serves.size(); ++position) {
    const cache::Serve& serve = serves[position];
    const SampleId id = serve.given;
    const auto waiter = [&] {
      return NodeBatches::Waiter{&batch, position, batch.is_for_peer ? std::string() : row_of(serve)};
    };
    if (engine_.must_wait(serve)) {
      batches_.wait(From::place, id, waiter(), reads_.is_not_at_peer(id));
    } else if (keeper_.is_bad(id)) {
      batches_.put(batch, position, bad_sample, {});
    } else if (keeper_.is_in_memory(id)) {
      batches_.put(batch, position, id, keeper_.record_of(id));
    } else if (batches_.wait(From::tier, id, waiter())) {
      reads_.add_from_tier(id, batches_.target_of(From::tier, id));
    }
  }
  reads_.read_tier(batch.job->number, batch.epoch, actions);
}

void CacheService::send_complete(std::size_t client, CacheActions& actions) {
  while (auto batch = batches_.take_complete(client)) actions.emplace_back(SendBatch{std::move(*batch)});
}

/// What follows an event: reads, then moves.
void CacheService::apply(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch,
                         CacheActions& actions) {
  reads_.add(decisions, job.number, epoch, batches_, actions);
  keeper_.move(decisions.move, actions);
  if (directory_) directory_->note(decisions.published, decisions.withdrawn, epoch, actions);
}

// ---- Reads ----

CacheActions CacheService::idle(bool may_read) {
  CacheActions actions;
  if (batches_.is_waiting() && !setting_.is_continuous) return actions;
  const bool has_room = setting_.is_continuous || !reads_.reads_in_advance();
  if (has_room && reads_.has_nothing_to_begin() && std::exchange(is_idle_due_, false)) {
    NodeJob& job = jobs_.active();
    apply(engine_.idle(setting_.room), job, job.newest_epoch(), actions);
  }
  if (may_read) reads_.begin_next(actions);
  return actions;
}

/// A sample that the other node did not have is read from the store, if a batch waits for it. The last
/// samples of a read may only have come with a package.
CacheActions CacheService::note_arrived(const SampleRead& read) {
  CacheActions actions;
  if (read.what == SampleRead::What::to_tier) {
    note_written(read, actions);
    return actions;
  }
  NodeJob& job = jobs_.of(read);
  const bool from_tier = read.what == SampleRead::What::from_tier;
  if (read.why == cache::Why::demand) {
    job.record(read.epoch, from_tier ? from_disk : row_of(read.from)).reading += read.duration;
  } else {
    reads_.note_end();
    // The requested samples are nearly here: the policy may want more before the next request.
    if (setting_.is_continuous) is_idle_due_ = setting_.reads_ahead;
    job.note_background(read.epoch, read.duration);
  }
  if (read.what != SampleRead::What::samples) return actions;
  const std::vector<cache::Arrived> arrived = outcomes_of(read);
  if (arrived.empty()) return actions;
  const std::int64_t epoch = job.row_epoch(read.epoch);
  if (directory_) directory_->repair(read.not_here, read.from.number, read.moment, epoch, actions);
  apply(engine_.arrived(job.number, arrived), job, epoch, actions);
  for (const SampleId id : read.not_here) {
    if (engine_.in_flight(id)) reads_.note_read_again(id);
    // The policy may have decided to read it in the background.
    if (batches_.awaits(NodeBatches::From::place, id)) reads_.hurry(id, actions);
  }
  return actions;
}

std::vector<cache::Arrived> CacheService::outcomes_of(const SampleRead& read) {
  std::vector<cache::Arrived> arrived;
  const auto add = [&](SampleId id, cache::Arrived::Outcome outcome) {
    arrived.push_back({.id = id,
                       .size = setting_.batches.manifest.size_of(id),
                       .from = read.from,
                       .why = read.why,
                       .outcome = outcome});
  };
  for (const SampleId id : std::span(read.ids).first(read.ids.size() - read.others)) {
    add(id, cache::Arrived::Outcome::here);
    reads_.note_here(id);
  }
  for (const SampleId id : read.not_here) {
    add(id, cache::Arrived::Outcome::not_here);
    reads_.note_not_here(id);
    batches_.note_peer_miss(id);
  }
  return arrived;
}

void CacheService::note_written(const SampleRead& write, CacheActions& actions) {
  const SampleCount refused = keeper_.note_written(write, actions);
  NodeJob& job = jobs_.active();
  if (refused.samples > 0) job.add(job.last_epoch, no_room_row, refused);
}

CacheActions CacheService::settle(const SampleRead& read, Seconds now) {
  using From = NodeBatches::From;
  CacheActions actions;
  if (read.what == SampleRead::What::to_tier) return actions;
  const bool from_tier = read.what == SampleRead::What::from_tier;
  const bool instead = read.what == SampleRead::What::instead_of_tier;
  const From from = from_tier || instead ? From::tier : From::place;
  const std::string row = from_tier ? from_disk : row_of(read.from);
  std::vector<std::size_t> complete;
  for (std::size_t i = 0; i + read.others < read.ids.size(); ++i) {
    if (from_tier && read.has_failed(i)) {
      reads_.read_instead(read, i, actions);
      continue;
    }
    if (instead) batches_.recount(from, read.ids[i], from_store);
    const auto now_complete = batches_.deliver(from, read, i, row, now);
    complete.insert(complete.end(), now_complete.begin(), now_complete.end());
    keeper_.settle(read, i, actions);
  }
  keeper_.finish(actions);
  for (const std::size_t client : complete) send_complete(client, actions);
  return actions;
}

}  // namespace tandem
