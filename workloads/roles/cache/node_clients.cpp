#include "workloads/roles/cache/node_clients.hpp"

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void NodeClients::add_worker(Rank rank, NodeJob& job, int worker, bool is_there) {
  TANDEM_CHECK(first_peer_ == clients_.size(), "worker", worker, "follows other cache nodes");
  NodeClient& client = clients_.emplace_back();
  client.rank = rank;
  client.job = &job;
  client.worker = worker;
  ++first_peer_;
  if (is_there) {
    ++open_;
    ++open_workers_;
    return;
  }
  client.be_absent();
  job.deliveries.end(index_of(client) - job.first_client);
  --job.open;
}

void NodeClients::add_peer(Rank rank, NodeJob& own, bool is_there) {
  NodeClient& client = clients_.emplace_back();
  client.rank = rank;
  client.job = &own;
  client.is_peer = true;
  if (is_there)
    ++open_;
  else
    client.be_absent();
}

void NodeClients::begin(NodeClient& client, int incarnation) {
  TANDEM_CHECK(!client.is_present(), "worker", client.worker);
  static_cast<JoiningClient&>(client).begin(incarnation);
  ++open_;
  if (client.is_peer) return;
  ++open_workers_;
  ++client.job->open;
}

void NodeClients::end(NodeClient& client) {
  --open_;
  if (client.is_peer) return;
  --open_workers_;
  --client.job->open;
  client.job->deliveries.end(index_of(client) - client.job->first_client);
}

/// Those that join ask later.
std::optional<std::int64_t> NodeClients::due_epoch(const NodeJob& job) {
  // One that waits for the directory asks for samples of the epoch in progress.
  const auto may_ask = [&job](const NodeClient& client) {
    return !client.has_ended && !(client.is_held && client.request.epoch > job.epoch->epoch());
  };
  const std::span<NodeClient> clients = of(job);
  if (!job.epoch || std::ranges::any_of(clients, may_ask)) return std::nullopt;
  std::optional<std::int64_t> next;
  for (const NodeClient& client : clients)
    if (client.is_held && (!next || client.request.epoch < *next)) next = client.request.epoch;
  return next;
}

std::int64_t NodeClients::first_position(const NodeJob& job, std::int64_t epoch) {
  std::int64_t position = std::numeric_limits<std::int64_t>::max();
  for (const NodeClient& client : of(job))
    if (client.is_held && client.request.epoch == epoch)
      position = std::min(position, client.request.position);
  return position;
}

std::vector<std::size_t> NodeClients::release(const NodeJob& job, std::int64_t epoch) {
  std::vector<std::size_t> released;
  for (NodeClient& client : of(job)) {
    if (!client.is_held || client.request.epoch != epoch) continue;
    client.is_held = false;
    released.push_back(index_of(client));
  }
  return released;
}

}  // namespace tandem
