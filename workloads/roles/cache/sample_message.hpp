// A message of samples to one rank, and the list of those that are on their way to it.
#pragma once

#include <list>
#include <utility>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

struct SampleMessage {
  Bytes size{0};
  std::vector<std::byte> records;  ///< empty when math is modelled
  bool is_sent = false;
  Pending send;
};

/// Memory of messages that were sent, for the next ones.
class SpareRecords {
 public:
  /// Of the size of the message. Its contents are not specified.
  void give(SampleMessage& message) {
    if (!spare_.empty()) {
      message.records = std::move(spare_.back());
      spare_.pop_back();
    }
    message.records.resize(static_cast<std::size_t>(message.size.count()));
  }
  void keep(std::vector<std::byte> records) {
    if (records.capacity() > 0) spare_.push_back(std::move(records));
  }

 private:
  std::vector<std::vector<std::byte>> spare_;
};

/// Removes the messages at the front of the list that have been sent. Never blocks.
template <class Message>
void drop_sent(Context& context, std::list<Message>& messages, SpareRecords& spare) {
  while (!messages.empty() && messages.front().is_sent && context.is_done(messages.front().send)) {
    context.wait(messages.front().send);
    spare.keep(std::move(messages.front().records));
    messages.pop_front();
  }
}

/// Waits until all are sent. Pre: each has begun to be sent.
template <class Message>
void wait_for_sends(Context& context, std::list<Message>& messages) {
  for (Message& message : messages) context.wait(message.send);
  messages.clear();
}

}  // namespace tandem
