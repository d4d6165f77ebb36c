#include "workloads/roles/cache/batch_messages.hpp"

#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {

void BatchMessages::send(NodeBatch& batch, Rank to) {
  SampleMessage& message = clients_[batch.client].sent.emplace_back();
  message.size = batch.size;
  message.records = std::move(batch.records);
  const Slice data{message.size, message.records.empty() ? nullptr : message.records.data()};
  message.send = batch.is_for_peer ? protocol::send<"peer-data">(context_, to, batch.found, data)
                                   : protocol::send<"batches">(
                                         context_, to, protocol::Batch{.samples = batch.samples}, data);
  message.is_sent = true;
}

void BatchMessages::send_residents(std::size_t client, Rank to, std::span<const std::byte> residents) {
  SampleMessage& message = clients_[client].sent.emplace_back();
  message.records.assign(residents.begin(), residents.end());
  message.size = Bytes(std::ssize(message.records));
  message.send =
      protocol::send<"batches">(context_, to, protocol::Batch{}, {message.size, message.records.data()});
  message.is_sent = true;
}

void BatchMessages::lose(std::size_t client) {
  clients_[client].lost.splice(clients_[client].lost.end(), clients_[client].sent);
}

void BatchMessages::drop_lost() {
  for (Client& client : clients_)
    std::erase_if(client.lost, [this](SampleMessage& message) {
      if (!context_.is_done(message.send)) return false;
      context_.wait(message.send);
      spare_.keep(std::move(message.records));
      return true;
    });
}

void BatchMessages::wait_for_lost(std::size_t client) {
  for (SampleMessage& message : clients_[client].lost) context_.wait(message.send);
}

}  // namespace tandem
