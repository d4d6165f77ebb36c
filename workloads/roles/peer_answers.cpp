#include "workloads/roles/peer_answers.hpp"

#include <utility>

namespace tandem {

void PeerAnswers::add(Rank to, SampleMessage& message, const protocol::Found& found) {
  ready_.push_back({to, &message, found});
  send_next();
}

void PeerAnswers::send_next() {
  while (!ready_.empty() && on_the_way_ < most) {
    const Answer answer = ready_.front();
    ready_.pop_front();
    SampleMessage& message = *answer.message;
    std::byte* const data = message.records.empty() ? nullptr : message.records.data();
    message.send =
        context_.send(answer.to, protocol::peer_data, {message.size, data}, protocol::pack(answer.found));
    on_the_way_ += message.size;
    leaving_.push_back(&message);
  }
}

void PeerAnswers::put_next(Pending& wait) {
  if (wait.empty() && !leaving_.empty()) wait = std::move(leaving_.front()->send);
}

SampleMessage& PeerAnswers::finish() {
  SampleMessage& message = *leaving_.front();
  leaving_.pop_front();
  on_the_way_ = on_the_way_ - message.size;
  send_next();
  return message;
}

}  // namespace tandem
