// A message of samples to one rank, and the list of those that are in flight to it.
#pragma once

#include <list>
#include <utility>

#include "workloads/context.hpp"
#include "workloads/roles/cache/sample_bytes.hpp"

namespace tandem {

struct SampleMessage : SampleBytes {
  bool is_sent = false;
  Pending send = {};
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
