// The clients of a cache node: which there are, how it learns of workers that depart and join, and what it
// ends with those that are gone. What it keeps stays: only the batches of such a worker are of no use any
// more.
#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/cache_clients.hpp"
#include "workloads/job/cache_policy.hpp"
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

void CacheNode::add_clients(std::span<const ServedJob> jobs) {
  for (const ServedJob& served : jobs) {
    NodeJob& job = jobs_.emplace_back(served, static_cast<int>(jobs_.size()), index_, clients_.size());
    const Roster& roster = served.job->roster();
    for (const std::size_t worker : tandem::clients_of(roster, index_)) {
      Client& client = clients_.emplace_back();
      client.rank = served.first + roster.workers()[worker];
      client.job = &job;
      client.worker = static_cast<int>(worker);
      // Slots for spares are empty as the job begins. A node that joins is told who is there.
      if (worker < roster.first_workers().size() && life_.incarnation == 1) continue;
      client.be_absent();
      job.deliveries.end(number_of(client));
      --job.open;
    }
    open_workers_ += job.open;
    const auto steps = probe_steps(served.job->spec().experiment.data);
    // Batches that were requested in advance follow each other at the pace of the phase before.
    if (jobs.size() > 1 && steps > 0 && job.clients > 0)
      job.probe.emplace(job.clients, steps, job.data.prefetch() + 1);
  }
  active_ = &jobs_.front();
  if (const auto directory = job_.roster().directory())
    directory_.emplace(context_, *directory, static_cast<int>(index_), data_.manifest(),
                       jobs_.front().journal);
  if (data_.reads_while_computing()) {
    std::vector<Rank> own;
    for (const Client& client : clients_) own.push_back(client.rank);
    watch_.emplace(context_, own);
  }
  for (const PeerSource* source : peers_) {
    Client& peer = clients_.emplace_back();
    peer.rank = source->rank();
    peer.job = &jobs_.front();
    peer.is_peer = true;
    // A node that joins is told which others are there.
    if (life_.incarnation > 1) peer.be_absent();
  }
  open_ = open_workers_ + (life_.incarnation > 1 ? 0 : peers_.size());
}

/// Workers may depart until all have ended, so notes may also come after the one that no worker joins any
/// more.
void CacheNode::hear_steward(const Note& note) {
  if (const auto departed = protocol::as<protocol::Departed>(note)) {
    if (Client* const client = client_of_worker(clients_, departed->worker)) on_departed(*client);
  } else if (const auto joined = protocol::as<protocol::Joined>(note)) {
    if (Client* const client = client_of_worker(clients_, joined->worker))
      on_joined(*client, joined->incarnation);
  } else if (const auto node = protocol::as<protocol::NodeDeparted>(note)) {
    const auto index = static_cast<std::size_t>(node->node);
    node->is_store ? store_sources_[index]->depart() : on_peer_departed(index);
  } else if (const auto back = protocol::as<protocol::NodeJoined>(note)) {
    const auto index = static_cast<std::size_t>(back->node);
    back->is_store ? store_sources_[index]->join(life_.incarnation, back->incarnation)
                   : on_peer_joined(index, back->incarnation);
  } else {
    protocol::unpack<protocol::End>(note);
    no_more_join_ = true;
  }
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
}

/// Ends what is open between this node and the worker. What is still being read or sent ends later: other
/// workers must not wait for that.
void CacheNode::on_departed(Client& client) {
  // It has ended by itself.
  if (client.has_ended && !client.is_joining) return;
  client.leave(context_, wait_[index_of(client)], life_.incarnation);
  for (Batch& batch : client.batches) batch.is_lost = true;
  client.lost.splice(client.lost.end(), client.batches);
  client.is_held = false;
  forget_lookups(client);
  end_client(client);
}

/// It asks for nothing more.
void CacheNode::end_client(Client& client) {
  --open_;
  if (client.is_peer) return;
  --open_workers_;
  --client.job->open;
  client.job->deliveries.end(number_of(client));
}

/// It has received all of its batches.
void CacheNode::end(Client& client) {
  wait_for_sends(context_, client.batches);
  client.has_ended = true;
  end_client(client);
  if (client.is_peer) return;
  NodeJob& job = *client.job;
  if (directory_) directory_->send_updates();
  const bool others_continue = job.open == 0 && open_workers_ > 0;
  if (others_continue && data_.cache_factory().needs.manifest)
    apply(engine_.change_job({.job = job.number, .state = cache::JobChange::State::ends}), job,
          job.newest_epoch());
  if (others_continue) probe_again(job);
}

/// Batches of a worker that is gone, when nothing reads into them or sends them any more.
void CacheNode::drop_lost() {
  for (Client& client : clients_)
    std::erase_if(client.lost, [this](Batch& batch) {
      if (batch.missing > 0 || (batch.is_sent && !context_.is_done(batch.send))) return false;
      if (batch.is_sent) context_.wait(batch.send);
      spare_.keep(std::move(batch.records));
      return true;
    });
}

/// A new worker in the slot of one that is gone, or in one for spares.
void CacheNode::on_joined(Client& client, int incarnation) {
  TANDEM_CHECK(client.has_ended && !client.is_joining, "worker", client.worker);
  client.begin(incarnation);
  ++open_;
  if (!client.is_peer) {
    ++open_workers_;
    ++client.job->open;
  }
  advance_join(client, {});
}

/// What it has is not there any more, for this node and for the policy. `node`: among the cache nodes.
void CacheNode::on_peer_departed(std::size_t node) {
  const std::size_t peer = node < index_ ? node : node - 1;
  on_departed(clients_[clients_.size() - peers_.size() + peer]);
  peers_[peer]->depart();
  apply(engine_.change_peer({.node = static_cast<int>(node), .joins = false}), *active_,
        active_->newest_epoch());
}

void CacheNode::on_peer_joined(std::size_t node, int incarnation) {
  const std::size_t peer = node < index_ ? node : node - 1;
  on_joined(clients_[clients_.size() - peers_.size() + peer], incarnation);
  peers_[peer]->join(life_.incarnation, incarnation);
  apply(engine_.change_peer({.node = static_cast<int>(node), .joins = true}), *active_,
        active_->newest_epoch());
}

/// `last`: what the join has waited for.
void CacheNode::advance_join(Client& client, const Completion& last) {
  const auto join = client.advance(context_, last, wait_[index_of(client)], life_.incarnation);
  if (join == JoiningClient::Join::declined) end_client(client);
}

void CacheNode::end_membership() {
  for (Client& client : clients_) {
    context_.wait_all(client.draining);
    for (Batch& batch : client.lost)
      if (batch.is_sent) context_.wait(batch.send);
  }
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
  context_.cancel(wait_.back());
  context_.wait(wait_.back());
}

}  // namespace tandem
