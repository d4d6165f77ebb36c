#include "workloads/roles/cache/cache_node.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/roles/cache/node_setting.hpp"

namespace tandem {
CacheNode::CacheNode(std::span<const ServedJob> jobs, Context& context, int index, const Life& life)
    : job_(*jobs.front().job),
      data_(job_.data()),
      context_(context),
      life_(life),
      own_records_(life.records == nullptr
                       ? std::make_optional<RecordFiles>(job_, context.rank(), *jobs.front().journal)
                       : std::nullopt),
      records_(life.records == nullptr ? *own_records_ : *life.records),
      places_(places_of(job_, index)),
      steward_(job_.roster().steward()),
      jobs_(jobs, places_.node, job_events(job_)),
      tier_(job_, context, index, life.incarnation),
      sources_(job_, context, places_, tier_.samples()),
      service_(service_setting(jobs, places_, may_depart()), jobs_,
               make_engine(jobs, context.rank(), places_, life.incarnation)),
      messages_(context, service_.batches().clients(), service_.batches().spare()),
      epochs_(job_, context),
      most_to_write_(data_.largest_sample() * (2 * largest_own_batch(jobs))) {
  add_clients(jobs);
  if (const auto directory = job_.roster().directory()) directory_.emplace(context_, *directory);
}

void CacheNode::add_clients(std::span<const ServedJob> jobs) {
  const bool is_first = life_.incarnation == 1;
  if (data_.reads_while_computing()) watch_.emplace(context_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Roster& roster = jobs[i].job->roster();
    for (const std::size_t worker : clients_of(roster, places_.node)) {
      const Rank rank = jobs[i].first + roster.workers()[worker];
      // Slots for spares are empty as the job begins. A node that joins gets notes about who is there.
      const bool is_there = is_first && worker < roster.first_workers().size();
      clients_.add_worker(rank, jobs_.all()[i], static_cast<int>(worker), is_there);
      if (watch_) watch_->add_worker(rank, is_there);
    }
  }
  for (const PeerSource* peer : sources_.peers()) clients_.add_peer(peer->rank(), jobs_.own(), is_first);
}

void CacheNode::run() {
  wait_.resize(clients_.size() + sources_.size() + (directory_ ? 1 : 0) + (watch_ ? watch_->size() : 0) +
               (steward_ ? 1 : 0));
  if (watch_) watch_->wait_from(clients_.size() + sources_.size() + (directory_ ? 1 : 0));
  const bool joins = life_.incarnation > 1;
  if (steward_ && !joins) wait_.back() = protocol::receive<"membership">(context_, *steward_);
  if (tier_.are_kept()) begin_tier();
  if (joins) join();
  begin_job(jobs_.own());
  serve();
  for (NodeJob& job : jobs_.all()) job.record_background(service_.engine());
  // A node that came later does not know the requests to the node before it.
  if (jobs_.is_alone() && !joins)
    jobs_.own().record_most(service_.engine(), job_.spec().experiment.stop.epochs);
  sources_.close(std::span(wait_).subspan(clients_.size(), sources_.size()));
  send_updates();
  if (directory_) directory_->close();
  if (steward_) end_membership();
}

void CacheNode::begin_tier() {
  auto [here, spoiled] = tier_.check_left();
  perform(service_.begin_tier(here, spoiled));
  tier_.begin_log(here);
}

/// Reads for a worker that is gone continue to their end, and kept samples are written.
bool CacheNode::is_over() const {
  if (tier_.have_log() && sources_.to_write() > Bytes(0)) return false;
  return !clients_.are_open() && ended_peer_reads_ && !awaits_workers() && service_.is_idle() &&
         (!watch_ || watch_->has_ended());
}

void CacheNode::serve() {
  const std::span<Pending> reads = std::span(wait_).subspan(clients_.size(), sources_.size());
  const std::size_t of_directory = clients_.size() + sources_.size();
  for (end_peer_reads(); !is_over(); end_peer_reads()) {
    listen_to_clients();
    if (clients_.have_open_workers()) perform(service_.idle(!watch_ || watch_->is_quiet()));
    if (const auto refused = steward_ ? sources_.take_refused() : std::nullopt) {
      take(*refused);
      continue;
    }
    sources_.put_next(reads);
    if (directory_) directory_->put_next(wait_[of_directory]);
    if (watch_) watch_->listen(wait_);
    const Completion ended = context_.wait_any(wait_);
    if (steward_) {
      messages_.drop_lost();
      service_.batches().drop_lost();
    }
    if (ended.index < clients_.size()) {
      NodeClient& client = clients_[ended.index];
      if (client.is_joining)
        advance_join(client, ended);
      else
        on_message(client, ended.note);
    } else if (ended.index < of_directory) {
      if (const auto read = sources_.take_ended(ended.index - clients_.size(), ended)) take(*read);
    } else if (directory_ && ended.index == of_directory) {
      on_answer(ended.note);
    } else if (watch_ && watch_->is_of(ended.index)) {
      watch_->on_message(ended.index, ended.note);
    } else {
      on_membership(ended.note);
    }
  }
}

// ---- Actions ----

struct CacheNode::Performing {
  CacheNode& node;

  void operator()(BeginRead& action) const { node.sources_.add(action.place, std::move(action.read)); }
  void operator()(const HurryRead& action) const {
    for (PeerSource* peer : node.sources_.peers()) peer->hurry(action.id);
  }
  void operator()(const NoteInTier& action) const { node.tier_.note(action.id, true); }
  void operator()(const RemoveFromTier& action) const {
    node.tier_.note(action.id, false);
    node.sources_.remove_from_tier(action.id);
  }
  void operator()(AskDirectory& action) const { node.directory_->ask(std::move(action)); }
  void operator()(NotifyDirectory& action) const { node.directory_->notify(std::move(action)); }
  void operator()(SendBatch& action) const { node.send(std::move(action.batch)); }
};

void CacheNode::perform(CacheActions actions) {
  for (CacheAction& action : actions) std::visit(Performing{*this}, action);
}

void CacheNode::send(NodeBatch batch) {
  messages_.send(batch, clients_[batch.client].rank);
  NodeJob& job = *batch.job;
  if (may_depart() && !batch.is_for_peer) {
    job.add(batch.epoch, batch.delivered);
    job.deliveries.note(batch.worker(), batch.epoch, batch.asked_for);
  }
  records_.note_done(context_.now());
  if (!batch.is_for_peer) send_updates();
  perform(service_.change_jobs(jobs_.note_sent(batch, context_.now())));
}

void CacheNode::take(const SampleRead& read) {
  perform(service_.note_arrived(read));
  perform(service_.settle(read, context_.now()));
}

/// When its workers have ended, the node notifies the others that it has no further requests. It serves them
/// until each of them has sent the same.
void CacheNode::end_peer_reads() {
  if (ended_peer_reads_ || awaits_workers() || !std::ranges::all_of(sources_.peers(), &PeerSource::is_idle))
    return;
  ended_peer_reads_ = true;
  for (PeerSource* peer : sources_.peers()) peer->say_end();
}

// ---- Clients ----

/// Samples that a batch displaces from memory stay there until they are written, so a slow disk slows down
/// the workers. Other nodes displace nothing.
void CacheNode::listen_to_clients() {
  const bool is_behind = sources_.to_write() > most_to_write_;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    NodeClient& client = clients_[i];
    if (is_behind && !client.is_peer) continue;
    if (wait_[i].empty() && !client.has_ended && !client.is_held) wait_[i] = listen(client);
  }
}

Pending CacheNode::listen(NodeClient& client) {
  client.ids.resize(client.is_peer ? protocol::Found::most
                                   : static_cast<std::size_t>(client.job->data.largest_batch()));
  const Slice ids{Bytes(static_cast<std::int64_t>(client.ids.size() * sizeof(SampleId))),
                  reinterpret_cast<std::byte*>(client.ids.data())};
  return client.is_peer ? protocol::receive<"peer-reads">(context_, client.rank, ids)
                        : protocol::receive<"requests">(context_, client.rank, ids);
}

void CacheNode::on_message(NodeClient& client, const Note& note) {
  if (protocol::as<protocol::End>(note)) {
    end(client);
    return begin_due_epoch(*client.job);
  }
  if (client.is_peer) {
    const auto read = protocol::unpack<protocol::Read>(note);
    client.ids.resize(static_cast<std::size_t>(read.samples));
    client.request.epoch = read.epoch;
    client.is_held = service_.must_wait(client.ids);
    if (!client.is_held) answer_peer(client);
    return;
  }
  client.request = protocol::unpack<protocol::Request>(note);
  if (client.request.samples == 0) {
    // It has received all of its batches, and others of its epoch are the next that it asks for.
    const ResidentSet held(service_.engine().policy(), data_.manifest().samples);
    messages_.drop_sent(clients_.index_of(client));
    return messages_.send_residents(clients_.index_of(client), client.rank, held.bytes());
  }
  client.ids.resize(static_cast<std::size_t>(client.request.samples));
  NodeJob& job = *client.job;
  begin_job(job);
  service_.note_request(job, client.request.epoch);
  if (!job.epoch || client.request.epoch <= job.epoch->epoch()) return begin_request(client);
  client.is_held = true;
  begin_due_epoch(job);
}

/// It has received all of its batches.
void CacheNode::end(NodeClient& client) {
  messages_.wait(clients_.index_of(client));
  client.has_ended = true;
  clients_.end(client);
  if (client.is_peer) return;
  send_updates();
  if (client.job->open == 0 && clients_.have_open_workers())
    perform(service_.change_jobs(jobs_.end(*client.job)));
}

void CacheNode::begin_job(NodeJob& job) { perform(service_.change_jobs(jobs_.begin(job))); }

void CacheNode::begin_due_epoch(NodeJob& job) {
  const auto epoch = clients_.due_epoch(job);
  if (!epoch) return;
  begin_epoch(job, *epoch);
  for (const std::size_t client : clients_.release(job, *epoch)) begin_request(clients_[client]);
}

void CacheNode::begin_epoch(NodeJob& job, std::int64_t epoch) {
  job.record_background(service_.engine());
  jobs_.begin_epoch(job);
  std::vector<float> losses;
  if (job.data.needs_losses()) {
    losses = epochs_.receive_losses(job, clients_.of(job), epoch);
    perform(service_.importance(job, epoch, losses));
  }
  const auto given = epochs_.receive_given(job, clients_.of(job), epoch);
  // Where the job was resumed, its first epoch is not known.
  const bool has_past = life_.incarnation > 1 && job.epoch->epoch() < 0 && job_.resume() == nullptr;
  perform(service_.begin_epoch(
      job,
      {.number = epoch,
       .losses = job.data.lists().model_losses() ? std::span<const float>() : std::span<const float>(losses),
       .given = given,
       .list = epochs_.list(epoch, losses),
       .position = clients_.first_position(job, epoch),
       .has_past = has_past}));
}

void CacheNode::begin_batch(NodeClient& client) {
  const std::size_t index = clients_.index_of(client);
  NodeJob& job = *client.job;
  const bool has_waited = service_.note_holders(index);
  perform(service_.change_jobs(jobs_.begin_batch(job, client.request.epoch)));
  messages_.drop_sent(index);
  const Seconds now = context_.now();
  perform(service_.want({.client = index,
                         .job = &job,
                         .epoch = client.request.epoch,
                         .position = client.request.position,
                         .ids = client.ids,
                         .asked = has_waited ? client.asked : now,
                         .has_waited = has_waited},
                        now));
}

void CacheNode::answer_peer(NodeClient& peer) {
  const std::size_t index = clients_.index_of(peer);
  messages_.drop_sent(index);
  perform(
      service_.answer_peer({.client = index, .job = peer.job, .epoch = peer.request.epoch, .ids = peer.ids}));
}

// ---- The directory ----

/// It is asked before the request is decided.
void CacheNode::begin_request(NodeClient& client) {
  client.asked = context_.now();
  look_up(client);
}

void CacheNode::look_up(NodeClient& client) {
  std::vector<SampleId> unknown;
  const std::size_t index = clients_.index_of(client);
  if (directory_) unknown = service_.directory().unknown(index, client.ids);
  client.is_held = !unknown.empty();
  if (!client.is_held) return begin_batch(client);
  send_updates();
  perform(service_.directory().look_up(index, std::move(unknown), client.request.epoch, context_.now()));
}

void CacheNode::on_answer(const Note& note) {
  const auto [located, locations] = directory_->take_answer(note);
  if (const auto client = service_.directory().answer(located, locations, context_.now())) {
    look_up(clients_[*client]);
    if (clients_[*client].is_held) return;
  } else {
    perform(service_.directory().withdraw_unused(jobs_.active().newest_epoch()));
  }
  answer_held_peers();
}

/// Its worker is gone while its request was held.
void CacheNode::forget_lookups(NodeClient& client) {
  if (!directory_ || !service_.directory().forget(clients_.index_of(client))) return;
  perform(service_.directory().withdraw_unused(jobs_.active().newest_epoch()));
  answer_held_peers();
}

void CacheNode::send_updates() {
  if (!directory_) return;
  directory_->drop_sent();
  perform(service_.directory().send_updates());
}

void CacheNode::answer_held_peers() {
  for (NodeClient& client : clients_.all()) {
    if (!client.is_peer || !client.is_held || service_.must_wait(client.ids)) continue;
    client.is_held = false;
    answer_peer(client);
  }
}

}  // namespace tandem
