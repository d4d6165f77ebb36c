// The messages of a cache node to its clients that are in flight.
#pragma once

#include <cstddef>
#include <list>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/roles/cache/node_batch.hpp"
#include "workloads/roles/cache/sample_message.hpp"

namespace tandem {

class BatchMessages {
 public:
  /// The memory of messages that were sent goes to `spare`. The arguments must outlive it.
  BatchMessages(Context& context, std::size_t clients, SpareRecords& spare)
      : context_(context), spare_(spare), clients_(clients) {}

  /// Sends the samples of a batch, whose records leave it.
  void send(NodeBatch& batch, Rank to);
  /// Sends a worker that gets no further batch which samples the node has: a bit for each.
  void send_residents(std::size_t client, Rank to, std::span<const std::byte> residents);
  /// Frees the memory of messages that the client has received. Never blocks.
  void drop_sent(std::size_t client) { tandem::drop_sent(context_, clients_[client].sent, spare_); }
  /// Waits until the client has received all messages.
  void wait(std::size_t client) { wait_for_sends(context_, clients_[client].sent); }
  /// The client is gone.
  void lose(std::size_t client);
  /// Frees the memory of messages to clients that are gone, when their sends have ended. Never blocks.
  void drop_lost();
  void wait_for_lost(std::size_t client);

 private:
  struct Client {
    std::list<SampleMessage> sent = {};  ///< or in flight
    std::list<SampleMessage> lost = {};  ///< the same, to earlier workers of the slot
  };
  Context& context_;
  SpareRecords& spare_;
  std::vector<Client> clients_;
};

}  // namespace tandem
