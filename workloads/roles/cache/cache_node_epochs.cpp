// How a cache node begins the jobs that it serves, and where its policy plans with epochs, these.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

/// Once. The policy learns of its own job before the first request, and of another one with that.
void CacheNode::begin_job(NodeJob& job) {
  if (std::exchange(job.has_begun, true) || (!data_.cache_factory().needs.manifest && !directory_)) return;
  apply(engine_.change_job({.job = job.number, .state = cache::JobChange::State::starts}), job, 0);
  if (jobs_.size() > 1)
    apply(engine_.change_job({job.number, cache::JobChange::State::probed, job.benefit}), job, 0);
  probe_again(job);
}

/// What a cache saves a job depends on the other ones.
void CacheNode::probe_again(const NodeJob& other) {
  for (NodeJob& job : jobs_)
    if (&job != &other && job.probe && job.open > 0) tell(job, job.probe->begin_again());
}

void CacheNode::tell(NodeJob& job, BenefitProbe::Change change) {
  if (change == BenefitProbe::Change::none) return;
  const auto state = change == BenefitProbe::Change::bypasses ? cache::JobChange::State::bypasses
                                                              : cache::JobChange::State::returns;
  apply(engine_.change_job({.job = job.number, .state = state}), job, job.newest_epoch());
}

void CacheNode::note_sent(const Batch& batch) {
  NodeJob& job = *batch.client->job;
  if (batch.probe.phase == BenefitProbe::Phase::none) return;
  const auto result =
      job.probe->note_sent(number_of(*batch.client), batch.probe, batch.epoch, context_.now());
  if (!result) return;
  for (const auto& [row, intervals] :
       {std::pair(probe_with_row, result->with), std::pair(probe_without_row, result->without)}) {
    CacheRecord& record = job.record(job.newest_epoch(), std::string(row));
    record.samples += intervals.count;
    record.blocked += intervals.sum;
  }
  apply(engine_.change_job({job.number, cache::JobChange::State::probed, result->benefit()}), job,
        job.newest_epoch());
}

/// Into caches.csv, unless something was read ahead. Whether the last epoch is complete may depend on other
/// nodes, so there is a row without it, too. To replay millions of requests takes seconds.
void CacheNode::record_most(NodeJob& job) {
  const bool reads_ahead = engine_.total().read_in_background().samples > 0;
  if (!job.has_first_epoch() || !job.order.is_complete() || reads_ahead) return;
  const std::int64_t first = job.first_epoch, last = job.last_epoch;
  const bool is_complete = job_.spec().experiment.stop.epochs == static_cast<double>(last + 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> parts = {{first, first}};
  if (last > first) parts.emplace_back(first + 1, last);
  if (last > first + 1 && !is_complete) parts.emplace_back(first + 1, last - 1);
  job.journal.later.emplace_back(
      [&data = data_, rank = job.rank, order = std::move(job.order), parts](Journal& journal) {
        const cache::Manifest& manifest = data.manifest();
        for (const auto& [begin, end] : parts) {
          CacheRecord& row = cache_record(journal.caches, rank, end, std::string(belady_row));
          row.bytes = order.most_from_tiers(begin, end, data.cache_tiers(), manifest).count();
          if (manifest.sizes.empty() && manifest.each > Bytes(0))
            row.samples = row.bytes / manifest.each.count();
        }
      });
}

/// The next epoch of a job begins when none of its workers may still ask for samples of the one before.
void CacheNode::begin_due_epoch(NodeJob& job) {
  const auto may_ask = [](const Client& client) { return !client.has_ended && !client.is_held; };
  const std::span<Client> clients = clients_of(job);
  // Those that join ask later.
  if (!job.epoch || std::ranges::any_of(clients, may_ask) || std::ranges::none_of(clients, &Client::is_held))
    return;
  const auto epoch_of = [](const Client& client) { return client.request.epoch; };
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (const Client& client : clients)
    if (client.is_held) next = std::min(next, epoch_of(client));
  begin_epoch(job, next);
  for (Client& client : clients)
    if (client.is_held && epoch_of(client) == next) {
      client.is_held = false;
      begin_batch(client);
    }
}

void CacheNode::begin_epoch(NodeJob& job, std::int64_t epoch) {
  record_background(job);
  active_ = &job;
  if (job.probe) job.probe->begin_epoch();
  std::vector<float> losses;
  if (job.data.needs_losses()) {
    losses = receive_losses(job, epoch);
    apply(engine_.importance(job.number, losses), job, epoch);
  }
  const std::span<const float> computed = job.data.models_losses() ? std::span<const float>() : losses;
  const bool depends = resident_lists_ && epoch > 0;
  const auto given = receive_given(job, epoch);
  const auto tell = [&](const cache::EpochBegins& event) { apply(engine_.begin_epoch(event), job, epoch); };
  if (life_.incarnation > 1 && job.epoch->epoch() < 0) begin_past_epochs(job, epoch, tell);
  std::int64_t position = std::numeric_limits<std::int64_t>::max();
  for (const Client& client : clients_of(job))
    if (client.is_held && client.request.epoch == epoch)
      position = std::min(position, client.request.position);
  job.epoch->begin(epoch, computed, tell, given,
                   depends ? resident_lists_->list(epoch, losses, residents_) : nullptr, position);
}

/// A node that has come back plans as the others do, which have seen all epochs of the job. Where the job was
/// resumed, their first one is not known.
void CacheNode::begin_past_epochs(NodeJob& job, std::int64_t epoch,
                                  const std::function<void(const cache::EpochBegins&)>& tell) {
  if (job_.resume() != nullptr) return;
  for (std::int64_t past = 0; past < epoch; ++past) job.epoch->begin(past, {}, tell);
}

/// In the first epoch, if the job is resumed in it: what its workers got before.
std::vector<std::vector<SampleId>> CacheNode::receive_given(const NodeJob& job, std::int64_t epoch) {
  if (!data_.cache_factory().needs.ahead || job.epoch->epoch() >= 0) return {};
  std::vector<std::vector<SampleId>> given;
  for (const Client& client : clients_of(job)) {
    auto& ids = given.emplace_back();
    if (!client.is_held || client.request.epoch != epoch || client.request.position == 0) continue;
    ids.resize(static_cast<std::size_t>(client.request.position));
    Pending arriving = protocol::receive<"given">(
        context_, client.rank,
        {Bytes(client.request.position * static_cast<std::int64_t>(sizeof(SampleId))),
         reinterpret_cast<std::byte*>(ids.data())});
    context_.wait(arriving);
  }
  if (std::ranges::all_of(given, &std::vector<SampleId>::empty)) given.clear();
  return given;
}

/// It has received all of its batches, and others of its epoch are the next that it asks for.
void CacheNode::tell_residents(Client& client) {
  Batch& reply = new_batch(client);
  const ResidentSet held(engine_.policy(), data_.manifest().samples);
  reply.records.assign(held.bytes().begin(), held.bytes().end());
  reply.size = Bytes(std::ssize(reply.records));
  reply.send =
      protocol::send<"batches">(context_, client.rank, protocol::Batch{}, {reply.size, reply.records.data()});
  reply.is_sent = true;
}

/// What the list of the epoch knows, which one of the workers sends, except before the first epoch. Nobody
/// waits for anything else meanwhile. Many nodes may wait at once, so there is room for losses only
/// afterwards.
std::vector<float> CacheNode::receive_losses(NodeJob& job, std::int64_t epoch) {
  const auto samples = data_.manifest().samples;
  const std::size_t of_losses = static_cast<std::size_t>(samples) * sizeof(float);
  std::vector<std::byte> message;
  if (epoch > 0) {
    // It is one of those that wait for the epoch: workers that have lists in common end together.
    const Client& first = clients_of(job).front();
    TANDEM_CHECK(!first.has_ended, "epoch", epoch, "worker", first.rank);
    if (resident_lists_) residents_ = ResidentSet(samples);
    const std::size_t size = of_losses + residents_.bytes().size();
    message.resize(is_real_ || resident_lists_ ? size : 0);
    Pending arriving = protocol::receive<"importance">(
        context_, first.rank,
        {Bytes(static_cast<std::int64_t>(size)), message.empty() ? nullptr : message.data()});
    context_.wait(arriving);
    if (resident_lists_) residents_.add(std::span(message).subspan(of_losses));
  }
  if (job.data.models_losses()) return job.data.modelled_losses_of(epoch);
  std::vector<float> losses(static_cast<std::size_t>(samples), std::numeric_limits<float>::quiet_NaN());
  if (epoch > 0 && is_real_) std::memcpy(losses.data(), message.data(), of_losses);
  return losses;
}

}  // namespace tandem
