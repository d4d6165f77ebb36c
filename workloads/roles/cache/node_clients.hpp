// The clients of a cache node: the next request of each, which ones may still send one, and when all workers
// of a job have come to its next epoch. Pure: the node receives from them and sends to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/node_job.hpp"

namespace tandem {

/// A worker, or another cache node. Workers may depart, and others join.
struct NodeClient : JoiningClient {
  NodeJob* job = nullptr;  ///< of a worker; of another cache node, the own one of this node
  bool is_peer = false;
  std::vector<SampleId> ids = {};  ///< of the request being received
  protocol::Request request = {};
  bool is_held = false;  ///< the request is for an epoch that has not begun, or waits for the directory
  Seconds asked{};       ///< when the request has come
};

class NodeClients {
 public:
  /// Workers of each job, in the order of jobs, then other cache nodes. `is_there`: otherwise its slot is
  /// empty as the node begins.
  void add_worker(Rank rank, NodeJob& job, int worker, bool is_there);
  void add_peer(Rank rank, NodeJob& own, bool is_there);

  std::size_t size() const { return clients_.size(); }
  NodeClient& operator[](std::size_t client) { return clients_[client]; }
  std::vector<NodeClient>& all() { return clients_; }
  std::size_t index_of(const NodeClient& client) const {
    return static_cast<std::size_t>(&client - clients_.data());
  }
  std::span<NodeClient> of(const NodeJob& job) {
    return std::span(clients_).subspan(job.first_client, job.clients);
  }
  /// Null: another node serves that worker.
  NodeClient* of_worker(int worker) { return client_of_worker(clients_, worker); }
  NodeClient& peer(std::size_t number) { return clients_[first_peer_ + number]; }

  /// Some may send requests.
  bool are_open() const { return open_ > 0; }
  bool have_open_workers() const { return open_workers_ > 0; }

  /// A new client in the slot of a departed one, or in a slot for spares.
  void begin(NodeClient& client, int incarnation);
  /// The client asks for nothing more, or is gone.
  void end(NodeClient& client);

  /// The next epoch of a job, if it begins now: none of its workers may still ask for samples of the epoch
  /// before. None: some may, or no worker waits for an epoch.
  std::optional<std::int64_t> due_epoch(const NodeJob& job);
  /// The position from which the workers that wait for the epoch ask for samples.
  std::int64_t first_position(const NodeJob& job, std::int64_t epoch);
  /// The epoch has begun: returns the clients that have waited for it. They are not held any more.
  std::vector<std::size_t> release(const NodeJob& job, std::int64_t epoch);

 private:
  std::vector<NodeClient> clients_;
  std::size_t first_peer_ = 0;
  std::size_t open_ = 0;          ///< clients that may send requests
  std::size_t open_workers_ = 0;  ///< of those
};

}  // namespace tandem
